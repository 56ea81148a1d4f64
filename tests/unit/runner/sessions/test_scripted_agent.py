"""The scripted agent: directives, steering and aborting at any point, what it remembers."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.runner.application.agents import Agent, AgentFault
from services.runner.domain.agent import (
    ActivityDelta,
    AgentGone,
    GateClosed,
    GateEnd,
    GateKind,
    GateOpened,
    GateReply,
    GateState,
    Outcome,
    TextDelta,
    TextReset,
    Tool,
    TurnFailure,
)
from services.runner.sessions.scripted.agent import Scripted
from services.runner.sessions.scripted.directives import Say, Think, steps_of
from tests.unit.runner.sessions.heard import Heard, task


async def agent_of(heard: Heard, **more: str) -> Agent:
    agent = Scripted().open(task(**more), heard.emit)
    await agent.start()
    return agent


async def played(prompt: str, **more: str) -> Heard:
    heard = Heard()
    agent = await agent_of(heard, **more)
    await agent.prompt(prompt)
    await heard.settled()
    await agent.stop()
    return heard


async def test_a_plain_prompt_is_thought_about_and_said_back_the_same_way_each_time() -> None:
    first, second = await played("Good morning"), await played("Good morning")
    assert first.events == second.events
    assert first.thinking == "The prompt has 2 words."
    assert first.text == "You said: Good morning"
    assert (await first.settled()).text == first.text


async def test_thinking_is_off_only_when_the_session_says_so() -> None:
    assert (await played("[[think hard]] x", thinking="off")).of(ActivityDelta) == []
    assert (await played("[[think hard]] x", thinking="minimal")).thinking == "hard"


async def test_what_stands_in_the_prompt_happens_from_left_to_right() -> None:
    heard = await played("one [[tool bash]] two [[tool sh fail]] [[words 3]] [[nonsense]] end")
    tools = [(tool.name, tool.status) for tool in heard.of(Tool)]
    assert tools == [("bash", "running"), ("bash", "completed"), ("sh", "running"), ("sh", "failed")]
    assert (await heard.settled()).text == "one\n\ntwo\n\nword1 word2 word3\n\n[[nonsense]] end"


@pytest.mark.parametrize(
    ("prompt", "end"),
    [
        ("x [[fail]] y", TurnFailure.PROVIDER_ERROR),
        ("x [[exit]]", TurnFailure.CHILD_EXIT),
        ("x [[cut]]", Outcome.TRUNCATED),
    ],
)
async def test_a_turn_ends_as_it_is_told(prompt: str, end: Outcome | TurnFailure) -> None:
    heard = await played(prompt)
    assert (await heard.settled()).end is end
    assert bool(heard.of(AgentGone)) is (end is TurnFailure.CHILD_EXIT)


async def test_a_reset_makes_what_was_said_void() -> None:
    heard = await played("wrong [[reset]] right")
    assert [event.blocks for event in heard.of(TextReset)] == [(1,)]
    assert (await heard.settled()).text == "right"


@pytest.mark.parametrize(
    ("directive", "kind"),
    [
        ("gate choice a|b|other", GateKind.CHOICE),
        ("gate confirm Sure?", GateKind.DIALOG),
        ("join a=b:same, c=d:part_of", GateKind.JOIN_REVIEW),
        ("summary design|All is drawn.|Which colour?", GateKind.PHASE_SUMMARY),
    ],
)
async def test_a_gate_waits_for_its_answer(directive: str, kind: GateKind) -> None:
    heard = Heard()
    agent = await agent_of(heard)
    await agent.prompt(f"[[{directive}]] done")
    gate = await heard.until(GateOpened)
    assert gate.kind is kind
    await agent.answer_gate("another", GateReply(value="x"))
    await agent.answer_gate(gate.key, GateReply(value="continue"))
    await agent.answer_gate(gate.key, GateReply(value="twice"))
    assert (await heard.settled()).text == "The reviewer said: continue.\n\ndone"


async def test_an_empty_set_of_joins_that_is_refused_is_heard() -> None:
    heard = Heard()
    agent = await agent_of(heard)
    await agent.prompt("[[join]]")
    gate = await heard.until(GateOpened)
    assert gate.proposal == {"joins": []}
    await agent.answer_gate(gate.key, GateReply(GateState.REFUSED, text="joins must not be empty"))
    assert (await heard.settled()).text == "No answer: refused joins must not be empty."


async def test_steering_in_a_gate_cancels_it_and_goes_on() -> None:
    heard = Heard()
    agent = await agent_of(heard)
    await agent.prompt("[[gate choice a|b]] rest")
    gate = await heard.until(GateOpened)
    await agent.steer("hurry up")
    assert (await heard.settled()).text == "No answer: cancelled.\n\nSteered: hurry up\n\nrest"
    assert heard.of(GateClosed) == [GateClosed(gate.key, GateEnd.CANCELLED)]


async def test_an_idle_agent_is_not_steered() -> None:
    heard = Heard()
    agent = await agent_of(heard)
    assert await agent.steer("hello") is False
    assert heard.events == []


@given(wait=st.integers(0, 30))
async def test_d27_09_an_abort_at_any_point_settles_once_and_leaves_nothing_open(wait: int) -> None:
    heard = Heard()
    agent = await agent_of(heard)
    await agent.prompt("[[think a b]] [[tool t]] c d [[gate choice a|b]] [[slow 60s]]")
    for _ in range(wait):
        await asyncio.sleep(0)
    await agent.abort()
    await agent.abort()
    assert (await heard.settled()).end is Outcome.ABORTED
    assert len(heard.of(Tool)) in (0, 2)
    assert len(heard.of(GateOpened)) == len(heard.of(GateClosed))
    await agent.prompt("again")
    assert (await heard.settled(2)).text == "You said: again"


async def test_what_it_remembers_goes_on_in_another_agent() -> None:
    heard = Heard()
    agent = await agent_of(heard)
    await agent.prompt("first words")
    await heard.settled()
    state = await agent.state()
    later = Heard()
    other = Scripted().open(task(state=state), later.emit)
    await other.start()
    await other.prompt("[[recall]]")
    assert (await later.settled()).text == "I remember 1 turns, the last: first words"


@pytest.mark.parametrize("wrong", [task("loud"), task(provider="broken"), task(state=b"{}"), task(state=b"x")])
async def test_d27_14_what_it_cannot_start_with_is_refused(wrong: object) -> None:
    with pytest.raises(AgentFault):
        await Scripted().open(wrong, Heard().emit).start()  # type: ignore[arg-type]


@given(st.text(max_size=200))
def test_any_text_is_a_prompt(text: str) -> None:
    assert steps_of(text)


@given(st.text(st.characters(exclude_characters="[]")))
def test_text_without_directives_is_said_back_whole(text: str) -> None:
    first, second = steps_of(text)
    assert isinstance(first, Think)
    assert second == Say(f"You said: {text.strip()}")


async def test_words_come_as_pieces() -> None:
    assert len((await played("[[words 50]]")).of(TextDelta)) == 50
