"""PlanningService: turns, branches, the graph, what differs."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

import grpc

from services.kernel.errors import Invalid
from services.kernel.paging import PageTokens, page_size
from services.planning.application.branching import Branching, Continued
from services.planning.application.comparing import Comparing, Wanted
from services.planning.application.driving import Driving
from services.planning.application.lateness import Lateness
from services.planning.application.plans import Planned
from services.planning.application.ports import GraphPlace, Reads
from services.planning.application.work import Restored
from services.planning.domain.errors import branch_not_found
from services.planning.transport import names, translate
from services.planning.transport.access import PEOPLE, READERS, caller_for
from services.planning.transport.calling import command, given
from treadle.planning.v1 import planning_service_pb2 as pb
from treadle.planning.v1.planning_service_pb2_grpc import PlanningServiceServicer

_PAGE: Final = 50
_PAGE_MOST: Final = 200
_NODES: Final = 200
_NODES_MOST: Final = 500
_Context = grpc.aio.ServicerContext[Any, Any]


class BranchMethods(PlanningServiceServicer):
    """Thin: translate, call, translate."""

    def __init__(
        self,
        branching: Branching,
        driving: Driving,
        comparing: Comparing,
        lateness: Lateness,
        reads: Reads,
        page_key: bytes,
    ) -> None:
        self._branching = branching
        self._driving = driving
        self._comparing = comparing
        self._lateness = lateness
        self._reads = reads
        self._turn_tokens = PageTokens(page_key, "turns")
        self._branch_tokens = PageTokens(page_key, "branches")
        self._graph_tokens = PageTokens(page_key, "graph")

    async def ListTurns(self, request: pb.ListTurnsRequest, context: _Context) -> pb.ListTurnsResponse:
        """A page."""
        session = names.session_id(request.parent, "parent")
        tenant = caller_for(READERS, session).tenant
        size = page_size(request.page_size, default=_PAGE, most=_PAGE_MOST)
        position = self._turn_tokens.decode(request.page_token, [tenant, session])
        found = await self._reads.turns(tenant, session, 0 if position is None else position["number"], size + 1)
        answer = pb.ListTurnsResponse(turns=[translate.turn(one) for one in found[:size]])
        if len(found) > size:
            place = {"number": found[size - 1].turn.number}
            answer.next_page_token = self._turn_tokens.encode(place, [tenant, session])
        return answer

    async def GetRestoreState(self, request: pb.GetRestoreStateRequest, context: _Context) -> pb.Workspace:
        """As it was."""
        session, number = names.turn(request.name)
        tenant = caller_for(READERS, session).tenant

        async def restored() -> Restored:
            return await self._reads.restored(tenant, session, number)

        return translate.workspace(await self._lateness.unless_over(tenant, session, restored))

    async def BranchSession(self, request: pb.BranchSessionRequest, context: _Context) -> pb.Branch:
        """Continue from here."""
        asked = command(request, names.session_id(request.name), PEOPLE)
        turn = given(request, "turn")
        if turn is None or turn < 0:
            raise Invalid("INVALID_ARGUMENT", "turn must be given, 0 or more", field="turn")

        async def branch() -> Continued:
            return await self._branching.branch(asked, turn, request.fork, request.title)

        continued = await self._lateness.unless_over(asked.tenant, asked.session_id, branch)
        if continued.branch is None:
            return pb.Branch(session_id=continued.session_id, state=pb.Branch.STATE_READY, turn=turn)
        return translate.branch(await self._driving.drive_now(continued.branch))

    async def ListBranches(self, request: pb.ListBranchesRequest, context: _Context) -> pb.ListBranchesResponse:
        """A page."""
        session = names.session_id(request.parent, "parent")
        tenant = caller_for(READERS, session).tenant
        size = page_size(request.page_size, default=_PAGE, most=_PAGE_MOST)
        position = self._branch_tokens.decode(request.page_token, [tenant, session])
        after = None if position is None else (datetime.fromisoformat(position["time"]), str(position["id"]))
        found = await self._reads.branches(tenant, session, after, size + 1)
        answer = pb.ListBranchesResponse(branches=[translate.branch(one) for one in found[:size]])
        if len(found) > size:
            last = found[size - 1]
            place = {"time": last.created_at.astimezone(UTC).isoformat(), "id": last.session_id}
            answer.next_page_token = self._branch_tokens.encode(place, [tenant, session])
        return answer

    async def GetBranch(self, request: pb.GetBranchRequest, context: _Context) -> pb.Branch:
        """How this session was made."""
        session = names.session_id(request.name)
        found = await self._reads.branch(caller_for(READERS, session).tenant, session)
        if found is None:
            raise branch_not_found()
        return translate.branch(found)

    async def GetGraph(self, request: pb.GetGraphRequest, context: _Context) -> pb.Graph:
        """A page of nodes, and all heads."""
        session = names.session_id(request.name)
        tenant = caller_for(READERS, session).tenant
        size = page_size(request.page_size, default=_NODES, most=_NODES_MOST)
        position = self._graph_tokens.decode(request.page_token, [tenant, session])
        after = None if position is None else GraphPlace(datetime.fromisoformat(position["time"]), str(position["id"]))
        found = await self._reads.graph(tenant, session, after, size)
        token = ""
        if found.more:
            last = found.nodes[-1].turn
            place = {"time": last.begun_at.astimezone(UTC).isoformat(), "id": last.turn_id}
            token = self._graph_tokens.encode(place, [tenant, session])
        return translate.graph(found, token)

    async def DiffBranches(self, request: pb.DiffBranchesRequest, context: _Context) -> pb.PlanDiff:
        """What the other has that this has not."""
        session, other = names.session_id(request.name), names.bare_session_id(request.other, "other")
        tenant = caller_for(READERS, session, other).tenant
        return translate.diff(await self._comparing.diff(tenant, session, other))

    async def CherryPick(self, request: pb.CherryPickRequest, context: _Context) -> pb.Plan:
        """Takes steps over."""
        asked = command(request, names.session_id(request.name), PEOPLE)
        wanted = Wanted(
            names.bare_session_id(request.source, "source"),
            list(request.origin_ids),
            request.objective,
            given(request, "expected_version"),
            given(request, "source_version"),
        )

        async def pick() -> Planned:
            return await self._comparing.pick(asked, wanted)

        planned = await self._lateness.unless_over(asked.tenant, asked.session_id, pick)
        return translate.plan(planned.steps, planned.version)
