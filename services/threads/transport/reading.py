"""Requests into values: names, JSON, citations, actions. Decides nothing; refuses what cannot be read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

import orjson
from google.protobuf.timestamp_pb2 import Timestamp

from services.kernel.errors import Invalid, TooLarge
from services.kernel.ids import is_id
from services.threads.application.catalogue import ActionRequest
from services.threads.application.ports import ThreadFilter
from services.threads.domain import limits
from services.threads.domain.canonical import Json, JsonObject
from services.threads.domain.checks import check_text
from services.threads.domain.commands import Citation
from services.threads.domain.errors import ThreadNotFound
from services.threads.domain.states import State
from treadle.threads.v1 import thread_service_pb2 as pb

_RAW_MOST: Final = 1024 * 1024
"""Bytes of one JSON field before it is parsed; the limits of the domain are on its canonical form."""


def thread_id(name: str) -> str:
    """The id in `threads/{id}`. Invalid without the collection; what is no id is no thread."""
    collection, _, identity = name.partition("/")
    if collection != "threads" or not identity:
        raise Invalid("INVALID_FIELD", "name must be threads/{id}", field="name")
    return known_id(identity)


def known_id(identity: str) -> str:
    """The id; ThreadNotFound for what could not be one."""
    if not is_id("thr", identity):
        raise ThreadNotFound(identity[:100])
    return identity


def session_id(name: str) -> str:
    """The id in `sessions/{id}`. Invalid for anything else."""
    collection, _, identity = name.partition("/")
    if collection != "sessions" or not is_id("ses", identity):
        raise Invalid("INVALID_FIELD", "session must be sessions/{id}", field="session")
    return identity


def turn_id(given: str) -> str:
    """A turn's id, or nothing."""
    if given and not is_id("trn", given):
        raise Invalid("INVALID_FIELD", "turn_id must be a turn's id", field="turn_id")
    return given


def moment(field: str, given: Timestamp) -> datetime:
    """A time, UTC; what no calendar has is refused."""
    try:
        return given.ToDatetime(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise Invalid("INVALID_TIME", f"{field} is out of range", field=field) from None


def json_value(field: str, raw: bytes) -> Json:
    """Any JSON value; None when the field is empty."""
    if not raw:
        return None
    if len(raw) > _RAW_MOST:
        raise TooLarge("VALUE_TOO_LARGE", f"{field} is larger than {_RAW_MOST} bytes", field=field, limit=_RAW_MOST)
    try:
        value: Json = orjson.loads(raw)
    except orjson.JSONDecodeError:
        raise Invalid("INVALID_JSON", f"{field} is not JSON", field=field) from None
    return value


def json_object(field: str, raw: bytes) -> JsonObject:
    """A JSON object; an empty one when the field is empty."""
    value = json_value(field, raw)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise Invalid("INVALID_JSON", f"{field} is not a JSON object", field=field)
    return value


def citation(proposal_id: str, digest: str) -> Citation | None:
    """Both or neither."""
    if bool(proposal_id) != bool(digest):
        missing = "proposal_digest" if proposal_id else "proposal_id"
        raise Invalid("INVALID_CITATION", "a proposal is cited by proposal_id and proposal_digest", field=missing)
    return Citation(proposal_id, digest) if proposal_id else None


def action(given: pb.ActionInput) -> ActionRequest:
    """An action given by hand."""
    parameters = json_object("action.parameters", given.parameters_json)
    return ActionRequest(given.capability_name, parameters, given.rationale)


def thread_filter(
    request: pb.ListThreadsRequest, tenant: str, states: tuple[State, ...], parent: str | None
) -> ThreadFilter:
    """What ListThreads is to show."""
    if request.urgency not in ("", "surface_now", "defer"):
        raise Invalid("INVALID_FIELD", "urgency is surface_now or defer", field="urgency")
    hidden = request.HasField("show_later") and not request.show_later
    said = check_text("q", request.q, limits.QUERY_MAX) if request.q else None
    if request.session_id and not is_id("ses", request.session_id):
        raise Invalid("INVALID_FIELD", "session_id must be a session's id", field="session_id")
    then = moment("open_at", request.open_at) if request.HasField("open_at") else None
    return ThreadFilter(tenant, states, parent, request.urgency, hidden, said, request.session_id, then)


def resurface_at(request: pb.DeferThreadRequest, now: datetime) -> datetime:
    """From `hours` or `resurface_at`; neither means 24 hours. The domain checks the range."""
    if request.HasField("resurface_at"):
        if request.HasField("hours"):
            raise Invalid("INVALID_TIME", "give hours or resurface_at, not both", field="hours")
        return moment("resurface_at", request.resurface_at)
    hours = request.hours if request.HasField("hours") else float(limits.DEFER_HOURS_DEFAULT)
    if not math.isfinite(hours) or not 0 < hours <= limits.DEFER_HOURS_MAX:
        most = limits.DEFER_HOURS_MAX
        raise Invalid("INVALID_TIME", f"hours is more than 0 and at most {most}", field="hours", limit=most)
    return now + timedelta(hours=hours)
