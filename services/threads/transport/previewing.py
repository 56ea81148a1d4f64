"""What a decision would cause, without deciding."""

from __future__ import annotations

from typing import Any, Final

import grpc

from services.kernel.access import caller
from services.kernel.errors import Invalid
from services.threads.application.catalogue import Catalogue
from services.threads.application.commands import Commands
from services.threads.application.foreseeing import ForeseenEvent
from services.threads.domain import commands as c
from services.threads.domain.states import State
from services.threads.domain.thread import Thread
from services.threads.transport import reading
from services.threads.transport.calling import call
from services.threads.transport.card import state_of
from treadle.threads.v1 import thread_service_pb2 as pb
from treadle.threads.v1.thread_service_pb2_grpc import ThreadServiceServicer

_Context = grpc.aio.ServicerContext[Any, Any]
_SOMEBODY: Final = "somebody"


class Previews(ThreadServiceServicer):
    """PreviewDecision."""

    _commands: Commands

    async def PreviewDecision(
        self, request: pb.PreviewDecisionRequest, context: _Context
    ) -> pb.PreviewDecisionResponse:
        """The decision is run and undone."""
        asked = call(caller("reviewer"), "PreviewDecision", request, request_id="")
        command = _command(request)

        async def make(thread: Thread, catalogue: Catalogue) -> c.Command:
            return command

        told, etag = await self._commands.preview(asked, reading.thread_id(request.name), make)
        return pb.PreviewDecisionResponse(
            events=[_event(event) for event in told.events], jobs=told.jobs, etag=f"{etag}.{told.mark}"
        )


def _command(request: pb.PreviewDecisionRequest) -> c.Command:
    """With stand-ins for the words that the decision itself would bring: they change no effect."""
    cited = reading.citation(request.proposal_id, request.proposal_digest)
    stop = request.cancel_executing
    commands: dict[str, c.Command] = {
        "accept": c.Accept(cited),
        "reject": c.Reject(cited),
        "dismiss": c.Dismiss(cited, cancel_executing=stop),
        "redirect": c.Redirect(cited),
        "redirect_action": c.RedirectAction(cited),
        "force_close": c.ForceClose(cancel_executing=stop, cascaded=()),
        "hand_off": c.HandOff(_SOMEBODY),
        "accept_review": c.AcceptReview(),
    }
    if request.decision not in commands:
        raise Invalid("INVALID_FIELD", f"decision is one of {', '.join(commands)}", field="decision")
    return commands[request.decision]


def _event(event: ForeseenEvent) -> pb.PreviewDecisionResponse.PreviewedEvent:
    told = pb.PreviewDecisionResponse.PreviewedEvent(thread_id=event.thread_id, kind=event.kind, trigger=event.trigger)
    if event.to_state:
        told.from_state = state_of(State(event.from_state))
        told.to_state = state_of(State(event.to_state))
    return told
