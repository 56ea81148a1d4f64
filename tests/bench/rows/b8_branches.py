"""B8: restore and branch at turn 10 and at turn 1,000 of a conversation with a plan of 200 steps and ten documents.

Through planning's gRPC, one client. The raw limit is the same at turn 10, so that the ratio is the growth itself.
Branches are measured twice: planning's own part, streaming's being answered at once by a service that keeps nothing;
and the whole, with streaming's half.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from time import perf_counter
from typing import Any

import asyncpg
import grpc

from services.engines import engines
from tests.bench.databases import Databases
from tests.bench.deployables import Deployable, site
from tests.bench.figures import AtMost, Figure, RatioAtLeast
from tests.bench.workbench import Workbench
from tests.fakes.fork_service import FakeForks, serving_forks
from tests.ports import free_port
from treadle.planning.v1 import planning_service_pb2 as pb
from treadle.planning.v1.planning_service_pb2_grpc import PlanningServiceStub
from treadle.streaming.v1 import session_service_pb2 as sessions
from treadle.streaming.v1.session_service_pb2_grpc import SessionServiceStub

ROW = "B8"
ABOUT = "restore and branch at turn 10 and 1,000, plan of 200 steps, ten documents of 50 kB"
_FEW = 10
_MOST_GROWTH = 1.3
_STEPS = 200
_WORDS = ("alpha", "beta", "gamma", "delta", "plan", "build", "look", "ship", "test", "learn", "ask", "tell", "read")
_SIZES = "SELECT sum(pg_total_relation_size(name::regclass)) FROM unnest(ARRAY['blobs', 'turns']) AS t(name)"
_DISTINCT = "SELECT sum(length(data)) FROM blobs"


async def measure(bench: Workbench) -> list[Figure]:
    """Restores and branches a second, and what the turns cost."""
    turns = bench.load(1_000, 100)
    async with AsyncExitStack() as stack:
        servers = await stack.enter_async_context(engines(bench.room(ROW) / "engines"))
        databases = Databases(servers)
        urls = {name: await databases.migrated(name) for name in ("planning", "streaming")}
        place = await stack.enter_async_context(site(bench.room(ROW), servers.nats_url, bench.profile))
        forks = await stack.enter_async_context(serving_forks(FakeForks(), None))
        streaming_at = f"127.0.0.1:{free_port()}"
        whole = await place.service("planning", urls["planning"], TREADLE_STREAMING_TARGET=streaming_at)
        alone = await place.service("planning", urls["planning"], TREADLE_STREAMING_TARGET=forks)
        told = {"TREADLE_PLANNING_TARGET": whole.address, "TREADLE_LISTEN": streaming_at}
        streaming = await place.service("streaming", urls["streaming"], **told)

        async def stub(deployable: Deployable, kind: Callable[[Any], Any]) -> Any:
            return kind(await stack.enter_async_context(grpc.aio.insecure_channel(deployable.address)))

        planning, talking = await stub(whole, PlanningServiceStub), await stub(streaming, SessionServiceStub)
        short = await _conversation(planning, talking, _FEW + 1)
        bench.say(f"{ROW}: a conversation of {turns + 1:,} turns")
        long = await _conversation(planning, talking, turns + 1)
        cost = await _cost(urls["planning"])
        by_planning = await stub(alone, PlanningServiceStub)
        places = (long, turns), (short, _FEW)
        each, branches = bench.load(100, 10), bench.load(8, 2)
        return [
            await _growth(bench, "restores/s", each, lambda at: _restore(planning, at), *places),
            await _growth(bench, "branches/s, planning", branches, lambda at: _branch(by_planning, at), *places),
            await _growth(bench, "branches/s, with streaming", branches, lambda at: _branch(planning, at), *places),
            Figure(ROW, f"bytes of {turns:,} turns by distinct content", "", [cost], AtMost(2)),
        ]


_At = tuple[str, int]


async def _growth(
    bench: Workbench,
    what: str,
    each: int,
    call: Callable[[_At], Awaitable[object]],
    late: _At,
    early: _At,
) -> Figure:
    async def rate(at: _At) -> float:
        await call(at)
        began = perf_counter()
        for _ in range(each):
            await call(at)
        return each / (perf_counter() - began)

    values, raws = await bench.interleaved(ROW, lambda _: rate(late), lambda _: rate(early))
    details = {"raw": f"the same at turn {early[1]}"}
    return Figure(ROW, f"{what}, at turn {late[1]:,}", "/s", values, RatioAtLeast(1 / _MOST_GROWTH), raws, details)


async def _restore(planning: Any, at: _At) -> None:
    session, turn = at
    answer = await planning.GetRestoreState(pb.GetRestoreStateRequest(name=f"sessions/{session}/turns/{turn}"))
    assert len(answer.plan.steps) == _STEPS


async def _branch(planning: Any, at: _At) -> None:
    session, turn = at
    answer = await planning.BranchSession(pb.BranchSessionRequest(name=f"sessions/{session}", turn=turn))
    assert answer.state == pb.Branch.STATE_READY, answer


async def _conversation(planning: Any, talking: Any, turns: int) -> str:
    """A session of so many turns, each of which changes the plan; every fifth the objective, every fiftieth a
    document."""
    made = await talking.CreateSession(sessions.CreateSessionRequest(adapter="external"))
    name = f"sessions/{made.id}"
    for part in range(_STEPS // 50):
        items = [_prose(part * 50 + one, 80) for one in range(50)]
        await planning.AddTodos(pb.AddTodosRequest(name=name, items=items))
    for at in range(10):
        await planning.PutDocument(pb.PutDocumentRequest(name=f"{name}/documents/d{at}", content=_prose(at, 50_000)))
    for turn in range(1, turns + 1):
        await talking.OpenTurn(sessions.OpenTurnRequest(name=name, text=f"Turn {turn}"))
        await planning.ToggleTodos(pb.ToggleTodosRequest(name=name, indices=[turn % _STEPS + 1]))
        if turn % 5 == 0:
            await planning.SetObjective(pb.SetObjectiveRequest(name=name, text=f"Goal {turn}"))
        if turn % 50 == 0:
            key = f"{name}/documents/d{turn // 50 % 10}"
            await planning.PutDocument(pb.PutDocumentRequest(name=key, content=_prose(turn, 50_000)))
        await talking.CloseTurn(sessions.CloseTurnRequest(name=name, text=f"Answer {turn}"))
    return str(made.id)


async def _cost(url: str) -> float:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("VACUUM FULL blobs, turns")
        return float(await connection.fetchval(_SIZES)) / float(await connection.fetchval(_DISTINCT))
    finally:
        await connection.close()


def _prose(seed: int, length: int) -> str:
    """Text that compresses as text does."""
    rng = random.Random(seed)
    made = ""
    while len(made) < length:
        made += f"{rng.choice(_WORDS)}{rng.randrange(10**6)} "
    return made[:length]
