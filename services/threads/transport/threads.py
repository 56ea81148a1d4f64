"""ThreadService over the use cases: translates, and names the roles. Decides nothing."""

from __future__ import annotations

from typing import Any

import grpc

from services.kernel.access import caller
from services.kernel.clock import Clock
from services.kernel.ids import NewId
from services.kernel.paging import PageTokens
from services.threads.application.batches import Batches
from services.threads.application.catalogue import ActionRequest, Catalogue
from services.threads.application.commands import Commands, Make
from services.threads.application.families import Families
from services.threads.application.groups import Groups
from services.threads.application.proposals import Proposals
from services.threads.application.queries import Queries
from services.threads.domain import commands as c
from services.threads.domain.thread import Thread
from services.threads.transport import reading
from services.threads.transport.answers import CardAnswer, DecisionAnswer
from services.threads.transport.calling import AUTHORS, call
from services.threads.transport.cleaning import CleanupDecisions
from services.threads.transport.creating import create_command, start_of
from services.threads.transport.families import FamilyCalls
from services.threads.transport.groups import GroupCalls
from services.threads.transport.inbox import InboxDecisions
from services.threads.transport.lists import ThreadLists, shown_card
from services.threads.transport.options import ActionOptions
from services.threads.transport.previewing import Previews
from services.threads.transport.proposals import ProposalCalls
from treadle.threads.v1 import thread_service_pb2 as pb

_Context = grpc.aio.ServicerContext[Any, Any]
_DECISION = DecisionAnswer()
_CARD = CardAnswer()
_ENDS = frozenset({"DismissThread", "RejectThread", "HandOffThread", "AcceptReview"})
"""What mostly ends its thread, so that the parent is locked at once."""


class ThreadServicer(
    ThreadLists,
    FamilyCalls,
    InboxDecisions,
    CleanupDecisions,
    ActionOptions,
    Previews,
    GroupCalls,
    ProposalCalls,
):
    """Threads of supervised work and the decisions on them; the reads are inherited."""

    def __init__(
        self,
        commands: Commands,
        queries: Queries,
        batches: Batches,
        families: Families,
        groups: Groups,
        proposals: Proposals,
        tokens: bytes,
        clock: Clock,
        new_id: NewId,
    ) -> None:
        super().__init__(queries, PageTokens(tokens, "threads"), PageTokens(tokens, "inbox"), PageTokens(tokens, "log"))
        self._commands = commands
        self._queries = queries
        self._batches = batches
        self._families = families
        self._child_tokens = PageTokens(tokens, "children")
        self._groups = groups
        self._group_tokens = PageTokens(tokens, "groups")
        self._proposals = proposals
        self._proposal_tokens = PageTokens(tokens, "proposals")
        self._action_tokens = PageTokens(tokens, "actions")
        self._clock = clock
        self._new_id = new_id

    async def CreateThread(self, request: pb.CreateThreadRequest, context: _Context) -> pb.Thread:
        """Opens a thread."""
        principal = caller(*AUTHORS)
        command, start = create_command(request, self._new_id), start_of(request)
        made = await self._commands.create(
            call(principal, "CreateThread", request, request_id=request.request_id), command, start, _CARD
        )
        if made.id:
            return made
        again = await self._queries.card(principal.tenant, reading.thread_id(made.name))
        return shown_card(again)

    async def AcceptThread(self, request: pb.AcceptThreadRequest, context: _Context) -> pb.Decision:
        """Says yes."""
        cited = reading.citation(request.proposal_id, request.proposal_digest)
        given = reading.action(request.action) if request.HasField("action") else None
        changed = reading.json_object("action_overrides", request.action_overrides_json)

        async def make(thread: Thread, catalogue: Catalogue) -> c.Command:
            choice = await catalogue.choice(given, thread)
            return c.Accept(cited, choice, await catalogue.overrides(thread, changed, choice))

        return await self._decide("AcceptThread", request, make)

    async def EditThread(self, request: pb.EditThreadRequest, context: _Context) -> pb.Decision:
        """Changes what stands."""
        cited = reading.citation(request.proposal_id, request.proposal_digest)
        given = reading.action(request.action) if request.HasField("action") else None
        changed = reading.json_object("action_overrides", request.action_overrides_json)

        async def make(thread: Thread, catalogue: Catalogue) -> c.Command:
            choice = await catalogue.choice(given, thread)
            overrides = await catalogue.overrides(thread, changed, choice)
            return c.Edit(cited, request.text or None, choice, overrides)

        return await self._decide("EditThread", request, make)

    async def ProvideThread(self, request: pb.ProvideThreadRequest, context: _Context) -> pb.Decision:
        """Answers a question."""
        given = reading.action(request.action) if request.HasField("action") else None

        async def make(thread: Thread, catalogue: Catalogue) -> c.Command:
            return c.Provide(request.text or None, await catalogue.choice(given, thread))

        return await self._decide("ProvideThread", request, make)

    async def RejectThread(self, request: pb.RejectThreadRequest, context: _Context) -> pb.Decision:
        """Says no."""
        cited = reading.citation(request.proposal_id, request.proposal_digest)
        return await self._decide("RejectThread", request, _fixed(c.Reject(cited, request.feedback)))

    async def DismissThread(self, request: pb.DismissThreadRequest, context: _Context) -> pb.Decision:
        """Ends the thread."""
        cited = reading.citation(request.proposal_id, request.proposal_digest)
        command = c.Dismiss(cited, request.reason or "user_dismiss", cancel_executing=request.cancel_executing)
        return await self._decide("DismissThread", request, _fixed(command))

    async def RedirectThread(self, request: pb.RedirectThreadRequest, context: _Context) -> pb.Decision:
        """Sends back what was inferred last."""
        cited = reading.citation(request.proposal_id, request.proposal_digest)
        return await self._decide("RedirectThread", request, _fixed(c.Redirect(cited, request.feedback)))

    async def RedirectAction(self, request: pb.RedirectActionRequest, context: _Context) -> pb.Decision:
        """Sends the action back."""
        cited = reading.citation(request.proposal_id, request.proposal_digest)
        seeds = reading.json_object("params", request.params_json)

        async def make(thread: Thread, catalogue: Catalogue) -> c.Command:
            target = await catalogue.named(request.target_action, "target_action")
            return c.RedirectAction(cited, request.feedback, seeds, target)

        return await self._decide("RedirectAction", request, make)

    async def SetActionProposal(self, request: pb.SetActionProposalRequest, context: _Context) -> pb.Decision:
        """Picks or clears the action."""
        given = None
        if request.capability_name:
            parameters = reading.json_object("parameters", request.parameters_json)
            given = ActionRequest(request.capability_name, parameters, request.rationale)

        async def make(thread: Thread, catalogue: Catalogue) -> c.Command:
            return c.PickAction(await catalogue.choice(given, thread))

        return await self._decide("SetActionProposal", request, make, AUTHORS)

    async def DeferThread(self, request: pb.DeferThreadRequest, context: _Context) -> pb.Decision:
        """Hides the thread for a while."""
        until = reading.resurface_at(request, self._clock.now())
        return await self._decide("DeferThread", request, _fixed(c.Later(until)))

    async def RenameThread(self, request: pb.RenameThreadRequest, context: _Context) -> pb.Decision:
        """Another title."""
        return await self._decide("RenameThread", request, _fixed(c.Rename(request.title)))

    async def HandOffThread(self, request: pb.HandOffThreadRequest, context: _Context) -> pb.Decision:
        """Somebody outside takes over."""
        return await self._decide("HandOffThread", request, _fixed(c.HandOff(request.to, request.note)))

    async def AcceptReview(self, request: pb.AcceptReviewRequest, context: _Context) -> pb.Decision:
        """The result is fine."""
        return await self._decide("AcceptReview", request, _fixed(c.AcceptReview()))

    async def _decide(
        self, method: str, request: Any, make: Make, roles: tuple[str, ...] = ("reviewer",)
    ) -> pb.Decision:
        principal = caller(*roles)
        thread = reading.thread_id(request.name)
        asked = call(principal, method, request, request_id=request.request_id, etag=request.etag)
        return await self._commands.change(asked, thread, make, _DECISION, reach=int(method in _ENDS))


def _fixed(command: c.Command) -> Make:
    """A command that needs neither the thread nor the catalogue."""

    async def make(thread: Thread, catalogue: Catalogue) -> c.Command:
        return command

    return make
