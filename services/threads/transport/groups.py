"""The columns of a group umbrella: listed, filled, added, deleted, approved."""

from __future__ import annotations

from typing import Any, Final

import grpc

from services.kernel.access import caller
from services.kernel.errors import Invalid
from services.kernel.paging import PageTokens, page_size
from services.threads.application.batches import Batches, Item
from services.threads.application.catalogue import Catalogue
from services.threads.application.commands import Call, Commands
from services.threads.application.groups import Groups
from services.threads.application.queries import Card, Queries
from services.threads.domain import commands as c
from services.threads.domain import limits
from services.threads.domain.checks import check_line
from services.threads.domain.deciding_items import CrossUmbrella
from services.threads.domain.drafting import refusal
from services.threads.domain.errors import WrongRelationship
from services.threads.domain.options import options
from services.threads.domain.registration import Cardinality
from services.threads.domain.states import State, is_terminal
from services.threads.domain.thread import Relationship, Thread
from services.threads.transport import reading
from services.threads.transport.answers import DecisionAnswer
from services.threads.transport.calling import READERS, call
from services.threads.transport.group_answers import ColumnAnswer, DeletedAnswer, MovedAnswer
from services.threads.transport.inbox import outcome, state_in_words
from services.threads.transport.lists import shown_card
from services.threads.transport.options import option, source_of
from services.threads.transport.pages import fitting
from treadle.threads.v1 import thread_service_pb2 as pb
from treadle.threads.v1.thread_service_pb2_grpc import ThreadServiceServicer

_Context = grpc.aio.ServicerContext[Any, Any]
_ITEMS_MOST: Final = 1_000
_PAGE: Final = 200
_DECISION, _MOVED, _COLUMN, _DELETED = DecisionAnswer(), MovedAnswer(), ColumnAnswer(), DeletedAnswer()


class GroupCalls(ThreadServiceServicer):
    """ListGroups, MoveItem, SpawnEmptyGroup, DeleteGroupSubthread, ApproveAll."""

    _commands: Commands
    _groups: Groups
    _batches: Batches
    _queries: Queries
    _group_tokens: PageTokens

    async def ListGroups(self, request: pb.ListGroupsRequest, context: _Context) -> pb.ListGroupsResponse:
        """The columns in spawn order, and what can be picked for them."""
        tenant = caller(*READERS).tenant
        umbrella = await self._group(tenant, reading.thread_id(request.name))
        size = page_size(request.page_size, default=_PAGE, most=_PAGE)
        position = self._group_tokens.decode(request.page_token, [tenant, umbrella.thread_id])
        after = (int(position["ordinal"]), str(position["id"])) if position else None
        cards, more = await self._queries.children(tenant, umbrella.thread_id, after, size)
        shown = fitting([shown_card(one) for one in cards])
        menu = [
            one for one in options(await self._queries.actions(tenant)) if _for_columns(one.registration.cardinality)
        ]
        page = pb.ListGroupsResponse(
            umbrella_id=umbrella.thread_id,
            source=source_of(cards[0].thread if cards else umbrella),
            groups=shown,
            action_options=[option(one) for one in menu],
        )
        if more or len(shown) < len(cards):
            last = {"ordinal": shown[-1].ordinal, "id": shown[-1].id}
            page.next_page_token = self._group_tokens.encode(last, [tenant, umbrella.thread_id])
        return page

    async def MoveItem(self, request: pb.MoveItemRequest, context: _Context) -> pb.MoveItemResponse:
        """All or none."""
        asked = call(caller("reviewer"), "MoveItem", request, request_id=request.request_id)
        source, ids = reading.thread_id(request.name), _item_ids(request)
        return await self._groups.move(asked, source, reading.known_id(request.dest_thread_id), ids, _MOVED)

    async def SpawnEmptyGroup(self, request: pb.SpawnEmptyGroupRequest, context: _Context) -> pb.Thread:
        """A column without items."""
        asked = call(caller("reviewer"), "SpawnEmptyGroup", request, request_id=request.request_id)
        label = check_line("label", request.label, limits.TITLE_MAX) if request.label.strip() else "New group"
        return await self._groups.add_column(asked, reading.thread_id(request.name), label, _COLUMN)

    async def DeleteGroupSubthread(
        self, request: pb.DeleteGroupSubthreadRequest, context: _Context
    ) -> pb.DeleteGroupSubthreadResponse:
        """A column less; its items stay readable on it."""
        asked = call(caller("reviewer"), "DeleteGroupSubthread", request, request_id=request.request_id)
        return await self._groups.delete_column(asked, reading.thread_id(request.name), _DELETED)

    async def ApproveAll(self, request: pb.ApproveAllRequest, context: _Context) -> pb.ApproveAllResponse:
        """Each column for itself."""
        asked = call(caller("reviewer"), "ApproveAll", request, request_id=request.request_id)
        if len(request.items) > _ITEMS_MOST:
            raise Invalid("INVALID_ITEMS", f"items are at most {_ITEMS_MOST}", field="items", limit=_ITEMS_MOST)
        umbrella = await self._group(asked.tenant, reading.thread_id(request.name))
        columns = await self._columns(asked.tenant, umbrella.thread_id)
        wanted = _cited(request) if request.items else {one.thread.thread_id: _standing(one.thread) for one in columns}
        known = {one.thread.thread_id: one.thread.state for one in columns}
        ended = [one for one in wanted if is_terminal(known.get(one, State.PROPOSED))]
        items = [
            Item(one, self._approval(umbrella.thread_id, one, cited))
            for one, cited in wanted.items()
            if one not in ended
        ]
        results = await self._batches.decide(asked, items)
        return pb.ApproveAllResponse(
            approved=[one.thread_id for one in results if one.refusal is None],
            failed=[outcome(one) for one in results if one.refusal is not None],
            skipped_terminal=ended,
        )

    def _approval(self, umbrella_id: str, thread_id: str, cited: c.Citation | None) -> Any:
        async def make(thread: Thread, catalogue: Catalogue) -> c.Command:
            if thread.parent_id != umbrella_id:
                raise CrossUmbrella
            if thread.state is not State.AWAITING_CONFIRMATION and cited is None:
                raise refusal(thread, "approve", by_person=True)
            return c.Accept(cited)

        async def decide(asked: Call) -> str:
            done = await self._commands.change(asked, reading.known_id(thread_id), make, _DECISION)
            return state_in_words(done.next_state)

        return decide

    async def _group(self, tenant: str, thread_id: str) -> Thread:
        umbrella = (await self._queries.card(tenant, thread_id)).thread
        if umbrella.parent_relationship is not Relationship.GROUP:
            raise WrongRelationship(umbrella.parent_relationship)
        return umbrella

    async def _columns(self, tenant: str, umbrella_id: str) -> list[Card]:
        columns: list[Card] = []
        more, after = True, None
        while more:
            page, more = await self._queries.children(tenant, umbrella_id, after, _PAGE)
            columns += page
            after = (page[-1].thread.ordinal, page[-1].thread.thread_id) if page else None
        return columns


def _for_columns(cardinality: Cardinality) -> bool:
    return cardinality is not Cardinality.UMBRELLA


def _item_ids(request: pb.MoveItemRequest) -> tuple[str, ...]:
    ids = (request.item_id,) if request.item_id else tuple(request.item_ids)
    if bool(request.item_id) == bool(request.item_ids):
        raise Invalid("INVALID_FIELD", "give item_id or item_ids", field="item_id")
    if len(ids) > _ITEMS_MOST:
        raise Invalid("INVALID_ITEMS", f"item_ids are at most {_ITEMS_MOST}", field="item_ids", limit=_ITEMS_MOST)
    if len(set(ids)) < len(ids):
        raise Invalid("INVALID_ITEMS", "an item is named twice", field="item_ids")
    return ids


def _cited(request: pb.ApproveAllRequest) -> dict[str, c.Citation | None]:
    cited: dict[str, c.Citation | None] = {}
    for number, item in enumerate(request.items):
        if item.decision not in ("", "approve"):
            raise Invalid("INVALID_FIELD", "only approve is possible here", field=f"items[{number}].decision")
        if item.thread_id in cited:
            raise Invalid("INVALID_ITEMS", "a thread is named twice", field=f"items[{number}].thread_id")
        cited[item.thread_id] = reading.citation(item.proposal_id, item.proposal_digest)
    return cited


def _standing(thread: Thread) -> c.Citation | None:
    """What stands at this instant; a decision that comes in between makes the approval fail."""
    proposal = thread.proposal if thread.state is State.AWAITING_CONFIRMATION else None
    return None if proposal is None else c.Citation(proposal.proposal_id, proposal.digest)
