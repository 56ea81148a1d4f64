"""`treadle up` as a person meets it: refusals that say what to do, a stop that leaves nothing, a quick second start."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import psutil
import pytest

from tests.e2e.matter import Matters
from tests.ports import free_port
from tests.stack import Process, running_stack, thrown_away

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(300)]


async def _refused(tmp_path: Path, **told: str) -> tuple[int, str]:
    """Starts it, waits for its end, answers exit code and output."""
    environment = {"TREADLE_HOME": str(tmp_path / "home"), "TREADLE_OPEN_BROWSER": "0", **told}
    process = Process("treadle up", ["-m", "services.cli.main", "up"], environment, tmp_path / "refused.out")
    await process.start()
    async with asyncio.timeout(60):
        while process.running:
            await asyncio.sleep(0.02)
    return await process.end(), process.tail()


async def test_a_second_up_on_the_same_folder_is_refused_and_the_first_goes_on(tmp_path: Path) -> None:
    async with running_stack(tmp_path) as stack, stack.client() as client:
        code, said = await _refused(tmp_path, TREADLE_PORT="0")
        assert code == 1
        assert str(stack.process.pid) in said
        assert "in use" in said
        assert "Traceback" not in said
        await Matters(client).finished("still here")


async def test_a_told_port_that_is_taken_is_refused_by_name(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, said = await _refused(tmp_path, TREADLE_PORT=str(port))
    assert (code, str(port) in said, "Traceback" in said) == (1, True, False)
    await thrown_away(tmp_path / "home")


async def test_settings_that_are_wrong_are_told_at_once_and_nothing_is_started(tmp_path: Path) -> None:
    code, said = await _refused(tmp_path, TREADLE_PORT="0", TREADLE_LOG_LEVEL="loud", TREADLE_AUTH_SECRET="short")
    assert code == 2
    assert "TREADLE_LOG_LEVEL" in said
    assert "TREADLE_AUTH_SECRET" in said
    assert "short" not in said.replace("TREADLE_AUTH_SECRET", "").replace("shorter", "").replace("too short", "")
    assert not (tmp_path / "home").exists()


async def test_a_stop_ends_with_zero_and_leaves_no_process_behind(tmp_path: Path) -> None:
    async with running_stack(tmp_path, demo=True) as stack:
        children = psutil.Process(stack.process.pid).children(recursive=True)
        assert {"postgres", "nats-server"} <= {child.name() for child in children}
        assert await stack.stop() == 0
        assert [child for child in children if child.is_running()] == []


async def test_what_was_there_is_there_after_a_restart_on_another_port(tmp_path: Path) -> None:
    async with running_stack(tmp_path) as stack:
        async with stack.client() as client:
            done = await Matters(client).finished("keep me")
        assert await stack.stop() == 0
        stack.port = free_port()
        await stack.start()
        async with stack.client() as client:
            card = await Matters(client).card(done["id"])
            assert (card["state"], card["etag"]) == ("done", done["etag"])
