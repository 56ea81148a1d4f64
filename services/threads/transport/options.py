"""The actions that can be picked for a thread."""

from __future__ import annotations

from typing import Any

import grpc

from services.kernel.access import caller
from services.threads.application.queries import Queries
from services.threads.domain.canonical import canonical_json
from services.threads.domain.options import Option, options
from services.threads.domain.thread import Thread
from services.threads.transport import reading
from services.threads.transport.calling import READERS
from treadle.threads.v1 import thread_service_pb2 as pb
from treadle.threads.v1.thread_service_pb2_grpc import ThreadServiceServicer

_Context = grpc.aio.ServicerContext[Any, Any]


class ActionOptions(ThreadServiceServicer):
    """ListActionOptions."""

    _queries: Queries

    async def ListActionOptions(
        self, request: pb.ListActionOptionsRequest, context: _Context
    ) -> pb.ListActionOptionsResponse:
        """Universal ones first."""
        tenant = caller(*READERS).tenant
        found = await self._queries.card(tenant, reading.thread_id(request.name))
        return pb.ListActionOptionsResponse(
            thread_id=found.thread.thread_id,
            source=source_of(found.thread),
            action_options=[option(one) for one in options(await self._queries.actions(tenant))],
        )


def source_of(thread: Thread) -> str:
    """Where its items are from, else where itself is from."""
    return next((item.source for item in thread.context_items if item.source), thread.source)


def option(one: Option) -> pb.ActionOption:
    """An entry of the menu."""
    return pb.ActionOption(
        capability_name=one.registration.name,
        label=one.label,
        description=one.registration.description,
        cardinality=one.registration.cardinality,
        default_params_json=canonical_json(one.defaults),
        parameters=[
            pb.ActionOption.Parameter(
                name=asked.name, type=asked.type, description=asked.description, required=asked.required
            )
            for asked in one.parameters
        ],
    )
