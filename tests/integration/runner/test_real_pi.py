"""The real Pi with its faux provider and no network (design/streaming.md D2.7, 21), where it is installed.

Elsewhere the recorded logs stand for it (tests/unit/runner/sessions).
"""

from __future__ import annotations

import asyncio
import os
import signal
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from services.runner.application.agents import AgentFault
from services.runner.domain.agent import (
    ActivityDelta,
    AgentGone,
    GateKind,
    GateOpened,
    GateReply,
    Outcome,
    Status,
    TextDelta,
    TextReset,
    Tool,
    TurnFailure,
)
from services.runner.sessions.pi.adapter import Pi
from services.runner.sessions.pi.agent import PiAgent
from services.runner.sessions.pi.launch import PiInstallation
from tests.integration.runner.real_pi import COMMAND, NEEDS_PI, PATIENT, script
from tests.unit.runner.sessions.heard import Heard, task

pytestmark = NEEDS_PI
Open = Callable[..., Awaitable[tuple[PiAgent, Heard]]]


@pytest.fixture
async def open_pi(tmp_path: Path) -> AsyncIterator[Open]:
    opened: list[PiAgent] = []

    async def start(provider: str = "faux", thinking: str = "high", state: bytes | None = None) -> Any:
        heard = Heard()
        assert COMMAND is not None
        its_task = task(thinking=thinking, provider=provider, model="faux-1", state=state)
        agent = Pi(PiInstallation((COMMAND,), tmp_path), PATIENT).open(its_task, heard.emit)
        assert isinstance(agent, PiAgent)
        opened.append(agent)
        await agent.start()
        return agent, heard

    yield start
    for agent in opened:
        await agent.stop()


def bash(command: str, name: str = "c1") -> dict[str, Any]:
    return {"tools": [{"id": name, "name": "bash", "arguments": {"command": command}}]}


async def test_d27_01_thinking_and_text(open_pi: Open) -> None:
    agent, heard = await open_pi()
    await agent.prompt("Hello 😀, line\u2028separator")
    assert (await heard.settled()).text == "You said: Hello 😀, line\u2028separator" == heard.text
    assert heard.thinking == "Thinking about it."
    assert [type(event) for event in heard.events].index(TextDelta) > 0
    assert isinstance(heard.events[0], ActivityDelta)


async def test_d27_02_03_04_tools(open_pi: Open) -> None:
    agent, heard = await open_pi()
    tools = [*bash("sleep 0.4; echo SECRET")["tools"], *bash("exit 3", "c2")["tools"]]
    tools.append({"id": "c3", "name": "nope", "arguments": {}})
    await agent.prompt(script({"text": "Listing.", "tools": tools}, {"text": "Done."}))
    assert (await heard.settled()).text == "Listing.\n\nDone."
    ends = {tool.call_id: tool.status for tool in heard.of(Tool)}
    assert ends == {"c1": "completed", "c2": "failed", "c3": "failed"}
    assert "SECRET" not in repr(heard.events)


async def test_d27_07_retry_then_success(open_pi: Open) -> None:
    agent, heard = await open_pi()
    await agent.prompt(script({"text": "part", "error": "529 overloaded_error SECRET"}, {"text": "good"}))
    assert ((await heard.settled()).end, (await heard.settled()).text) == (Outcome.OK, "good")
    assert (len(heard.of(TextReset)), heard.of(Status)) == (1, [Status("retrying")])
    assert "SECRET" not in repr(heard.events)


async def test_d27_08_a_provider_error_is_a_code(open_pi: Open) -> None:
    agent, heard = await open_pi()
    await agent.prompt(script({"error": "401 SECRET"}))
    assert (await heard.settled()).end is TurnFailure.PROVIDER_ERROR
    await agent.prompt("still there?")
    assert (await heard.settled(2)).text == "You said: still there?"


async def test_d27_09_aborts_in_text_tool_retry_and_dialog(open_pi: Open) -> None:
    agent, heard = await open_pi(provider="faux-slow")

    async def aborted(number: int) -> None:
        await agent.abort()
        assert (await heard.settled(number)).end is Outcome.ABORTED

    await agent.prompt(script({"text": "word " * 2000}))
    await heard.until(TextDelta, 3)
    await aborted(1)
    await agent.prompt(script(bash("sleep 61"), {"text": "x"}))
    await heard.until(Tool)
    await aborted(2)
    await agent.prompt(script({"error": "529 overloaded_error"}, {"text": "good"}))
    await heard.until(Status)
    await aborted(3)
    dialog = {"id": "d1", "name": "ask_person", "arguments": {"method": "confirm", "title": "Sure?"}}
    await agent.prompt(script({"tools": [dialog]}, {"text": "x"}))
    await heard.until(GateOpened)
    await aborted(4)


@pytest.mark.parametrize(
    ("method", "reply", "said"),
    [("select", GateReply(value="Reject"), "Reject"), ("confirm", GateReply(confirmed=True), "true")],
)
async def test_d27_11_a_dialog_is_answered(open_pi: Open, method: str, reply: GateReply, said: str) -> None:
    agent, heard = await open_pi()
    dialog = {"id": "d1", "name": "ask_person", "arguments": {"method": method, "title": "Sure?"}}
    await agent.prompt(script({"tools": [dialog]}, {"text": "went on"}))
    gate = await heard.until(GateOpened)
    await agent.answer_gate(gate.key, reply)
    assert (await heard.settled()).text == "went on"
    state = await agent.state()
    assert state is not None
    assert f'"text":"{said}"'.encode() in state


async def test_d27_11_a_dialog_with_its_own_time_goes_on_by_itself(open_pi: Open) -> None:
    agent, heard = await open_pi()
    dialog = {"id": "d1", "name": "ask_person", "arguments": {"method": "confirm", "title": "?", "timeout": 100}}
    await agent.prompt(script({"tools": [dialog]}, {"text": "went on"}))
    assert (await heard.until(GateOpened)).timeout == 5
    assert (await heard.settled()).text == "went on"


async def test_the_reviewer_is_asked_by_our_extension(open_pi: Open) -> None:
    agent, heard = await open_pi()
    proposal = {"joins": [{"left": "a", "right": "b", "type": "same"}]}
    call = {"id": "r1", "name": "reviewer_decide", "arguments": {"kind": "join-review", "proposal": proposal}}
    await agent.prompt(script({"tools": [call]}, {"text": "thanks"}))
    gate = await heard.until(GateOpened)
    assert (gate.kind, gate.proposal) == (GateKind.JOIN_REVIEW, proposal)
    await agent.answer_gate(gate.key, GateReply(value="other", text="a is not b"))
    await heard.settled()
    state = await agent.state()
    assert state is not None
    assert b"Other: a is not b" in state


async def test_d27_12_steering(open_pi: Open) -> None:
    agent, heard = await open_pi()
    await agent.prompt(script(bash("sleep 1"), {"text": "after steer"}))
    await heard.until(Tool)
    assert await agent.steer("please stop") is True
    assert (await heard.settled()).end is Outcome.OK
    assert "after steer" in heard.text
    assert await agent.steer("hello") is False
    await agent.prompt("and now?")
    assert (await heard.settled(2)).text == "You said: and now?"


async def test_d27_13_a_conversation_goes_on_and_thinks_as_it_did(open_pi: Open) -> None:
    agent, heard = await open_pi(thinking="high")
    await agent.prompt("first")
    await heard.settled()
    state = await agent.state()
    assert state is not None
    await agent.stop()
    other, later = await open_pi(thinking="high", state=state)
    await other.prompt("second")
    await later.settled()
    grown = await other.state()
    assert grown is not None
    assert grown.startswith(state.splitlines()[0])
    assert b"You said: first" in grown
    assert b"You said: second" in grown
    with pytest.raises(AgentFault):
        await open_pi(state=b'{"type":"session","broken"\n{"type":"message"}\n')


async def test_d27_14_a_level_that_the_model_lacks_is_lowered_and_never_off(open_pi: Open) -> None:
    agent, heard = await open_pi(thinking="xhigh")
    await agent.prompt("hello")
    await heard.settled()
    assert heard.thinking


async def test_d27_10_a_death_in_a_turn(open_pi: Open) -> None:
    agent, heard = await open_pi()
    await agent.prompt(script({"tools": [{"id": "x", "name": "die", "arguments": {"code": 7}}]}))
    assert (await heard.settled()).end is TurnFailure.CHILD_EXIT
    await heard.until(AgentGone)
    assert [tool.status for tool in heard.of(Tool)] == ["running", "failed"]


@pytest.mark.parametrize("cause", ["stop", "abort", "killed", "terminated"])
async def test_d27_20b_no_stop_leaves_an_orphan(open_pi: Open, cause: str) -> None:
    agent, heard = await open_pi()
    sleep = f"6{uuid.uuid4().int % 10**9}"
    await agent.prompt(script(bash(f"sleep {sleep}"), {"text": "x"}))

    def running() -> list[int]:
        dead = psutil.STATUS_ZOMBIE
        every = psutil.process_iter(["cmdline", "status"])
        return [p.pid for p in every if p.info["cmdline"] == ["sleep", sleep] and p.info["status"] != dead]

    async with asyncio.timeout(60):
        while not running():
            await asyncio.sleep(0.01)
    assert agent._child is not None
    match cause:
        case "stop":
            await agent.stop()
        case "abort":
            await agent.abort()
            await heard.settled()
        case "killed":
            os.kill(agent._child.pid, signal.SIGKILL)
            await heard.until(AgentGone)
        case _:
            os.kill(agent._child.pid, signal.SIGTERM)
            await heard.until(AgentGone)
    async with asyncio.timeout(60):
        while running():
            await asyncio.sleep(0.01)


async def test_d27_16_a_long_answer(open_pi: Open) -> None:
    agent, heard = await open_pi()
    await agent.prompt(script({"text": "0123456789" * 2_000}))
    assert len((await heard.settled()).text) == 20_000 == len(heard.text)
