"""Resume, delete, lost runners, agents' states (design/streaming.md D1.4, D1.7, D1.8, S.5, S.7; PUB07, PUB11)."""

from __future__ import annotations

import asyncio
import hashlib

import grpc
import pytest

from services.kernel.ids import new_id
from services.kernel.postgres import Database
from tests.integration.streaming.agent_runner import running
from tests.integration.streaming.client import Streaming, body
from tests.integration.streaming.conftest import StartReplica
from tests.integration.streaming.test_turns import get, prompt, reached, refused, told
from treadle.streaming.v1 import job_service_pb2 as jobs
from treadle.streaming.v1 import runner_service_pb2 as runners
from treadle.streaming.v1 import session_service_pb2 as pb

State = pb.Session.State


async def resume(streaming: Streaming, name: str, request_id: str = "") -> pb.ResumeSessionResponse:
    return await streaming.sessions.ResumeSession(pb.ResumeSessionRequest(name=name, request_id=request_id))


async def delete(streaming: Streaming, *ids: str) -> list[tuple[str, bool, str]]:
    answer = await streaming.sessions.BatchDeleteSessions(pb.BatchDeleteSessionsRequest(ids=ids))
    return [(one.id, one.ok, one.code) for one in answer.results]


async def test_d1_8_6_resume_of_a_running_session_preserves_it(streaming: Streaming) -> None:
    name = await streaming.session()
    async with running(streaming) as runner, streaming.listening(name) as reader:
        turn = await prompt(streaming, name)
        held = await runner.take()
        await held.command("prompt")
        await held.text("a")
        await held.stored()
        answer = await resume(streaming, name)
        assert (answer.preserved, answer.session.generation) == (True, 1)
        await held.text("b")
        await held.settle(turn, final_text="ab")
        await reader.until(lambda one: one.texts == "ab")


async def test_d1_8_6_resume_after_a_crash_begins_a_new_generation_before_the_agent_starts(
    streaming: Streaming,
) -> None:
    name = await streaming.session(provider="acme", model="m-1", thinking="high")
    async with running(streaming) as runner, streaming.listening(name) as reader:
        await prompt(streaming, name)
        held = await runner.take()
        await held.command("prompt")
        await held.exit("child_exit")
        await reached(streaming, name, State.STATE_FAILED)
        answer = await resume(streaming, name)
        assert (answer.preserved, answer.session.generation) == (False, 2)
        assert answer.session.state == State.STATE_FAILED
        assert answer.session.agent == pb.Session.AGENT_STARTING
        await reader.ended.wait()  # readers of the old generation are closed
        again = await runner.take()
        assert again.generation == 2
        # D1.8 20: kept over resume, never forced off
        assert {k: again.payload[k] for k in ("provider", "model", "thinking")} == {
            "provider": "acme",
            "model": "m-1",
            "thinking": "high",
        }
        async with streaming.listening(name, reader.ids[-1]) as late:
            await late.level()
            assert late.frames[0].event == "reset"
            assert body(late.frames[0])["reason"] == "generation"
            assert all(one.startswith("2-") for one in late.ids)


async def test_d1_8_7_a_failed_validation_touches_nothing(streaming: Streaming, database: Database) -> None:
    name = await streaming.session(provider="acme", model="m-1")
    async with streaming.listening(name) as reader:
        await reader.level()
        before = (await get(streaming, name)).SerializeToString()
        assert (await refused(resume(streaming, name), "ADAPTER_UNAVAILABLE"))["adapter"] == "scripted"
        async with running(streaming) as runner:
            runner.offers = [jobs.AdapterOffer(adapter="scripted", providers=["other"])]
            await runner.announce()
            assert (await refused(resume(streaming, name), "MODEL_UNAVAILABLE"))["field"] == "provider"
            runner.offers = [jobs.AdapterOffer(adapter="scripted", providers=["acme"], models=["m-2"])]
            await runner.announce()
            assert (await refused(resume(streaming, name), "MODEL_UNAVAILABLE"))["field"] == "model"
            assert await runner.claim_jobs(1, 0) == []
        assert (await get(streaming, name)).SerializeToString() == before
        assert not reader.ended.is_set()
        await prompt(streaming, name, "still here")
        await reader.until(lambda one: ("prompt", "still here") in told(one, "prompt"))


async def test_d1_8_8_twenty_resumes_at_once_start_one_agent(streaming: Streaming, start_replica: StartReplica) -> None:
    other = await start_replica()
    name = await streaming.session()
    async with running(streaming) as runner:
        await runner.announce()
        answers = await asyncio.gather(*(resume(at, name) for at in (streaming, other) * 10))
        assert not any(one.preserved for one in answers)
        await runner.take()
        assert await runner.claim_jobs(1, 0.3) == []
        # An idle session with a live agent: a later resume is a cold one, once more.
        assert (await get(streaming, name)).agent == pb.Session.AGENT_LIVE
        again = await resume(streaming, name)
        assert again.session.generation == 2
        assert (await resume(streaming, name)).session.generation == 2  # one is starting: joined
        old = runner.held[0]
        assert (await old.command("shutdown")).shutdown.reason == "resumed"
        await old.ended.wait()
        assert old.refusal in ("LEASE_LOST", "ATTACH_FENCED")
        assert (await runner.take()).generation == 2


async def test_pub07_a_lost_runner_fails_the_turn_once_and_the_next_agent_begins_anew(
    start_impatient: StartReplica,
) -> None:
    streaming = await start_impatient()
    other = await start_impatient()
    name = await streaming.session()
    async with running(streaming) as runner, streaming.listening(name) as reader:
        turn = await prompt(streaming, name)
        held = await runner.take()
        await held.command("prompt")
        await held.tool("c1", "running")
        await held.text("half")
        await held.stored()
        runner.silence()
        await held.detach()
        session = await reached(other, name, State.STATE_FAILED)
        assert (session.code, session.agent, session.turn_id) == ("runner_lost", pb.Session.AGENT_NONE, turn)
        await reader.until(lambda one: ("turn", "failed") in told(one, "turn"))
        assert told(reader, "turn", "tool")[-2:] == [("tool", "failed"), ("turn", "failed")]
        assert len([one for one in told(reader, "turn") if one[1] == "failed"]) == 1
        messages = await streaming.sessions.ListMessages(pb.ListMessagesRequest(parent=name))
        assert [(m.role, m.text, m.partial) for m in messages.messages][1] == ("assistant", "half", True)
        second = await prompt(streaming, name, "again")
        again = await runner.take()
        assert again.generation == 2
        assert (await again.command("prompt")).turn_id == second
        await again.settle(second, final_text="done")
        assert (await get(streaming, name)).outcome == "ok"


async def test_an_abort_that_the_agent_did_not_live_to_obey_is_still_an_abort(start_impatient: StartReplica) -> None:
    streaming = await start_impatient()
    name = await streaming.session()
    async with running(streaming) as runner:
        await prompt(streaming, name)
        held = await runner.take()
        await held.command("prompt")
        await streaming.sessions.AbortSession(pb.AbortSessionRequest(name=name))
        runner.silence()
        await held.detach()
        assert (await reached(streaming, name, State.STATE_IDLE)).outcome == "aborted"


async def test_a_session_that_nobody_claims_has_failed_after_a_while(start_impatient: StartReplica) -> None:
    streaming = await start_impatient()
    name = await streaming.session()
    await prompt(streaming, name)
    session = await reached(streaming, name, State.STATE_FAILED)
    assert (session.code, session.agent) == ("start_failed", pb.Session.AGENT_NONE)


async def test_pub07_after_a_restart_of_every_replica_nothing_is_left_running(
    start_impatient: StartReplica, start_replica: StartReplica
) -> None:
    first = await start_impatient()
    names = [await first.session() for _ in range(3)]
    async with running(first) as runner:
        for name in names:
            await prompt(first, name)
            await (await runner.take()).command("prompt")
        runner.silence()
        assert first.life is not None
        await first.life.__aexit__(None, None, None)
    second = await start_impatient()
    for name in names:
        assert (await reached(second, name, State.STATE_FAILED)).code == "runner_lost"
    versions = [(await get(second, name)).etag for name in names]
    third = await start_replica()
    assert [(await get(third, name)).etag for name in names] == versions


async def test_d1_8_18_batch_delete_says_per_id_what_became_of_it(streaming: Streaming) -> None:
    gone, kept, busy = [await streaming.session() for _ in range(3)]
    missing = new_id("ses")
    ids = [name.partition("/")[2] for name in (gone, busy)]
    async with running(streaming) as runner, streaming.listening(busy) as reader, streaming.listening(kept) as other:
        await prompt(streaming, busy)
        held = await runner.take()
        await held.command("prompt")
        assert await delete(streaming, ids[0], missing, "ses_nonsense", ids[1], ids[0]) == [
            (ids[0], True, "deleted"),
            (missing, False, "not_found"),
            ("ses_nonsense", False, "invalid_id"),
            (ids[1], True, "deleted"),
        ]
        await reader.ended.wait()
        assert reader.frames[-1].event == "deleted"
        assert (await held.command("shutdown")).shutdown.reason == "deleted"
        await held.ended.wait()
        await refused(resume(streaming, busy), "SESSION_NOT_FOUND")
        await refused(prompt(streaming, busy), "SESSION_NOT_FOUND")
        async with streaming.listening(busy) as late:
            await late.ended.wait()
            assert late.error is not None
            assert late.error.code() == grpc.StatusCode.NOT_FOUND
        await prompt(streaming, kept)
        await other.until(lambda one: ("turn", "running") in told(one, "turn"))
        listed = await streaming.sessions.ListSessions(pb.ListSessionsRequest())
        assert [one.name for one in listed.sessions] == [kept]


async def test_d1_8_19_deleting_one_leaves_the_resume_of_another_alone(streaming: Streaming) -> None:
    one, other = [await streaming.session() for _ in range(2)]
    async with running(streaming) as runner:
        await runner.announce()
        resumed, deleted = await asyncio.gather(resume(streaming, other), delete(streaming, one.partition("/")[2]))
        assert deleted[0][1]
        held = await runner.take()
        assert (held.job.session, resumed.preserved) == (other, False)


async def test_an_agents_state_is_kept_by_content_and_handed_to_the_next_agent(streaming: Streaming) -> None:
    name = await streaming.session()
    state = bytes(range(256)) * 4096  # 1 MiB
    async with running(streaming) as runner:
        turn = await prompt(streaming, name)
        held = await runner.take()
        assert held.payload["agent_state"] is None
        await held.command("prompt")
        await held.settle(turn, final_text="x")
        assert (await held.upload(turn, state, digest="0" * 64)).reason == "AGENT_STATE_BROKEN"
        assert (await held.upload(turn, b"x" * (8 * 1024 * 1024 + 1))).reason == "AGENT_STATE_TOO_LARGE"
        stored = await held.upload(turn, state)
        assert (stored.turn_id, stored.reason) == (turn, "")
        await held.exit()
        await resume(streaming, name)
        again = await runner.take()
        digest = hashlib.sha256(state).hexdigest()
        assert again.payload["agent_state"] == digest
        request = runners.ReadAgentStateRequest(job_id=again.job.id, fence=again.job.fence, digest=digest)
        parts = [part async for part in streaming.runners.ReadAgentState(request)]
        assert b"".join(part.data for part in parts) == state
        assert [part.last for part in parts] == [False] * (len(parts) - 1) + [True]


@pytest.mark.parametrize(
    ("outcome", "final", "shown"),
    [
        ("ok", "a result", ("ok", "", "a result", False)),
        ("truncated", "cut off mid", ("truncated", "", "cut off mid", True)),
        ("ok", "", ("ok", "", "", False)),
        ("failed", "", ("", "provider_timeout", "streamed", True)),
    ],
)
async def test_pub11_a_turn_that_was_cut_off_or_is_empty_is_not_like_one_that_is_done(
    streaming: Streaming, outcome: str, final: str, shown: tuple[str, str, str, bool]
) -> None:
    name = await streaming.session()
    async with running(streaming) as runner:
        turn = await prompt(streaming, name)
        held = await runner.take()
        await held.command("prompt")
        await held.text("streamed")
        await held.settle(turn, outcome, final_text=final, code="provider_timeout" if outcome == "failed" else "")
        session = await get(streaming, name)
        for _ in range(2):
            said = await streaming.sessions.ListMessages(pb.ListMessagesRequest(parent=name))
            last = said.messages[-1]
            assert (session.outcome, session.code, last.text, last.partial) == shown


async def test_sessions_are_told_of_on_the_tenants_feed(streaming: Streaming) -> None:
    async with streaming.of_tenant() as feed, running(streaming) as runner:
        await feed.level()
        name = await streaming.session()
        turn = await prompt(streaming, name)
        held = await runner.take()
        await held.command("prompt")
        await held.settle(turn, final_text="x")
        await delete(streaming, name.partition("/")[2])
        await feed.heard(4)
        said = [(f.event, body(f)["kind"], body(f)["from"], body(f)["to"], body(f)["outcome"]) for f in feed.frames]
        assert said == [
            ("session", "created", "", "idle", ""),
            ("session", "turn", "idle", "running", ""),
            ("session", "turn", "running", "idle", "ok"),
            ("session", "deleted", "idle", "idle", "ok"),
        ]
        assert {body(f)["session_id"] for f in feed.frames} == {name.partition("/")[2]}


@pytest.mark.parametrize("thinking", ["", "off", "minimal", "low", "medium", "high", "xhigh"])
async def test_d1_8_20_the_thinking_level_is_kept_over_create_resume_and_restart(
    streaming: Streaming, start_replica: StartReplica, thinking: str
) -> None:
    name = await streaming.session(thinking=thinking, provider="acme", model="m-1")
    kept = thinking or "medium"
    async with running(streaming) as runner:
        await runner.announce()
        assert (await resume(streaming, name)).session.thinking == kept
        assert (await runner.take()).payload["thinking"] == kept
    other = await start_replica()
    async with running(other) as runner:
        session = (await resume(other, name)).session
        assert (session.thinking, session.provider, session.model) == (kept, "acme", "m-1")
        assert (await runner.take()).payload["thinking"] == kept


async def test_a_waiting_session_is_preserved_though_its_agent_is_gone_and_can_be_aborted(
    streaming: Streaming,
) -> None:
    name = await streaming.session()
    async with running(streaming) as runner:
        turn = await prompt(streaming, name)
        held = await runner.take()
        await held.command("prompt")
        gate = await held.ask("r", "phase-summary", {"version": 2, "phase": "p", "summary": "s"})
        await held.exit("child_exit")
        await reached(streaming, name, State.STATE_WAITING)
        answer = await resume(streaming, name)
        assert (answer.preserved, answer.session.agent, answer.session.generation) == (True, pb.Session.AGENT_NONE, 1)
        aborted = await streaming.sessions.AbortSession(pb.AbortSessionRequest(name=name))
        assert (aborted.state, aborted.outcome, aborted.turn_id) == (State.STATE_IDLE, "aborted", turn)
        listed = await streaming.sessions.ListGates(pb.ListGatesRequest(parent=name))
        assert [(one.id, one.state) for one in listed.gates] == [(gate.gate_id, pb.SessionGate.STATE_CANCELLED)]


async def test_steering_a_waiting_session_whose_agent_is_gone_starts_the_next_one_with_it(
    streaming: Streaming,
) -> None:
    name = await streaming.session()
    async with running(streaming) as runner:
        turn = await prompt(streaming, name)
        held = await runner.take()
        await held.command("prompt")
        await held.ask("r", "phase-summary", {"version": 2, "phase": "p", "summary": "s"})
        await held.exit("child_exit")
        await reached(streaming, name, State.STATE_WAITING)
        await streaming.sessions.SteerSession(pb.SteerSessionRequest(name=name, text="never mind"))
        again = await runner.take()
        assert again.generation == 2
        assert (await again.command("gate_answer")).gate_answer.state == "cancelled"
        steer = await again.command("steer")
        assert (steer.turn_id, steer.steer.text) == (turn, "never mind")
        await again.settle(turn, final_text="fine")
        assert (await get(streaming, name)).outcome == "ok"
