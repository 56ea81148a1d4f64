"""`verify` of streaming: silent after a busy run, and each rule finds its damage (D1.1, S.2, S.5–S.7)."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from services.kernel.postgres import Database
from services.streaming.adapters.checks import CHECKS
from tests.integration.damaging import UNSENT_FACT, assert_each_is_seen, assert_sound
from tests.integration.streaming.agent_runner import running
from tests.integration.streaming.client import Streaming
from tests.integration.streaming.test_external import close_turn, open_turn
from tests.integration.streaming.test_forks import Forker, begun, turns
from tests.integration.streaming.test_gates import CHOICE, CONFIRM, JOINS, answer
from tests.integration.streaming.test_turns import prompt
from treadle.streaming.v1 import session_service_pb2 as pb

ORIGIN = "(SELECT id FROM sessions WHERE title = 'the origin' AND forked_from = '')"
QUIET = "(SELECT id FROM sessions WHERE title = 'quiet')"
NEWEST = f"(SELECT max(sequence) FROM messages WHERE session_id = {ORIGIN})"

DAMAGES = {
    "session-state": f"UPDATE sessions SET outcome = 'aborted' WHERE id = {ORIGIN}",
    "turn-numbers": f"UPDATE sessions SET turn_number = turn_number - 1 WHERE id = {ORIGIN}",
    "turn-holes": f"UPDATE sessions SET turn_number = turn_number + 1 WHERE id = {ORIGIN}",
    "turn-end": f"UPDATE turns SET outcome = '' WHERE number = 2 AND session_id = {ORIGIN}",
    "turn-open": f"""
        INSERT INTO turns (tenant, session_id, id, state, text, asked_by, after_seq, created_at, begun, start_until)
        SELECT tenant, id, 'trn_stray', 'starting', 'x', 'x', 0, now(), false, now() + interval '1 hour'
        FROM sessions WHERE id = {QUIET}
    """,
    "turn-starting": f"UPDATE sessions SET starting = 'trn_none' WHERE id = {QUIET}",
    "fork": f"UPDATE sessions SET fork_turn = 1 WHERE id = {ORIGIN}",
    "stretches": "UPDATE stretches SET messages = messages - 1 WHERE high = 2",
    "waiting": "UPDATE gates SET state = 'cancelled', closed_at = now() WHERE state = 'open'",
    "ledger-sequence": "UPDATE ledger SET sequence = 5",
    "ledger-gate": "DELETE FROM ledger",
    "message-sequence": f"UPDATE messages SET sequence = 99 WHERE sequence = {NEWEST} AND session_id = {ORIGIN}",
    "message-turn": f"""
        INSERT INTO messages SELECT tenant, id, {NEWEST} + 1, 'trn_none', 'user', 'x', false, now()
        FROM sessions WHERE id = {ORIGIN}
    """,
    "turn-messages": f"DELETE FROM messages WHERE sequence = {NEWEST} AND session_id = {ORIGIN}",
    "agent-job": "UPDATE jobs SET state = 'done', lease_until = NULL WHERE state = 'leased'",
    "job-session": """
        INSERT INTO jobs (tenant, id, kind, subject, state, payload)
        VALUES ('default', 'job_stray', 'session.scripted', 'ses_gone', 'queued', '{}')
    """,
    "commands": f"UPDATE sessions SET command_seq = command_seq + 1 WHERE id = {ORIGIN}",
    "state-digest": "UPDATE agent_states SET data = 'x'",
    "state-kept": "DELETE FROM agent_states",
    "stream-tail": "UPDATE sessions SET tail_generation = generation + 1",
    "unsent-events": "UPDATE session_outbox SET sent_seq = NULL, created_at = now() - interval '1 hour'",
    "unsent-facts": UNSENT_FACT,
}


@pytest.fixture
async def busy(streaming: Streaming, database: Database) -> AsyncIterator[Database]:
    """After turns that end in every way, gates, a ledger, branches, agents' states, and a session that was deleted."""
    forker = Forker(streaming)
    async with running(streaming) as runner:
        origin, _ = await begun(streaming, runner, 3)
        await streaming.session(title="quiet")
        branch = (await forker.ready(origin, 2)).name
        first = await prompt(streaming, branch, "on")
        held = await runner.take()
        await held.command("prompt")
        await held.settle(first, final_text="answer 3")
        await held.upload(first, b"state of the branch")
        await turns(streaming, held, branch, 4)
        await forker.ready(branch, 3)
        await forker.fork(origin, 1)
        asking = await streaming.session(title="asking")
        turn = await prompt(streaming, asking)
        held = await runner.take()
        await held.command("prompt")
        for request, kind, proposal in (
            ("q1", "join-review", JOINS),
            ("q2", "choice", CHOICE),
            ("q3", "dialog", CONFIRM),
        ):
            gate = (await held.ask(request, kind, proposal)).gate_id
            if kind != "dialog":
                await answer(streaming, asking, gate, value="continue" if kind == "join-review" else "a")
                await held.command("gate_answer")
        await held.settle(turn, "failed", code="provider_error")
        await prompt(streaming, asking, "again")
        await held.command("prompt")
        assert (await held.ask("q4", "choice", CHOICE)).gate_id
        outside = await streaming.session(adapter="external", title="outside")
        await open_turn(streaming, outside)
        await close_turn(streaming, outside, "done", outcome="truncated")
        await open_turn(streaming, outside)
        await streaming.sessions.AbortSession(pb.AbortSessionRequest(name=outside))
        await open_turn(streaming, outside)
        deleted = await streaming.session(title="deleted")
        await prompt(streaming, deleted, "begin")
        ids = [deleted.removeprefix("sessions/")]
        await streaming.sessions.BatchDeleteSessions(pb.BatchDeleteSessionsRequest(ids=ids))
        yield database


async def test_a_busy_database_is_sound(busy: Database) -> None:
    verdict = await assert_sound(busy, CHECKS)
    assert verdict.looked_at["sessions"] == 8


async def test_each_rule_finds_its_damage_and_no_other_one_does(busy: Database) -> None:
    await assert_each_is_seen(busy, CHECKS, DAMAGES)
