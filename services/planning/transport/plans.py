"""PlanningService: objective and plan."""

from __future__ import annotations

from typing import Any

import grpc

from services.planning.application.lateness import Lateness
from services.planning.application.objectives import Objectives
from services.planning.application.plans import Planned, Plans
from services.planning.application.ports import Reads
from services.planning.application.telling import Telling
from services.planning.transport import names, translate
from services.planning.transport.access import AUTHORS, PEOPLE, READERS, caller_for
from services.planning.transport.calling import command, given
from treadle.planning.v1 import planning_service_pb2 as pb
from treadle.planning.v1.planning_service_pb2_grpc import PlanningServiceServicer

_Context = grpc.aio.ServicerContext[Any, Any]


class PlanMethods(PlanningServiceServicer):
    """Thin: translate, call, translate."""

    def __init__(
        self, plans: Plans, objectives: Objectives, telling: Telling, lateness: Lateness, reads: Reads
    ) -> None:
        self._plans = plans
        self._objectives = objectives
        self._telling = telling
        self._lateness = lateness
        self._reads = reads

    async def GetObjective(self, request: pb.GetObjectiveRequest, context: _Context) -> pb.Objective:
        """As it is."""
        session = names.session_id(request.name)
        live = await self._reads.live(caller_for(READERS, session).tenant, session)
        return translate.objective(live.workspace)

    async def SetObjective(self, request: pb.SetObjectiveRequest, context: _Context) -> pb.Objective:
        """Sets or clears it."""
        asked = command(request, names.session_id(request.name), AUTHORS)
        done = await self._objectives.set(asked, request.text, request.force, request.etag)
        return translate.objective(done.workspace, done.notice)

    async def GetPlan(self, request: pb.GetPlanRequest, context: _Context) -> pb.Plan:
        """As it is."""
        session = names.session_id(request.name)
        live = await self._reads.live(caller_for(READERS, session).tenant, session)
        return translate.plan(live.steps, live.workspace.plan_version)

    async def AddTodos(self, request: pb.AddTodosRequest, context: _Context) -> pb.Plan:
        """Adds steps."""
        asked = command(request, names.session_id(request.name), AUTHORS)
        parent, expected = given(request, "parent_index"), given(request, "expected_version")
        return _plan(await self._plans.add(asked, list(request.items), parent, expected))

    async def ToggleTodos(self, request: pb.ToggleTodosRequest, context: _Context) -> pb.Plan:
        """Done or not."""
        asked = command(request, names.session_id(request.name), AUTHORS)
        done, expected = given(request, "done"), given(request, "expected_version")
        return _plan(await self._plans.toggle(asked, list(request.indices), done, expected))

    async def EditTodos(self, request: pb.EditTodosRequest, context: _Context) -> pb.Plan:
        """Other texts."""
        asked = command(request, names.session_id(request.name), AUTHORS)
        edits = [(one.index, one.text) for one in request.edits]
        return _plan(await self._plans.edit(asked, edits, given(request, "expected_version")))

    async def RemoveTodos(self, request: pb.RemoveTodosRequest, context: _Context) -> pb.Plan:
        """Subtrees."""
        asked = command(request, names.session_id(request.name), AUTHORS)
        expected = given(request, "expected_version")
        return _plan(await self._plans.remove(asked, list(request.indices), expected))

    async def MoveSteps(self, request: pb.MoveStepsRequest, context: _Context) -> pb.Plan:
        """A subtree."""
        asked = command(request, names.session_id(request.name), AUTHORS)
        after, parent = given(request, "after_index"), given(request, "parent_index")
        expected = given(request, "expected_version")

        async def move() -> Planned:
            return await self._plans.move(asked, request.index, after, parent, expected)

        return _plan(await self._lateness.unless_over(asked.tenant, asked.session_id, move))

    async def ReorderSteps(self, request: pb.ReorderStepsRequest, context: _Context) -> pb.Plan:
        """The flat drag."""
        asked = command(request, names.session_id(request.name), PEOPLE)
        expected = given(request, "expected_version")

        async def reorder() -> Planned:
            return await self._plans.reorder(asked, list(request.step_ids), expected)

        return _plan(await self._lateness.unless_over(asked.tenant, asked.session_id, reorder))

    async def ComposePlanContext(self, request: pb.ComposePlanContextRequest, context: _Context) -> pb.PlanContext:
        """In words, once a turn."""
        session = names.session_id(request.name)
        turn_id = names.turn_id(request.turn_id, "turn_id")
        made = await self._telling.compose(caller_for(READERS, session), session, turn_id)
        return translate.context(session, made)

    async def GetPlanContext(self, request: pb.GetPlanContextRequest, context: _Context) -> pb.PlanContext:
        """As it was told."""
        session = names.session_id(request.name)
        turn_id = names.turn_id(request.turn_id, "turn_id")
        tenant = caller_for(READERS, session).tenant
        return translate.context(session, await self._telling.told(tenant, session, request.turn, turn_id))


def _plan(planned: Planned) -> pb.Plan:
    return translate.plan(planned.steps, planned.version)
