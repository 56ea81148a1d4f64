"""Gates and the ledger over real channels (design/streaming.md D1.6, D1.8, S.6)."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from services.kernel.postgres import Database
from tests.integration.streaming.agent_runner import Held, running
from tests.integration.streaming.client import Streaming
from tests.integration.streaming.conftest import StartReplica
from tests.integration.streaming.test_turns import get, prompt, reached, refused, told
from treadle.streaming.v1 import session_service_pb2 as pb

State = pb.Session.State
CHOICE = {"question": "Which?", "options": [{"id": "a", "label": "A"}, {"id": "b", "label": "B"}], "allow_other": True}
JOINS = {"joins": [{"left": "a.x", "right": "b.x", "type": "inner"}, {"left": "b.y", "right": "c.y", "type": "left"}]}
SUMMARY = {"version": 2, "phase": "joins", "summary": "All found.", "open_questions": ["Why?"]}
CONFIRM = {"method": "confirm", "title": "Sure?"}


async def answer(streaming: Streaming, name: str, gate_id: str, **said: Any) -> pb.SessionGate:
    request = pb.AnswerGateRequest(name=f"{name}/gates/{gate_id}", **said)
    return await streaming.sessions.AnswerGate(request)


async def gates(streaming: Streaming, name: str, state: int = 0) -> list[pb.SessionGate]:
    request = pb.ListGatesRequest(parent=name, state=state)  # type: ignore[arg-type]
    return list((await streaming.sessions.ListGates(request)).gates)


async def ledger(streaming: Streaming, name: str) -> pb.GetLedgerResponse:
    return await streaming.sessions.GetLedger(pb.GetLedgerRequest(name=name))


async def test_d1_8_11_two_gates_one_answered_still_waits(streaming: Streaming) -> None:
    name = await streaming.session()
    async with running(streaming) as runner, streaming.listening(name) as reader:
        turn = await prompt(streaming, name)
        held = await runner.take()
        await held.command("prompt")
        one, two = await held.ask("q1", "choice", CHOICE), await held.ask("q2", "dialog", CONFIRM)
        assert (await get(streaming, name)).state == State.STATE_WAITING
        assert (await held.ask("q1", "choice", CHOICE)).gate_id == one.gate_id  # the same request attaches again
        await answer(streaming, name, one.gate_id, value="b")
        assert (await get(streaming, name)).state == State.STATE_WAITING
        closed = await answer(streaming, name, two.gate_id, confirmed=False)
        assert (closed.state, closed.closed_by) == (pb.SessionGate.STATE_ANSWERED, "user:local")
        assert (await get(streaming, name)).state == State.STATE_RUNNING
        got = [(await held.command("gate_answer")).gate_answer for _ in range(2)]
        assert [(g.request_id, g.state, orjson.loads(g.answer_json)) for g in got] == [
            ("q1", "answered", {"value": "b"}),
            ("q2", "answered", {"confirmed": False}),
        ]
        await held.settle(turn, final_text="x")
        await reader.until(lambda one: len(told(one, "turn")) == 5)
        assert told(reader, "turn", "gate") == [
            ("turn", "idle"),
            ("turn", "running"),
            ("gate", "open"),
            ("turn", "waiting"),
            ("gate", "open"),
            ("gate", "answered"),
            ("gate", "answered"),
            ("turn", "running"),
            ("turn", "idle"),
        ]


async def test_d1_8_12_a_gate_is_answered_once_and_every_loser_is_told_by_whom_and_when(
    streaming: Streaming, start_replica: StartReplica
) -> None:
    other = await start_replica()
    name = await streaming.session()
    async with running(streaming) as runner:
        await prompt(streaming, name)
        held = await runner.take()
        await held.command("prompt")
        gate = await held.ask("q", "choice", CHOICE)
        tries = [answer(at, name, gate.gate_id, value="a") for at in (streaming, other) * 5]
        results = await asyncio.gather(*tries, return_exceptions=True)
        assert sum(isinstance(one, pb.SessionGate) for one in results) == 1
        lost = await refused(answer(streaming, name, gate.gate_id, value="b"), "GATE_CLOSED")
        assert (lost["state"], lost["by"]) == ("answered", "user:local")
        assert lost["time"]
        await held.command("gate_answer")
        await held.text("on")
        await held.stored()
        assert held.commands == []


async def test_d1_8_13_steering_while_waiting_cancels_the_gates_and_runs(streaming: Streaming) -> None:
    name = await streaming.session()
    async with running(streaming) as runner:
        await prompt(streaming, name)
        held = await runner.take()
        await held.command("prompt")
        await held.ask("q1", "dialog", CONFIRM)
        await held.ask("q2", "phase-summary", SUMMARY)
        session = await streaming.sessions.SteerSession(pb.SteerSessionRequest(name=name, text="go on"))
        assert session.state == State.STATE_RUNNING
        got = [await held.command(kind) for kind in ("gate_answer", "gate_answer", "steer")]
        assert [one.gate_answer.state for one in got[:2]] == ["cancelled", "cancelled"]
        assert got[2].steer.text == "go on"
        assert {gate.state for gate in await gates(streaming, name)} == {pb.SessionGate.STATE_CANCELLED}


async def test_an_abort_while_waiting_cancels_the_gates_first(streaming: Streaming) -> None:
    name = await streaming.session()
    async with running(streaming) as runner:
        turn = await prompt(streaming, name)
        held = await runner.take()
        await held.command("prompt")
        await held.ask("q1", "dialog", CONFIRM)
        await streaming.sessions.AbortSession(pb.AbortSessionRequest(name=name))
        assert (await held.command("gate_answer")).gate_answer.state == "cancelled"
        await held.command("abort")
        await held.settle(turn, "aborted")
        assert (await get(streaming, name)).outcome == "aborted"


async def test_continue_puts_the_whole_set_into_the_ledger_and_d1_8_16_other_puts_none(streaming: Streaming) -> None:
    name = await streaming.session()
    async with running(streaming) as runner:
        await prompt(streaming, name)
        held = await runner.take()
        await held.command("prompt")
        first = await held.ask("j1", "join-review", JOINS)
        await answer(streaming, name, first.gate_id, value="other", text="the second is wrong")
        said = (await held.command("gate_answer")).gate_answer
        assert orjson.loads(said.answer_json) == {"value": "other", "text": "the second is wrong"}
        assert len((await ledger(streaming, name)).entries) == 0
        for count in (1, 2):
            gate = await held.ask(f"j{count + 1}", "join-review", JOINS)
            await answer(streaming, name, gate.gate_id, value="continue", request_id=f"k{count}")
            await answer(streaming, name, gate.gate_id, value="continue", request_id=f"k{count}")  # a repeat
            kept = await ledger(streaming, name)
            assert [entry.sequence for entry in kept.entries] == list(range(1, count + 1))
            assert kept.current.gate_id == gate.gate_id
            assert orjson.loads(kept.current.joins_json) == JOINS["joins"]
            assert kept.current.by == "user:local"


@pytest.mark.parametrize(
    ("kind", "proposal", "field"),
    [
        ("join-review", {"joins": []}, "joins"),
        ("join-review", {}, "joins"),
        ("join-review", {"joins": [{"left": "a", "right": "b"}]}, "joins[0].type"),
        ("join-review", {"joins": [JOINS["joins"][0]] * 201}, "joins"),
        ("choice", {"question": "?", "options": []}, "options"),
        ("choice", {"question": "?", "options": [{"id": "other", "label": "x"}]}, "options"),
        ("phase-summary", {**SUMMARY, "version": 1}, "version"),
        ("phase-summary", {**SUMMARY, "open_questions": "why"}, "open_questions"),
        ("phase-summary", {**SUMMARY, "open_questions": [{"q": 1}]}, "open_questions[0]"),
        ("phase-summary", {**SUMMARY, "open_questions": None}, "open_questions"),
        ("phase-summary", {**SUMMARY, "open_questions": {}}, "open_questions"),
        ("dialog", {"method": "notify", "title": "x"}, "method"),
        ("dialog", b"{", "proposal"),
        ("dialog", b"[" * 100_000, "proposal"),
        ("unheard", {}, "kind"),
    ],
)
async def test_d1_8_17_a_malformed_proposal_is_refused_at_the_boundary_and_opens_nothing(
    streaming: Streaming, kind: str, proposal: object, field: str
) -> None:
    name = await streaming.session()
    async with running(streaming) as runner:
        turn = await prompt(streaming, name)
        held = await runner.take()
        await held.command("prompt")
        outcome = await held.ask("q", kind, proposal)
        assert (outcome.gate_id, outcome.reason) == ("", "INVALID_PROPOSAL")
        assert outcome.message.startswith(field), outcome.message
        assert await gates(streaming, name) == []
        assert (await get(streaming, name)).state == State.STATE_RUNNING
        await held.settle(turn, final_text="went on")  # the attachment lives


@pytest.mark.parametrize(
    ("kind", "proposal", "said"),
    [
        ("choice", CHOICE, {"value": "c"}),
        ("choice", CHOICE, {"value": "other"}),
        ("choice", CHOICE, {"confirmed": True}),
        ("choice", CHOICE, {"cancelled": True}),
        ("choice", CHOICE, {}),
        ("choice", CHOICE, {"value": "a", "confirmed": True}),
        ("choice", {**CHOICE, "allow_other": False}, {"value": "other", "text": "x"}),
        ("join-review", JOINS, {"value": "a"}),
        ("join-review", JOINS, {"value": "continue", "text": "but"}),
        ("phase-summary", SUMMARY, {"value": "other", "text": " "}),
        ("dialog", CONFIRM, {"value": "yes"}),
        ("dialog", {"method": "select", "title": "x", "options": ["a"]}, {"value": "b"}),
        ("dialog", {"method": "input", "title": "x"}, {"confirmed": True}),
    ],
)
async def test_an_answer_that_does_not_fit_changes_nothing(
    streaming: Streaming, kind: str, proposal: dict[str, Any], said: dict[str, Any]
) -> None:
    name = await streaming.session()
    async with running(streaming) as runner:
        await prompt(streaming, name)
        held = await runner.take()
        await held.command("prompt")
        gate = await held.ask("q", kind, proposal)
        await refused(answer(streaming, name, gate.gate_id, **said), "INVALID_ANSWER")
        (shown,) = await gates(streaming, name, pb.SessionGate.STATE_OPEN)
        assert orjson.loads(shown.proposal_json) == proposal
        assert (await get(streaming, name)).state == State.STATE_WAITING


async def test_a_gate_expires_and_the_agent_goes_on(streaming: Streaming) -> None:
    name = await streaming.session()
    async with running(streaming) as runner:
        await prompt(streaming, name)
        held = await runner.take()
        await held.command("prompt")
        gate = await held.ask("q", "dialog", CONFIRM, timeout_seconds=1)
        said = (await held.command("gate_answer")).gate_answer
        assert (said.request_id, said.state, said.answer_json) == ("q", "expired", b"")
        await reached(streaming, name, State.STATE_RUNNING)
        lost = await refused(answer(streaming, name, gate.gate_id, confirmed=True), "GATE_CLOSED")
        assert lost["state"] == "expired"


async def test_the_agent_may_take_its_question_back(streaming: Streaming) -> None:
    from treadle.streaming.v1 import runner_service_pb2 as runners

    name = await streaming.session()
    async with running(streaming) as runner:
        await prompt(streaming, name)
        held = await runner.take()
        await held.command("prompt")
        await held.ask("q", "dialog", CONFIRM)
        await held.stored(await held.say(gate_gone=runners.GateGone(request_id="q", expired=True)))
        assert (await get(streaming, name)).state == State.STATE_RUNNING
        assert [gate.state for gate in await gates(streaming, name)] == [pb.SessionGate.STATE_EXPIRED]


async def _waiting(streaming: Streaming, runner: Any, name: str, *asks: tuple[str, str, Any]) -> tuple[Held, list[str]]:
    await prompt(streaming, name)
    held = await runner.take()
    await held.command("prompt")
    return held, [(await held.ask(*one)).gate_id for one in asks]


async def test_pub07_a_reviewers_gate_outlives_its_agent_and_its_answer_is_the_next_ones_input(
    start_impatient: StartReplica,
) -> None:
    streaming = await start_impatient()
    name = await streaming.session()
    async with running(streaming) as runner:
        held, (review, dialog) = await _waiting(
            streaming, runner, name, ("r", "join-review", JOINS), ("d", "dialog", CONFIRM)
        )
        runner.silence()  # killed
        await held.detach()
        async with asyncio.timeout(10):
            while (await get(streaming, name)).agent != pb.Session.AGENT_NONE:
                await asyncio.sleep(0.05)
        session = await get(streaming, name)
        assert session.state == State.STATE_WAITING
        states = {gate.id: gate.state for gate in await gates(streaming, name)}
        assert states == {review: pb.SessionGate.STATE_OPEN, dialog: pb.SessionGate.STATE_CANCELLED}
        await answer(streaming, name, review, value="continue")
        assert (await get(streaming, name)).state == State.STATE_RUNNING
        assert len((await ledger(streaming, name)).entries) == 1
        again = await runner.take()
        assert again.generation > held.generation  # every cold path begins a new generation first
        told_again = [(await again.command("gate_answer")).gate_answer for _ in range(2)]
        assert {(g.request_id, g.state) for g in told_again} == {("d", "cancelled"), ("r", "answered")}
        await again.settle(session.turn_id, final_text="went on")
        assert (await get(streaming, name)).outcome == "ok"


async def test_pub07_a_dialog_dies_with_its_agent(start_impatient: StartReplica) -> None:
    streaming = await start_impatient()
    name = await streaming.session()
    async with running(streaming) as runner:
        held, (dialog,) = await _waiting(streaming, runner, name, ("d", "dialog", CONFIRM))
        runner.silence()
        await held.detach()
        session = await reached(streaming, name, State.STATE_FAILED)
        assert session.code == "runner_lost"
        assert (await refused(answer(streaming, name, dialog, confirmed=True), "GATE_CLOSED"))["state"] == "cancelled"


async def test_pub22_a_half_emoji_in_a_proposal_becomes_a_replacement_character(
    streaming: Streaming, database: Database
) -> None:
    name = await streaming.session()
    async with running(streaming) as runner:
        held, (gate,) = await _waiting(
            streaming, runner, name, ("q", "dialog", b'{"method":"input","title":"x\\ud83dy\\u0000"}')
        )
        (shown,) = await gates(streaming, name)
        assert orjson.loads(shown.proposal_json) == {"method": "input", "title": "x\ufffdy\ufffd"}
        await answer(streaming, name, gate, value="")
        assert (await held.command("gate_answer")).gate_answer.answer_json == b'{"value":""}'
