"""PUB12: branch and origin share nothing, also after a kill -9 of the server, which starts anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from services.kernel.postgres import Database
from tests.integration.planning.client import refused, shape, state
from tests.integration.planning.conftest import Forks
from tests.integration.planning.process import PlanningProcess, planning_process
from tests.integration.planning.test_snapshots import end


@pytest.mark.timeout(400)
async def test_pub12_branches_start_as_at_their_turn_and_show_only_their_own_edits(
    database_url: str, nats_url: str, forks: Forks, database: Database, tmp_path: Path
) -> None:
    async with planning_process(database_url, nats_url, forks.address, tmp_path) as process:
        await _share_nothing(process, database)


async def _share_nothing(process: PlanningProcess, database: Database) -> None:
    planning = process.planning
    origin = await planning.open()
    for turn in (1, 2, 3, 4):
        await planning.begin(origin, turn)
        agent = planning.agent(origin)
        await agent.aim(origin, f"objective {turn}")
        await agent.add(origin, f"step {turn}", f"other {turn}")
        await agent.add(origin, f"nested {turn}", under=1)
        await agent.toggle(origin, 2, done=True)
        await end(database, origin)
    at_two = state(await planning.restore(origin, 2))
    at_four = state(await planning.restore(origin, 4))
    b = (await planning.branch(origin, 2)).session_id
    c = (await planning.branch(origin, 2)).session_id
    newest = (await planning.branch(origin, 4, fork=True)).session_id
    assert state(await planning.restore(b, 2)) == state(await planning.restore(c, 2)) == at_two
    assert state(await planning.restore(newest, 4)) == at_four

    await planning.aim(b, "of b")
    await planning.toggle(b, 1)
    ids = [one.id for one in (await planning.plan(c)).steps]
    await planning.reorder(c, list(reversed(ids)))
    await planning.begin(origin, 5)
    await planning.agent(origin).add(origin, "step 5")
    await end(database, origin)

    await process.kill()
    await process.start()
    plans = {name: shape(await planning.plan(one)) for name, one in (("origin", origin), ("b", b), ("c", c))}
    was = [row[:3] for row in at_two[1]]
    assert plans["b"] == [(was[0][0], was[0][1], not was[0][2]), *was[1:]]
    assert plans["c"] == list(reversed(was))
    assert plans["origin"] == [*(row[:3] for row in at_four[1]), ("step 5", 0, False)]
    assert (await planning.objective(b)).text == "of b"
    assert (await planning.objective(c)).text == at_two[0]
    assert (await planning.objective(origin)).text == "objective 4"
    assert state(await planning.restore(origin, 2)) == at_two
    for branch in (b, c):
        async with refused("TURN_NOT_FOUND"):
            await planning.restore(branch, 3)
        await planning.begin(branch, 3)
        assert state(await planning.restore(branch, 1)) == state(await planning.restore(origin, 1))
        kept = await planning.restore(branch, 2)  # turn 2 of a branch has what was edited in it since (C2)
        assert shape(kept.plan) == plans["b" if branch == b else "c"]
    assert state(await planning.restore(newest, 2)) == at_two
    assert state(await planning.restore(newest, 4)) == at_four
