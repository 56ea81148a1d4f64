"""What agents propose in their sessions, and what became of it."""

from __future__ import annotations

from typing import Any, Final

import grpc

from services.kernel.access import caller
from services.kernel.ids import NewId
from services.kernel.paging import PageTokens, page_size
from services.kernel.principal import Principal
from services.threads.application.catalogue import ActionRequest
from services.threads.application.commands import Outcome
from services.threads.application.ports import ThreadFilter
from services.threads.application.proposals import Proposals
from services.threads.application.queries import Queries
from services.threads.domain.canonical import canonical_json
from services.threads.domain.commands import CreateThread
from services.threads.domain.errors import NotYours, ThreadNotFound
from services.threads.domain.options import proposable
from services.threads.domain.registration import Registration
from services.threads.domain.thread import Thread
from services.threads.transport import reading
from services.threads.transport.calling import AUTHORS, READERS, call
from services.threads.transport.card import state_of, timestamp
from services.threads.transport.family_requests import items_of
from services.threads.transport.pages import fitting
from treadle.threads.v1 import thread_service_pb2 as pb
from treadle.threads.v1.thread_service_pb2_grpc import ThreadServiceServicer

_Context = grpc.aio.ServicerContext[Any, Any]
_HINT: Final = (
    "A person decides on this; it does not run before they approve it, and that may take long. Go on with what does "
    "not depend on it, say that it waits, and look with proposal_status."
)


class ProposalCalls(ThreadServiceServicer):
    """An agent acts for the session of its own token; people for any session of their tenant."""

    _queries: Queries
    _proposals: Proposals
    _proposal_tokens: PageTokens
    _action_tokens: PageTokens
    _new_id: NewId

    async def ProposeAction(self, request: pb.ProposeActionRequest, context: _Context) -> pb.ProposeActionResponse:
        """At the gate, never past it."""
        principal, session_id = _acting(AUTHORS, request.session)
        command = CreateThread(
            thread_id=self._new_id("thr"),
            title=request.title,
            description=request.description,
            context_items=items_of("context_items", request.context_items, self._new_id),
            source="session",
            session_id=session_id,
            turn_id=reading.turn_id(request.turn_id),
        )
        parameters = reading.json_object("parameters", request.parameters_json)
        action = ActionRequest(request.capability_name, parameters, request.rationale)
        asked = call(principal, "ProposeAction", request, request_id=request.request_id)
        return await self._proposals.propose(asked, command, action, _Proposed())

    async def ListProposableActions(
        self, request: pb.ListProposableActionsRequest, context: _Context
    ) -> pb.ListProposableActionsResponse:
        """By category and name."""
        principal, session_id = _acting(READERS, request.session)
        size = page_size(request.page_size, default=100, most=200)
        position = self._action_tokens.decode(request.page_token, [principal.tenant, session_id])
        after = tuple(position["after"]) if position else ("", "")
        left = [
            one
            for one in await self._queries.actions(principal.tenant)
            if proposable(one) and (one.category, one.name) > after
        ]
        shown = fitting([_action(one) for one in left[:size]])
        page = pb.ListProposableActionsResponse(actions=shown)
        if len(shown) < len(left):
            last = left[len(shown) - 1]
            place = {"after": [last.category, last.name]}
            page.next_page_token = self._action_tokens.encode(place, [principal.tenant, session_id])
        return page

    async def ListProposals(self, request: pb.ListProposalsRequest, context: _Context) -> pb.ListProposalsResponse:
        """Newest first."""
        principal, session_id = _acting(READERS, request.session)
        tenant = principal.tenant
        if request.thread_id:
            found = await self._queries.card(tenant, reading.known_id(request.thread_id))
            if found.thread.session_id != session_id:
                raise ThreadNotFound(request.thread_id)
            return pb.ListProposalsResponse(proposals=[_proposal(found.thread)])
        size = page_size(request.page_size, default=50, most=200)
        position = self._proposal_tokens.decode(request.page_token, [tenant, session_id])
        before = position["before"] if position else None
        cards, more = await self._queries.threads(ThreadFilter(tenant, session_id=session_id), before, size)
        page = pb.ListProposalsResponse(proposals=[_proposal(one.thread) for one in cards])
        if more:
            last = cards[-1].thread.thread_id
            page.next_page_token = self._proposal_tokens.encode({"before": last}, [tenant, session_id])
        return page


class _Proposed:
    """See application.commands.Answer."""

    def write(self, outcome: Outcome) -> pb.ProposeActionResponse:
        """Where it waits."""
        thread = outcome.thread
        assert thread.proposal is not None, "it stands at the gate"
        return pb.ProposeActionResponse(
            thread_id=thread.thread_id,
            state=state_of(thread.state),
            proposal_id=thread.proposal.proposal_id,
            hint=_HINT,
        )

    def dump(self, answer: pb.ProposeActionResponse) -> bytes:
        """A few hundred bytes."""
        return answer.SerializeToString()

    def load(self, stored: bytes) -> pb.ProposeActionResponse:
        """As stored."""
        return pb.ProposeActionResponse.FromString(stored)


def _acting(roles: tuple[str, ...], name: str) -> tuple[Principal, str]:
    """The caller, and the session that it may act for (NotYours)."""
    principal = caller(*roles)
    session_id = reading.session_id(name)
    bound = principal.kind == "agent" or (principal.has("agent") and not principal.has("reviewer"))
    if bound and principal.subject != session_id:
        raise NotYours
    return principal, session_id


def _action(one: Registration) -> pb.ProposableAction:
    return pb.ProposableAction(
        capability_name=one.name,
        description=one.description,
        parameters_schema_json=canonical_json(one.schema),
        irreversibility=one.irreversibility,
        regret_potential=one.regret_potential,
    )


def _proposal(thread: Thread) -> pb.SessionProposal:
    """What is on the allow-list: names, states and codes (I8)."""
    standing = thread.proposal or thread.prior_proposal
    shown = pb.SessionProposal(
        thread_id=thread.thread_id,
        title=thread.title,
        state=state_of(thread.state),
        capability_name=standing.name if standing else "",
        proposal_id=standing.proposal_id if standing else "",
        revision=thread.revision,
        turn_id=thread.turn_id,
        create_time=timestamp(thread.create_time),
        update_time=timestamp(thread.update_time),
    )
    if thread.decided is not None:
        shown.decision = thread.decided.choice
        shown.decision_time.CopyFrom(timestamp(thread.decided.time))
    execution = thread.execution
    if execution is not None and execution.finished:
        shown.result.success, shown.result.code = execution.success, execution.code
        if execution.finish_time is not None:
            shown.result.finish_time.CopyFrom(timestamp(execution.finish_time))
    return shown
