"""The reads of ThreadService: cards, lists, the inbox, the log, explanations."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

import grpc
import orjson

from services.kernel.access import caller
from services.kernel.paging import PageTokens, page_size
from services.threads.application.queries import Card, Queries
from services.threads.domain.explaining_family import WaitedFor
from services.threads.domain.ranking import rank
from services.threads.domain.states import State
from services.threads.transport import answers, reading
from services.threads.transport.calling import READERS
from services.threads.transport.card import card, state_of, timestamp
from services.threads.transport.pages import fitting
from treadle.threads.v1 import thread_service_pb2 as pb
from treadle.threads.v1.thread_service_pb2_grpc import ThreadServiceServicer

_Context = grpc.aio.ServicerContext[Any, Any]
_STATES: Final = {state_of(state): state for state in State}


class ThreadLists(ThreadServiceServicer):
    """Reads need one of the roles viewer, reviewer, agent."""

    def __init__(self, queries: Queries, threads: PageTokens, inbox: PageTokens, log: PageTokens) -> None:
        self._reads = queries
        self._thread_tokens = threads
        self._inbox_tokens = inbox
        self._log_tokens = log

    async def GetThread(self, request: pb.GetThreadRequest, context: _Context) -> pb.Thread:
        """One card."""
        found = await self._reads.card(caller(*READERS).tenant, reading.thread_id(request.name))
        return shown_card(found)

    async def ListThreads(self, request: pb.ListThreadsRequest, context: _Context) -> pb.ListThreadsResponse:
        """Newest first."""
        tenant = caller(*READERS).tenant
        states = tuple(sorted({_STATES[state] for state in request.state if state in _STATES}))
        parent = reading.known_id(request.parent_id) if request.parent_id else None
        wanted = reading.thread_filter(request, tenant, states, parent)
        query: list[object] = [tenant, states, parent, wanted.urgency, wanted.hide_later, wanted.said]
        query += [wanted.session_id, wanted.open_at]
        size = page_size(request.page_size, default=50, most=200)
        position = self._thread_tokens.decode(request.page_token, query)
        before = position["before"] if position else None
        cards, more = await self._reads.threads(wanted, before, size)
        shown = fitting([shown_card(one) for one in cards])
        page = pb.ListThreadsResponse(threads=shown)
        if more or len(shown) < len(cards):
            page.next_page_token = self._thread_tokens.encode({"before": shown[-1].id}, query)
        return page

    async def ListInbox(self, request: pb.ListInboxRequest, context: _Context) -> pb.ListInboxResponse:
        """By rank: what waits longest and has most behind it comes first."""
        tenant = caller(*READERS).tenant
        size = page_size(request.page_size, default=50, most=200)
        position = self._inbox_tokens.decode(request.page_token, tenant)
        after = (datetime.fromisoformat(position["rank"]), str(position["id"])) if position else None
        cards, more, total = await self._reads.inbox(tenant, after, size)
        shown = fitting([shown_card(one) for one in cards])
        page = pb.ListInboxResponse(threads=shown, total_size=total)
        if more or len(shown) < len(cards):
            last = cards[len(shown) - 1].thread
            token = {"rank": rank(last).isoformat(), "id": last.thread_id}
            page.next_page_token = self._inbox_tokens.encode(token, tenant)
        return page

    async def ListThreadEvents(
        self, request: pb.ListThreadEventsRequest, context: _Context
    ) -> pb.ListThreadEventsResponse:
        """In order of seq."""
        tenant = caller(*READERS).tenant
        thread_id = reading.thread_id(request.name)
        size = page_size(request.page_size, default=200, most=1000)
        position = self._log_tokens.decode(request.page_token, [tenant, thread_id])
        after = int(position["seq"]) if position else 0
        events, more = await self._reads.events(tenant, thread_id, after, size)
        shown = fitting([answers.event(one, orjson.dumps(one.data)) for one in events])
        page = pb.ListThreadEventsResponse(events=shown)
        if more or len(shown) < len(events):
            page.next_page_token = self._log_tokens.encode({"seq": shown[-1].seq}, [tenant, thread_id])
        return page

    async def ExplainThread(self, request: pb.ExplainThreadRequest, context: _Context) -> pb.Explanation:
        """What the thread waits for."""
        family, due = await self._reads.explain(caller(*READERS).tenant, reading.thread_id(request.name))
        told = family.told
        explanation = pb.Explanation(
            state=state_of(told.state),
            summary=told.summary,
            waits_on=told.waits_on,
            since_time=timestamp(told.since),
            moves=told.moves,
            waits_for=[_waited(one) for one in family.waits_for],
            waits_for_count=family.count,
        )
        if due is not None:
            explanation.timer_time.CopyFrom(timestamp(due))
        return explanation


def _waited(one: WaitedFor) -> pb.WaitedFor:
    return pb.WaitedFor(
        thread_id=one.thread_id,
        title=one.title,
        state=state_of(one.state),
        since_time=timestamp(one.since),
        waits_on=one.waits_on,
        code=one.code,
        moves=one.moves,
    )


def shown_card(found: Card) -> pb.Thread:
    """A card as it is sent."""
    return card(found.thread, found.child_states, found.hoisted)
