"""The calls on families: spawning, force close, children in order. Decides nothing."""

from __future__ import annotations

from typing import Any, Final

import grpc

from services.kernel.access import caller
from services.kernel.idempotency import ANSWER_MOST
from services.kernel.ids import NewId
from services.kernel.paging import PageTokens, page_size
from services.threads.application.catalogue import Catalogue
from services.threads.application.commands import Commands, Outcome
from services.threads.application.families import Families, Family
from services.threads.application.queries import Queries
from services.threads.domain import commands as c
from services.threads.domain.hoisting import by_parent, hoist, hoists_from, member_of
from services.threads.domain.kinds import Kind
from services.threads.domain.states import State
from services.threads.domain.thread import Thread
from services.threads.transport import reading
from services.threads.transport.calling import AUTHORS, READERS, call
from services.threads.transport.card import card
from services.threads.transport.family_requests import decompose_brood, family_plan, group_brood
from services.threads.transport.lists import shown_card
from services.threads.transport.pages import fitting
from treadle.threads.v1 import thread_service_pb2 as pb
from treadle.threads.v1.thread_service_pb2_grpc import ThreadServiceServicer

_Context = grpc.aio.ServicerContext[Any, Any]


class FamilyAnswers:
    """See application.families.FamilyAnswer: the umbrella's card. A large one is stored by its name only."""

    def write(self, family: Family) -> pb.Thread:
        """With counts and hoisted actions as the spawn left them."""
        parent, states = family.parent, dict[State, int]()
        for child in family.children:
            states[child.state] = states.get(child.state, 0) + 1
        hoisted = []
        if hoists_from(parent) and parent.children == len(family.children):
            hoisted = hoist(parent.thread_id, by_parent(member_of(child) for child in family.children))
        return card(parent, states, hoisted)

    def dump(self, answer: pb.Thread) -> bytes:
        """The card, or its name where the card is too large to be kept."""
        whole = answer.SerializeToString()
        return whole if len(whole) <= ANSWER_MOST else pb.Thread(name=answer.name).SerializeToString()

    def load(self, stored: bytes) -> pb.Thread:
        """The card, or one with nothing but its name: the caller reads it then."""
        return pb.Thread.FromString(stored)


class ForceCloseAnswer:
    """See application.commands.Answer: what was closed."""

    def write(self, outcome: Outcome) -> pb.ForceCloseThreadResponse:
        """Deepest first."""
        answer = pb.ForceCloseThreadResponse(closed_parent=outcome.thread.thread_id)
        for event in outcome.events:
            if event.kind is Kind.PARENT_FORCE_CLOSE:
                listed = event.data.get("cascaded")
                answer.cascaded.extend(str(one) for one in listed) if isinstance(listed, list | tuple) else None
                count = event.data.get("cascaded_count")
                answer.cascaded_count = count if isinstance(count, int) else 0
        return answer

    def dump(self, answer: pb.ForceCloseThreadResponse) -> bytes:
        """Whole, or without the list where that is too large to be kept; the log of the thread has it."""
        whole = answer.SerializeToString()
        if len(whole) <= ANSWER_MOST:
            return whole
        count = answer.cascaded_count
        return pb.ForceCloseThreadResponse(closed_parent=answer.closed_parent, cascaded_count=count).SerializeToString()

    def load(self, stored: bytes) -> pb.ForceCloseThreadResponse:
        """As stored."""
        return pb.ForceCloseThreadResponse.FromString(stored)


_FAMILY: Final = FamilyAnswers()
_CLOSED: Final = ForceCloseAnswer()


class FamilyCalls(ThreadServiceServicer):
    """CreateFamily, DecomposeThread, GroupThread, ForceCloseThread, ListSubThreads."""

    _commands: Commands
    _families: Families
    _queries: Queries
    _child_tokens: PageTokens
    _new_id: NewId

    async def CreateFamily(self, request: pb.CreateFamilyRequest, context: _Context) -> pb.Thread:
        """An umbrella with its children."""
        principal = caller(*AUTHORS)
        asked = call(principal, "CreateFamily", request, request_id=request.request_id)
        return await self._whole(
            asked.tenant, await self._families.create(asked, family_plan(request, self._new_id), _FAMILY)
        )

    async def DecomposeThread(self, request: pb.DecomposeThreadRequest, context: _Context) -> pb.Thread:
        """Children for a thread."""
        principal, thread = caller(*AUTHORS), reading.thread_id(request.name)
        asked = call(principal, "DecomposeThread", request, request_id=request.request_id, etag=request.etag)
        brood = decompose_brood(request, self._new_id)
        return await self._whole(asked.tenant, await self._families.spawn(asked, thread, brood, _FAMILY))

    async def GroupThread(self, request: pb.GroupThreadRequest, context: _Context) -> pb.Thread:
        """Items in columns."""
        principal, thread = caller(*AUTHORS), reading.thread_id(request.name)
        asked = call(principal, "GroupThread", request, request_id=request.request_id, etag=request.etag)
        brood = group_brood(request, self._new_id)
        return await self._whole(asked.tenant, await self._families.spawn(asked, thread, brood, _FAMILY))

    async def ForceCloseThread(
        self, request: pb.ForceCloseThreadRequest, context: _Context
    ) -> pb.ForceCloseThreadResponse:
        """Ends a thread and all below it."""
        principal, thread = caller("reviewer"), reading.thread_id(request.name)
        asked = call(principal, "ForceCloseThread", request, request_id=request.request_id, etag=request.etag)
        reason = request.reason or "parent_force_close"
        command = c.ForceClose(reason, cancel_executing=request.cancel_executing, cascaded=())

        async def make(_: Thread, __: Catalogue) -> c.Command:
            return command

        return await self._commands.change(asked, thread, make, _CLOSED, reach=1)

    async def ListSubThreads(self, request: pb.ListSubThreadsRequest, context: _Context) -> pb.ListSubThreadsResponse:
        """In spawn order."""
        tenant, parent = caller(*READERS).tenant, reading.thread_id(request.name)
        size = page_size(request.page_size, default=50, most=200)
        position = self._child_tokens.decode(request.page_token, [tenant, parent])
        after = (int(position["ordinal"]), str(position["id"])) if position else None
        cards, more = await self._queries.children(tenant, parent, after, size)
        shown = fitting([shown_card(one) for one in cards])
        page = pb.ListSubThreadsResponse(threads=shown, parent_id=parent)
        if more or len(shown) < len(cards):
            last = {"ordinal": shown[-1].ordinal, "id": shown[-1].id}
            page.next_page_token = self._child_tokens.encode(last, [tenant, parent])
        return page

    async def _whole(self, tenant: str, made: pb.Thread) -> pb.Thread:
        """A repeat whose card was too large to be kept answers it as it is now."""
        if made.id:
            return made
        return shown_card(await self._queries.card(tenant, reading.thread_id(made.name)))
