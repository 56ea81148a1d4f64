"""Sessions held over real gRPC: commands in order, events once, breaks, leases, the drain (design/streaming.md S.5)."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

from services.kernel.lifecycle import Lifecycle
from services.kernel.principal import Authenticator, Principal
from services.kernel.settings import load
from services.runner.main import build
from services.runner.settings import RunnerSettings
from tests.fakes.coordination_service import CoordinationServer, FakeCoordination
from tests.fakes.streaming_service import FakeSession, FakeStreaming, StreamingServer
from tests.fakes.tool_gateway import offering
from treadle.streaming.v1 import runner_service_pb2 as pb

LEASE = 10.0
FAKE_PI = Path(__file__).parents[2] / "fakes" / "pi_child.py"


@pytest.fixture
async def service() -> FakeStreaming:
    return FakeStreaming(LEASE)


@pytest.fixture
async def server(service: FakeStreaming) -> AsyncIterator[StreamingServer]:
    server = StreamingServer(service)
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
def settings(server: StreamingServer, tmp_path: Path) -> RunnerSettings:
    return load(
        RunnerSettings,
        threads_target="127.0.0.1:1",
        streaming_target=server.address,
        home=tmp_path,
        runner_wait_seconds=5,
        heartbeat_seconds=0.5,
        lease_seconds=LEASE,
        drain_seconds=4,
        scripted_pace_ms=0,
        pi_command=f"{sys.executable} {FAKE_PI}",
    )


@asynccontextmanager
async def runner_of(settings: RunnerSettings) -> AsyncIterator[Lifecycle]:
    async with Lifecycle("runner", settings.drain_seconds) as life:
        await build(settings, life)
        yield life


@pytest.fixture
async def runner(settings: RunnerSettings) -> AsyncIterator[Lifecycle]:
    async with runner_of(settings) as life:
        yield life


async def settled(service: FakeStreaming, session: FakeSession, number: int = 1) -> pb.TurnSettled:
    await service.until(lambda: len(session.settled) >= number)
    return session.settled[number - 1]


async def test_a_turn_goes_up_and_its_state_is_kept(service: FakeStreaming, runner: Lifecycle) -> None:
    session = service.open()
    session.prompt("Good morning")
    end = await settled(service, session)
    assert (end.turn_id, end.outcome, end.final_text) == ("trn_1", "ok", "You said: Good morning")
    assert session.text == "You said: Good morning"
    assert (end.usage.input_tokens, end.usage.output_tokens) == (2, 9)
    await service.until(lambda: session.uploads and session.taken == 1)
    turn, digest = session.uploads[0]
    assert (turn, orjson.loads(service.states[digest])) == ("trn_1", {"prompts": ["Good morning"]})
    assert ("ready", "") in session.adapter
    assert [event.sequence for event in session.stored] == list(range(1, len(session.stored) + 1))


async def test_it_says_what_it_offers_also_when_it_asks_for_nothing(service: FakeStreaming, runner: Lifecycle) -> None:
    await service.until(lambda: [c for c in service.claims if c.max_jobs == 0] and len(service.claims) > 1)
    assert {tuple(offer.adapter for offer in claim.adapters) for claim in service.claims} == {("scripted", "pi")}


@pytest.mark.parametrize("after", [1, 2, 3, 5])
async def test_a_way_that_breaks_all_the_time_loses_and_doubles_nothing(
    service: FakeStreaming, runner: Lifecycle, after: int
) -> None:
    session = service.open()
    service.break_after = after
    service.repeat_commands = True
    session.prompt("[[pace 1ms]] [[words 300]]", "trn_1")
    await service.until(lambda: len(session.attaches) > 3)
    service.break_after = None
    end = await settled(service, session)
    assert end.final_text == " ".join(f"word{number}" for number in range(1, 301))
    assert session.text == end.final_text
    assert len(session.settled) == 1
    assert session.attaches[0].epoch == 0
    assert all(opening.epoch > 0 for opening in session.attaches[1:])


async def test_the_service_goes_and_comes_back_in_mid_turn(
    service: FakeStreaming, server: StreamingServer, runner: Lifecycle
) -> None:
    service.lease = 20
    session = service.open()
    session.prompt("[[pace 2ms]] [[words 400]]")
    await service.until(lambda: session.stored)
    await server.stop()
    await asyncio.sleep(0.15)
    await server.start()
    assert (await settled(service, session)).final_text == session.text
    assert session.attaches[-1].command_sequence == 1


async def test_a_gate_is_asked_and_answered(service: FakeStreaming, runner: Lifecycle) -> None:
    session = service.open()
    session.prompt("[[gate choice a|b]] [[gate confirm Sure?]]")
    await service.until(lambda: session.gates)
    assert orjson.loads(session.gates[0].proposal_json)["question"] == "Which one?"
    session.answer(session.gates[0].request_id, {"value": "b"})
    session.answer(session.gates[0].request_id, {"value": "a"})
    await service.until(lambda: len(session.gates) == 2)
    session.answer(session.gates[1].request_id, {"confirmed": False}, kind="dialog")
    assert (await settled(service, session)).final_text == "The reviewer said: b.\n\nThe reviewer said: no."
    await service.until(lambda: session.taken == 4)


async def test_a_gate_that_is_refused_is_told_to_the_agent(service: FakeStreaming, runner: Lifecycle) -> None:
    session = service.open()
    session.refuse_gates = True
    session.prompt("[[join]]")
    assert (await settled(service, session)).final_text == "No answer: refused no."


async def test_an_answer_for_an_agent_that_is_gone_is_the_next_input(service: FakeStreaming, runner: Lifecycle) -> None:
    session = service.open()
    body = {"value": "other", "text": "c is d"}
    session.answer("an-older-agents-question", body, kind="join-review", turn="trn_9")
    end = await settled(service, session)
    assert end.turn_id == "trn_9"
    assert "The reviewer did not accept the joins: c is d" in end.final_text


async def test_steering_and_aborting(service: FakeStreaming, runner: Lifecycle) -> None:
    session = service.open()
    session.prompt("[[gate choice a|b]] [[slow 60s]]")
    await service.until(lambda: session.gates)
    session.command(steer=pb.SteerCommand(text="hurry"))
    await service.until(lambda: "Steered: hurry" in session.text)
    session.command("trn_0", abort=pb.AbortCommand())
    session.command(abort=pb.AbortCommand())
    assert (await settled(service, session)).outcome == "aborted"
    gone = [event.gate_gone for event in session.stored if event.HasField("gate_gone")]
    assert [(gate.request_id, gate.expired) for gate in gone] == [(session.gates[0].request_id, False)]


async def test_words_for_a_turn_that_has_just_settled_are_said_with_the_next_prompt(
    service: FakeStreaming, runner: Lifecycle
) -> None:
    """They begin no turn of their own, which would then be taken for the next one."""
    session = service.open()
    session.prompt("first", "trn_1")
    await settled(service, session)
    session.command("trn_1", steer=pb.SteerCommand(text="late"))
    await service.until(lambda: session.taken == 2)
    session.prompt("second", "trn_2")
    end = await settled(service, session, 2)
    assert (end.turn_id, end.final_text) == ("trn_2", "You said: late\n\nsecond")
    assert len(session.settled) == 2


async def test_words_for_a_turn_that_this_agent_has_not_seen_begin_it(
    service: FakeStreaming, runner: Lifecycle
) -> None:
    session = service.open()
    session.command("trn_7", steer=pb.SteerCommand(text="go on"))
    end = await settled(service, session)
    assert (end.turn_id, end.final_text) == ("trn_7", "You said: go on")


async def test_two_agents_of_one_session_never_name_a_question_alike(service: FakeStreaming, runner: Lifecycle) -> None:
    names = set()
    for _ in range(2):
        session = service.open()
        session.prompt("[[gate choice a|b]]")
        await service.until(lambda session=session: session.gates)  # type: ignore[misc]
        names.add(session.gates[0].request_id)
    assert len(names) == 2


async def test_an_agent_that_ends_ends_its_job_after_all_is_said(service: FakeStreaming, runner: Lifecycle) -> None:
    session = service.open()
    session.prompt("last words [[exit]]")
    await service.until(lambda: session.ends)
    assert session.ends == ["completed"]
    assert [(end.outcome, end.code, end.final_text) for end in session.settled] == [
        ("failed", "child_exit", "last words")
    ]


async def test_a_state_goes_on(service: FakeStreaming, runner: Lifecycle) -> None:
    session = service.open(state=orjson.dumps({"prompts": ["before"]}))
    session.prompt("[[recall]]")
    assert (await settled(service, session)).final_text == "I remember 1 turns, the last: before"


@pytest.mark.parametrize(
    "payload", [{"provider": "broken"}, {"thinking": "loud"}, {"state": b"not ours"}, {"adapter": "pi", "state": b"x"}]
)
async def test_an_agent_that_cannot_start_fails_the_job(
    service: FakeStreaming, runner: Lifecycle, payload: dict[str, object]
) -> None:
    session = service.open(**payload)  # type: ignore[arg-type]
    if payload.get("adapter") == "pi":
        service.states[str(session.payload["agent_state"])] = b"damaged"
    await service.until(lambda: session.ends)
    assert session.ends == ["start_failed"]


async def test_a_shutdown_stops_the_agent_and_ends_the_job(service: FakeStreaming, runner: Lifecycle) -> None:
    session = service.open()
    session.prompt("[[slow 60s]]")
    await service.until(lambda: session.taken == 1)
    session.command("", shutdown=pb.ShutdownCommand(reason="deleted"))
    await service.until(lambda: session.ends)
    assert session.ends == ["completed"]
    assert session.settled == []


async def test_the_state_of_each_turn_is_kept_also_over_a_break(service: FakeStreaming, runner: Lifecycle) -> None:
    session = service.open()
    service.break_after = 4
    for number in range(1, 4):
        session.prompt(f"turn {number}", f"trn_{number}")
        await settled(service, session, number)
    service.break_after = None
    await service.until(lambda: {turn for turn, _ in session.uploads} == {"trn_1", "trn_2", "trn_3"})
    assert orjson.loads(service.states[session.uploads[-1][1]])["prompts"][-1] == "turn 3"


async def test_an_event_that_is_refused_ends_the_job_instead_of_coming_for_ever(
    service: FakeStreaming, runner: Lifecycle
) -> None:
    session = service.open()
    session.refuse_events = True
    session.prompt("hello")
    await service.until(lambda: session.ends)
    assert session.ends == ["protocol_error"]


async def test_a_lease_that_is_over_stops_the_agent_and_nothing_is_reported(
    service: FakeStreaming, runner: Lifecycle
) -> None:
    session = service.open()
    session.prompt("[[pace 10ms]] [[words 100000]]")
    await service.until(lambda: session.stored)
    session.fence += 1
    await service.until(lambda: len(session.attaches) == 1 and session.state == "leased")
    session.epoch += 1
    session.news.set()
    stored = -1
    async with asyncio.timeout(60):
        while stored != len(session.stored):
            stored = len(session.stored)
            await asyncio.sleep(0.19)
    assert session.ends == []


async def test_a_cancel_stops_the_agent(service: FakeStreaming, runner: Lifecycle) -> None:
    session = service.open()
    session.prompt("[[slow 60s]]")
    await service.until(lambda: session.taken == 1)
    session.cancel = True
    await service.until(lambda: session.ends)
    assert session.ends == ["child_exit"]


async def test_a_drain_lets_a_turn_end_and_leaves_idle_sessions_at_once(
    service: FakeStreaming, settings: RunnerSettings
) -> None:
    idle, busy, stuck = service.open(), service.open(), service.open()
    async with runner_of(settings):
        idle.prompt("hello")
        busy.prompt("[[slow 300ms]] done")
        stuck.prompt("[[slow 60s]]")
        await service.until(lambda: idle.uploads and busy.taken and stuck.taken)
    assert (idle.ends, busy.ends, stuck.ends) == (["completed"], ["completed"], ["child_exit"])
    assert busy.settled[0].final_text == "done"


async def test_pi_behind_the_same_port(service: FakeStreaming, runner: Lifecycle) -> None:
    session = service.open("pi")
    session.prompt("hello")
    assert (await settled(service, session)).final_text == "said hello"
    session.prompt("exit 7", "trn_2")
    end = await settled(service, session, 2)
    assert (end.turn_id, end.outcome, end.code) == ("trn_2", "failed", "child_exit")
    await service.until(lambda: session.ends)
    assert session.ends == ["completed"]
    assert ("exited", "") in session.adapter


async def test_a_long_text_is_cut_where_the_service_takes_no_more_and_says_so(
    service: FakeStreaming, runner: Lifecycle
) -> None:
    session = service.open("pi")
    session.prompt("big 3300000")
    end = await settled(service, session)
    assert (end.outcome, len(end.final_text)) == ("truncated", 3 * 1024 * 1024)
    assert len(session.text) == 3_300_000


async def test_what_an_agent_is_to_know_is_asked_for_at_each_prompt(
    service: FakeStreaming, settings: RunnerSettings
) -> None:
    coordination = FakeCoordination()
    server = CoordinationServer(coordination)
    await server.start()
    told = settings.model_copy(update={"coordination_target": server.address, "planning_target": "127.0.0.1:1"})
    async with runner_of(told):
        session = service.open(agent_token=_token("ses_0"))
        coordination.contexts["ses_0"] = "## Thread mode — coordinator\n\nWorker threads: 0."
        session.prompt("[[context]]", "trn_1")
        assert (await settled(service, session)).final_text == "## Thread mode — coordinator\n\nWorker threads: 0."
        coordination.contexts["ses_0"] = ""
        session.prompt("[[context]]", "trn_2")
        assert (await settled(service, session, 2)).final_text == "I was told nothing besides."
    assert [(one.parent, one.turn_id) for one in coordination.composed] == [
        ("sessions/ses_0", "trn_1"),
        ("sessions/ses_0", "trn_2"),
    ]
    assert coordination.authorizations == [f"Bearer {_token('ses_0')}"] * 2
    await server.stop()


async def test_who_does_not_answer_in_time_is_gone_on_without(service: FakeStreaming, settings: RunnerSettings) -> None:
    coordination = FakeCoordination()
    coordination.hold = 120
    server = CoordinationServer(coordination)
    await server.start()
    told = settings.model_copy(update={"coordination_target": server.address})
    async with runner_of(told):
        session = service.open(agent_token=_token("ses_0"))
        began = time.monotonic()
        session.prompt("Good morning")
        assert (await settled(service, session)).final_text == "You said: Good morning"
        assert time.monotonic() - began > 1.5
    await server.stop()


async def test_a_turn_that_outlives_its_token_goes_on_with_a_newer_one(
    service: FakeStreaming, settings: RunnerSettings
) -> None:
    calls = list[str]()

    async def status(arguments: dict[str, Any]) -> dict[str, Any]:
        calls.append("one")
        renewed = session.renewals
        while len(calls) == 1 and session.renewals < renewed + 2:
            await asyncio.sleep(0.01)
        gateway.tokens.clear()
        return {"ok": True}

    async with offering({"thread_status"}, thread_status=status) as gateway:
        told = settings.model_copy(update={"gateway_url": gateway.url, "agent_token_seconds": 0.1})
        async with runner_of(told):
            session = service.open(agent_token="token-0")
            session.prompt("[[status]] [[status]] done")
            await service.until(lambda: len(calls) == 1, 60)
            assert "Bearer token-0" in gateway.tokens or session.renewals
            await service.until(lambda: session.settled, 60)
            await service.until(lambda: session.renewals > 2, 60)
    assert session.settled[0].final_text.endswith("done")
    assert "Bearer token-0" not in gateway.tokens


async def test_an_agent_whose_token_cannot_be_renewed_leaves_at_its_next_pause(
    service: FakeStreaming, settings: RunnerSettings
) -> None:
    service.renews = False
    async with runner_of(settings.model_copy(update={"agent_token_seconds": 0.1})):
        session = service.open(agent_token="token-0")
        session.prompt("hello")
        assert (await settled(service, session)).final_text == "You said: hello"
        await service.until(lambda: session.ends, 60)
        assert (session.ends, session.renewals > 0) == (["completed"], True)


def _token(session: str) -> str:
    agent = Principal("default", session, "agent", frozenset({"agent"}))
    return Authenticator(None, _Noon()).mint(agent, timedelta(hours=1))


class _Noon:
    """The same token each time, good for a while."""

    def now(self) -> datetime:
        return datetime(2100, 1, 1, 12, tzinfo=UTC)


async def test_agents_that_have_nothing_to_do_make_room_for_others(
    service: FakeStreaming, settings: RunnerSettings
) -> None:
    """Sixteen sessions on a runner with eight places, one after the other and all at once."""
    service.lease = 30
    async with runner_of(settings.model_copy(update={"session_concurrency": 8, "heartbeat_seconds": 1})):
        sessions = [service.open() for _ in range(16)]
        for number, session in enumerate(sessions):
            session.prompt(f"number {number}")
        await service.until(lambda: all(session.settled for session in sessions), 40)
        assert all(session.ends in ([], ["completed"]) for session in sessions)
        assert all(len(session.uploads) == 1 for session in sessions if session.ends)


async def test_an_agent_that_gets_a_turn_while_it_leaves_stays(
    service: FakeStreaming, settings: RunnerSettings
) -> None:
    async with runner_of(settings.model_copy(update={"session_concurrency": 2})):
        busy, asked = service.open(), service.open()
        busy.prompt("[[slow 600s]]")
        asked.keeps = True
        asked.prompt("first")
        await settled(service, asked)
        await service.until(lambda: asked.stays > 1)
        assert asked.ends == []
        asked.prompt("second", "trn_2")
        assert (await settled(service, asked, 2)).final_text == "You said: second"
