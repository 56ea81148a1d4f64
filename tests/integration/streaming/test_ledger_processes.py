"""The ledger's lock across processes (design/streaming.md D1.6; D1.8 scenarios 14 and 15)."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from services.kernel.postgres import Database
from tests.integration.streaming.agent_runner import running
from tests.integration.streaming.client import Streaming
from tests.integration.streaming.test_gates import JOINS, answer, ledger
from tests.integration.streaming.test_turns import prompt
from treadle.streaming.v1 import session_service_pb2 as pb

ROOT = Path(__file__).resolve().parents[3]
WRITER = "tests.integration.streaming.ledger_writer"


async def _writer(url: str, name: str, count: int, who: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", WRITER, url, "default", name.partition("/")[2], str(count), who),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )


async def _entries(streaming: Streaming, name: str) -> list[pb.LedgerEntry]:
    found: list[pb.LedgerEntry] = []
    token = ""
    while True:
        request = pb.GetLedgerRequest(name=name, page_size=150, page_token=token)
        page = await streaming.sessions.GetLedger(request)
        found += page.entries
        token = page.next_page_token
        if not token:
            return found


async def test_d1_8_15_two_processes_with_200_writes_each_lose_nothing(streaming: Streaming, database_url: str) -> None:
    name = await streaming.session()
    writers = [await _writer(database_url, name, 200, who) for who in ("one", "two")]
    await asyncio.gather(*(one.communicate() for one in writers))
    assert [one.returncode for one in writers] == [0, 0]
    entries = await _entries(streaming, name)
    assert [entry.sequence for entry in entries] == list(range(1, 401))
    assert len({(entry.by, entry.joins_json) for entry in entries}) == 400


async def test_d1_8_14_kill_9_of_a_writer_leaves_whole_sets_only_and_no_lock(
    streaming: Streaming, database_url: str, database: Database
) -> None:
    name = await streaming.session()
    for round_ in range(3):
        writer = await _writer(database_url, name, 500, f"w{round_}")
        assert writer.stdout is not None
        for _ in range(5 + 20 * round_):
            await writer.stdout.readline()
        writer.kill()
        await writer.wait()
        entries = await _entries(streaming, name)
        assert [entry.sequence for entry in entries] == list(range(1, len(entries) + 1))
    async with running(streaming) as runner:
        await prompt(streaming, name)
        held = await runner.take()
        await held.command("prompt")
        gate = await held.ask("j", "join-review", JOINS)
        await answer(streaming, name, gate.gate_id, value="continue")
        kept = await ledger(streaming, name)
        assert kept.current.sequence == len(entries) + 1
        assert kept.current.gate_id == gate.gate_id
