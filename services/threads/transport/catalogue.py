"""CatalogService over the use cases."""

from __future__ import annotations

from typing import Any, Final

import grpc

from services.kernel.access import caller
from services.kernel.errors import Invalid
from services.threads.application.commands import Commands
from services.threads.application.queries import Queries
from services.threads.domain.autonomy import INVOCATION_CONTEXTS
from services.threads.domain.canonical import canonical_json
from services.threads.domain.registration import Cardinality, Registration
from services.threads.transport import reading
from services.threads.transport.calling import READERS, call
from treadle.threads.v1 import catalog_service_pb2 as pb
from treadle.threads.v1.catalog_service_pb2_grpc import CatalogServiceServicer

_Context = grpc.aio.ServicerContext[Any, Any]
_Pb = pb.ActionRegistration
_LEVELS: Final = {
    _Pb.LEVEL_UNSPECIFIED: "high",
    _Pb.LEVEL_LOW: "low",
    _Pb.LEVEL_MEDIUM: "medium",
    _Pb.LEVEL_HIGH: "high",
}
_LEVEL_NUMBERS: Final = {"low": _Pb.LEVEL_LOW, "medium": _Pb.LEVEL_MEDIUM, "high": _Pb.LEVEL_HIGH}
_CARDINALITIES: Final = {
    _Pb.CARDINALITY_UNSPECIFIED: Cardinality.PER_GROUP,
    _Pb.CARDINALITY_PER_ITEM: Cardinality.PER_ITEM,
    _Pb.CARDINALITY_PER_GROUP: Cardinality.PER_GROUP,
    _Pb.CARDINALITY_UMBRELLA: Cardinality.UMBRELLA,
}


class CatalogServicer(CatalogServiceServicer):
    """The action catalogue of a tenant."""

    def __init__(self, commands: Commands, queries: Queries) -> None:
        self._commands = commands
        self._queries = queries

    async def ListActions(self, request: pb.ListActionsRequest, context: _Context) -> pb.ListActionsResponse:
        """By category and name."""
        actions = await self._queries.actions(caller(*READERS).tenant)
        return pb.ListActionsResponse(actions=[_shown(action) for action in actions])

    async def RegisterAction(self, request: pb.RegisterActionRequest, context: _Context) -> pb.ActionRegistration:
        """Role admin."""
        principal = caller("admin")
        asked = call(principal, "RegisterAction", request, request_id=request.request_id)
        return _shown(await self._commands.register(asked, _read(request.action)))


def _read(given: pb.ActionRegistration) -> Registration:
    if given.irreversibility not in _LEVELS or given.regret_potential not in _LEVELS:
        raise Invalid("INVALID_REGISTRATION", "a level is low, medium or high", field="action.irreversibility")
    if given.cardinality not in _CARDINALITIES:
        raise Invalid("INVALID_REGISTRATION", "there is no such cardinality", field="action.cardinality")
    schema = reading.json_object("action.parameters_schema", given.parameters_schema_json)
    return Registration(
        name=given.capability_name,
        description=given.description,
        category=given.category or "general",
        schema=schema or {"type": "object"},
        cardinality=_CARDINALITIES[given.cardinality],
        irreversibility=_LEVELS[given.irreversibility],
        regret_potential=_LEVELS[given.regret_potential],
        risk_amplifier=given.risk_amplifier,
        requires_post_review=given.requires_post_review,
        idempotent=given.idempotent,
        available_in=frozenset(given.available_in) or INVOCATION_CONTEXTS,
    )


def _shown(registration: Registration) -> pb.ActionRegistration:
    return pb.ActionRegistration(
        capability_name=registration.name,
        description=registration.description,
        category=registration.category,
        parameters_schema_json=canonical_json(registration.schema),
        cardinality=_Pb.Cardinality.Value(f"CARDINALITY_{registration.cardinality.name}"),
        irreversibility=_LEVEL_NUMBERS[registration.irreversibility],
        regret_potential=_LEVEL_NUMBERS[registration.regret_potential],
        risk_amplifier=registration.risk_amplifier,
        requires_post_review=registration.requires_post_review,
        idempotent=registration.idempotent,
        available_in=sorted(registration.available_in),
        built_in=registration.built_in,
        universal=registration.universal,
    )
