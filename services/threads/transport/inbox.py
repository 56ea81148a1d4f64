"""Decisions on many threads of the inbox at once."""

from __future__ import annotations

from typing import Any, Final

import grpc

from services.kernel.access import caller
from services.kernel.errors import Invalid
from services.threads.application.batches import Batches, Decide, Item, ItemResult
from services.threads.application.catalogue import Catalogue
from services.threads.application.commands import Call, Commands
from services.threads.domain import commands as c
from services.threads.domain.states import State
from services.threads.domain.thread import Thread
from services.threads.transport import reading
from services.threads.transport.answers import DecisionAnswer
from services.threads.transport.calling import call
from services.threads.transport.card import state_of
from treadle.threads.v1 import thread_service_pb2 as pb
from treadle.threads.v1.thread_service_pb2_grpc import ThreadServiceServicer

_Context = grpc.aio.ServicerContext[Any, Any]
_DECISION: Final = DecisionAnswer()
_ITEMS_MOST: Final = 200
_STATES: Final = {state.value: state_of(state) for state in State}


class InboxDecisions(ThreadServiceServicer):
    """DecideInbox."""

    _commands: Commands
    _batches: Batches

    async def DecideInbox(self, request: pb.DecideInboxRequest, context: _Context) -> pb.DecideInboxResponse:
        """Each item for itself, in order."""
        asked = call(caller("reviewer"), "DecideInbox", request, request_id=request.request_id)
        if not 1 <= len(request.items) <= _ITEMS_MOST:
            raise Invalid("INVALID_ITEMS", f"items are 1..{_ITEMS_MOST}", field="items", limit=_ITEMS_MOST)
        items = [
            Item(item.thread_id, self._decision(f"items[{number}]", item)) for number, item in enumerate(request.items)
        ]
        results = await self._batches.decide(asked, items)
        return pb.DecideInboxResponse(results=[outcome(result) for result in results])

    def _decision(self, field: str, item: pb.CitedProposal) -> Decide:
        cited = reading.citation(item.proposal_id, item.proposal_digest)
        commands: dict[str, c.Command] = {
            "": c.Accept(cited),
            "approve": c.Accept(cited),
            "reject": c.Reject(cited),
            "dismiss": c.Dismiss(cited),
        }
        if item.decision not in commands:
            raise Invalid("INVALID_FIELD", "decision is approve, reject or dismiss", field=f"{field}.decision")

        async def make(thread: Thread, catalogue: Catalogue) -> c.Command:
            return commands[item.decision]

        async def decide(asked: Call) -> str:
            done = await self._commands.change(asked, reading.known_id(item.thread_id), make, _DECISION)
            return state_in_words(done.next_state)

        return decide


def state_in_words(number: pb.Thread.State.ValueType) -> str:
    """As the domain writes it."""
    return pb.Thread.State.Name(number).removeprefix("STATE_").lower()


def outcome(result: ItemResult) -> pb.ItemOutcome:
    """What happened to one thread."""
    refusal = result.refusal
    return pb.ItemOutcome(
        thread_id=result.thread_id,
        ok=refusal is None,
        code=refusal.reason if refusal else "",
        message=refusal.message if refusal else "",
        state=_STATES.get(result.state, pb.Thread.STATE_UNSPECIFIED),
    )
