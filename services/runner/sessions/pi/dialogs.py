"""Pi's dialogs as gates and back (design/streaming.md D2.5, S.6). Pure.

A dialog of our own extension (reviewer.mjs) carries a reviewer's gate: its title names the kind, its prefill is the
proposal, and its answer is JSON.
"""

from __future__ import annotations

import re
from typing import Any, Final

import orjson

from services.kernel.text import storable_json
from services.runner.domain.agent import GateKind, GateOpened, GateReply, GateState
from services.runner.sessions.pi.framing import Record

METHODS: Final = frozenset({"select", "confirm", "input", "editor"})
"""Those that wait for an answer; the others are fire-and-forget."""
REVIEW_TITLE: Final = "treadle.reviewer_decide:"
PROPOSAL_BYTES: Final = 48 * 1024
_KEY: Final = re.compile(r"[A-Za-z0-9_.:-]{1,128}")
_SLACK_SECONDS: Final = 5
_TEXTS: Final = ("title", "message", "placeholder", "prefill")
_OPTIONS_MOST: Final = 200


def gate_of(request: Record) -> GateOpened | None:
    """The gate that a dialog opens; None for one that cannot be shown (too large, a strange id): cancel it."""
    key, title = str(request["id"]), request.get("title")
    if not _KEY.fullmatch(key):
        return None
    if isinstance(title, str) and title.startswith(REVIEW_TITLE):
        return _review(key, title.removeprefix(REVIEW_TITLE), request.get("prefill"))
    proposal: dict[str, Any] = {"method": request["method"]}
    proposal |= {name: text for name in _TEXTS if isinstance(text := request.get(name), str)}
    if request["method"] == "select":
        options = request.get("options")
        if not isinstance(options, list) or not 0 < len(options) <= _OPTIONS_MOST:
            return None
        proposal["options"] = [str(option) for option in options]
    return _sized(GateOpened(key, GateKind.DIALOG, storable_json(proposal), _timeout(request.get("timeout"))))


def answer_of(gate: GateOpened, reply: GateReply) -> Record:
    """What Pi is told."""
    told: Record = {"type": "extension_ui_response", "id": gate.key}
    if gate.kind is not GateKind.DIALOG:
        said = {"state": reply.state, "value": reply.value, "text": reply.text}
        return told | {"value": orjson.dumps(said).decode()}
    if reply.state is not GateState.ANSWERED:
        return cancel_of(gate.key)
    if gate.proposal.get("method") == "confirm":
        return told | {"confirmed": bool(reply.confirmed)}
    return told | {"value": reply.text if reply.value is None else reply.value}


def cancel_of(key: str) -> Record:
    """Pi is told that nobody answers."""
    return {"type": "extension_ui_response", "id": key, "cancelled": True}


def _timeout(milliseconds: object) -> int:
    if not isinstance(milliseconds, (int, float)) or not 0 < milliseconds < 1e9:
        return 0
    return int(milliseconds / 1000) + _SLACK_SECONDS


def _review(key: str, kind: str, prefill: object) -> GateOpened | None:
    try:
        proposal = orjson.loads(prefill) if isinstance(prefill, str) else None
    except orjson.JSONDecodeError:
        return None
    if kind not in set(GateKind) - {GateKind.DIALOG} or not isinstance(proposal, dict):
        return None
    return _sized(GateOpened(key, GateKind(kind), storable_json(proposal)))


def _sized(gate: GateOpened) -> GateOpened | None:
    return gate if len(orjson.dumps(gate.proposal)) <= PROPOSAL_BYTES else None
