"""What a test says to the planning service, over a real channel."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import grpc
import pytest

from services.kernel.clock import SystemClock
from services.kernel.errors import Refusal
from services.kernel.grpc_errors import refusal_from
from services.kernel.ids import new_id
from services.kernel.lifecycle import Lifecycle
from services.kernel.principal import Authenticator, Principal
from treadle.planning.v1 import planning_service_pb2 as pb
from treadle.planning.v1 import workspace_service_pb2 as internal
from treadle.planning.v1.planning_service_pb2_grpc import PlanningServiceStub
from treadle.planning.v1.workspace_service_pb2_grpc import WorkspaceServiceStub

SECRET = "a-secret-of-the-planning-tests-0123456789"
_MINT = Authenticator(SECRET, SystemClock())


def token(subject: str = "ada", kind: Any = "user", *roles: str, tenant: str = "acme") -> str:
    """An `authorization` value."""
    who = Principal(tenant, subject, kind, frozenset(roles or ("reviewer",)))
    return f"Bearer {_MINT.mint(who, timedelta(minutes=5))}"


class Planning:
    """A replica, asked by one caller: by default a person of the tenant `acme`."""

    def __init__(self, channel: grpc.aio.Channel, life: Lifecycle | None = None, authorization: str = "") -> None:
        self.channel = channel
        self.life = life
        self.authorization = authorization or token()
        self._stub: Any = PlanningServiceStub(channel)
        self._internal: Any = WorkspaceServiceStub(channel)

    def by(self, authorization: str) -> Planning:
        """The same replica, asked by another one."""
        return Planning(self.channel, self.life, authorization)

    def agent(self, session: str, tenant: str = "acme") -> Planning:
        """The same replica, asked by the session's agent."""
        return self.by(token(session, "agent", "agent", tenant=tenant))

    def streaming(self, tenant: str = "acme") -> Planning:
        """The same replica, asked by the streaming service."""
        return self.by(token("streaming", "service", "reviewer", tenant=tenant))

    async def call(self, method: str, request: Any) -> Any:
        """Any RPC of PlanningService. Raises the refusal."""
        return await _answer(getattr(self._stub, method), request, self.authorization)

    async def open(self, session: str = "", tenant: str = "acme") -> str:
        """A session with a workspace."""
        session = session or new_id("ses")
        await self.streaming(tenant).internal("EnsureWorkspace", internal.EnsureWorkspaceRequest(session_id=session))
        return session

    async def internal(self, method: str, request: Any) -> Any:
        """Any RPC of WorkspaceService."""
        return await _answer(getattr(self._internal, method), request, self.authorization)

    async def begin(self, session: str, number: int, turn_id: str = "") -> str:
        """A turn begins; answers its id."""
        turn_id = turn_id or new_id("trn")
        request = internal.BeginTurnRequest(session_id=session, number=number, turn_id=turn_id)
        await self.streaming().internal("BeginTurn", request)
        return turn_id

    async def plan(self, session: str) -> pb.Plan:
        """The plan."""
        answer: pb.Plan = await self.call("GetPlan", pb.GetPlanRequest(name=f"sessions/{session}"))
        return answer

    async def add(self, session: str, *items: str, under: int | None = None, **more: Any) -> pb.Plan:
        """Adds steps."""
        request = pb.AddTodosRequest(name=f"sessions/{session}", items=items, parent_index=under, **more)
        answer: pb.Plan = await self.call("AddTodos", request)
        return answer

    async def toggle(self, session: str, *indices: int, **more: Any) -> pb.Plan:
        """Toggles steps."""
        request = pb.ToggleTodosRequest(name=f"sessions/{session}", indices=indices, **more)
        answer: pb.Plan = await self.call("ToggleTodos", request)
        return answer

    async def edit(self, session: str, index: int, text: str, **more: Any) -> pb.Plan:
        """Another text."""
        edits = [pb.TodoEdit(index=index, text=text)]
        answer: pb.Plan = await self.call(
            "EditTodos", pb.EditTodosRequest(name=f"sessions/{session}", edits=edits, **more)
        )
        return answer

    async def remove(self, session: str, *indices: int, **more: Any) -> pb.Plan:
        """Removes subtrees."""
        request = pb.RemoveTodosRequest(name=f"sessions/{session}", indices=indices, **more)
        answer: pb.Plan = await self.call("RemoveTodos", request)
        return answer

    async def move(self, session: str, index: int, **more: Any) -> pb.Plan:
        """Moves a subtree."""
        answer: pb.Plan = await self.call(
            "MoveSteps", pb.MoveStepsRequest(name=f"sessions/{session}", index=index, **more)
        )
        return answer

    async def reorder(self, session: str, ids: Sequence[str], **more: Any) -> pb.Plan:
        """The flat drag."""
        request = pb.ReorderStepsRequest(name=f"sessions/{session}", step_ids=ids, **more)
        answer: pb.Plan = await self.call("ReorderSteps", request)
        return answer

    async def objective(self, session: str) -> pb.Objective:
        """The objective."""
        answer: pb.Objective = await self.call("GetObjective", pb.GetObjectiveRequest(name=f"sessions/{session}"))
        return answer

    async def aim(self, session: str, text: str, **more: Any) -> pb.Objective:
        """Sets the objective."""
        request = pb.SetObjectiveRequest(name=f"sessions/{session}", text=text, **more)
        answer: pb.Objective = await self.call("SetObjective", request)
        return answer

    async def put(self, session: str, key: str, content: str, **more: Any) -> pb.Document:
        """Writes a document."""
        request = pb.PutDocumentRequest(name=f"sessions/{session}/documents/{key}", content=content, **more)
        answer: pb.Document = await self.call("PutDocument", request)
        return answer

    async def drop(self, session: str, key: str, **more: Any) -> None:
        """Deletes a document."""
        await self.call("DeleteDocument", pb.DeleteDocumentRequest(name=f"sessions/{session}/documents/{key}", **more))

    async def lock(self, session: str, key: str, locked: bool = True) -> pb.Document:
        """Locks a document."""
        request = pb.LockDocumentRequest(name=f"sessions/{session}/documents/{key}", locked=locked)
        answer: pb.Document = await self.call("LockDocument", request)
        return answer

    async def compose(self, session: str, turn_id: str = "") -> pb.PlanContext:
        """What the agent is told; to a person it is only shown."""
        request = pb.ComposePlanContextRequest(name=f"sessions/{session}", turn_id=turn_id)
        answer: pb.PlanContext = await self.call("ComposePlanContext", request)
        return answer

    async def told(self, session: str, turn: int = 0, turn_id: str = "") -> pb.PlanContext:
        """What the agent was told in a turn."""
        request = pb.GetPlanContextRequest(name=f"sessions/{session}", turn=turn, turn_id=turn_id)
        answer: pb.PlanContext = await self.call("GetPlanContext", request)
        return answer

    async def restore(self, session: str, turn: int) -> pb.Workspace:
        """What going on from the turn begins with."""
        request = pb.GetRestoreStateRequest(name=f"sessions/{session}/turns/{turn}")
        answer: pb.Workspace = await self.call("GetRestoreState", request)
        return answer

    async def branch(self, session: str, turn: int, **more: Any) -> pb.Branch:
        """Continue from here."""
        request = pb.BranchSessionRequest(name=f"sessions/{session}", turn=turn, **more)
        answer: pb.Branch = await self.call("BranchSession", request)
        return answer

    async def ready(self, session: str) -> pb.Branch:
        """Waits until a branch is made, or has failed."""
        async with asyncio.timeout(60):
            while True:
                request = pb.GetBranchRequest(name=f"sessions/{session}")
                answer: pb.Branch = await self.call("GetBranch", request)
                if answer.state != pb.Branch.STATE_FORKING:
                    return answer
                await asyncio.sleep(0.02)

    async def turns(self, session: str) -> list[pb.PlanTurn]:
        """All turns."""
        found: list[pb.PlanTurn] = []
        page = ""
        while True:
            request = pb.ListTurnsRequest(parent=f"sessions/{session}", page_token=page)
            answer = await self.call("ListTurns", request)
            found += answer.turns
            page = answer.next_page_token
            if not page:
                return found

    async def diff(self, session: str, other: str) -> pb.PlanDiff:
        """What the other one has that this one has not."""
        request = pb.DiffBranchesRequest(name=f"sessions/{session}", other=other)
        answer: pb.PlanDiff = await self.call("DiffBranches", request)
        return answer

    async def pick(self, session: str, source: str, *origin_ids: str, **more: Any) -> pb.Plan:
        """Takes steps over."""
        request = pb.CherryPickRequest(name=f"sessions/{session}", source=source, origin_ids=origin_ids, **more)
        answer: pb.Plan = await self.call("CherryPick", request)
        return answer

    async def graph(self, session: str, **more: Any) -> pb.Graph:
        """A page of the graph."""
        answer: pb.Graph = await self.call("GetGraph", pb.GetGraphRequest(name=f"sessions/{session}", **more))
        return answer


async def _answer(method: Any, request: Any, authorization: str) -> Any:
    try:
        return await method(request, timeout=60, metadata=(("authorization", authorization),))
    except grpc.aio.AioRpcError as error:
        refusal = refusal_from(error)
        if refusal is None:
            raise
        raise refusal from None


@asynccontextmanager
async def refused(reason: str) -> AsyncIterator[pytest.ExceptionInfo[Refusal]]:
    """What is in it is refused for this reason."""
    with pytest.raises(Refusal) as caught:
        yield caught
    assert caught.value.reason == reason


def shape(plan: pb.Plan) -> list[tuple[str, int, bool]]:
    """(text, depth, done) of each step."""
    return [(one.text, one.depth, one.done) for one in plan.steps]


def texts(plan: pb.Plan) -> list[str]:
    """In order."""
    return [one.text for one in plan.steps]


def numbered(plan: pb.Plan) -> list[str]:
    """`number text` of each step."""
    return [f"{one.number} {one.text}" for one in plan.steps]


State = tuple[str, list[tuple[str, int, bool, str]], list[tuple[str, str, bool]]]


def state(workspace: pb.Workspace) -> State:
    """A workspace without what is not kept: objective, plan with lineage, documents."""
    return (
        workspace.objective,
        [(one.text, one.depth, one.done, one.origin_id) for one in workspace.plan.steps],
        [(one.key, one.content, one.locked) for one in workspace.documents],
    )
