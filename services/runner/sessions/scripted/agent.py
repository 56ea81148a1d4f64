"""The scripted agent: does what the prompt says, step by step; it may be steered and aborted at any point.

Deterministic: the same prompts give the same events. Steering is a list of steps that goes before what is left. A word
is a token.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections import deque
from collections.abc import Mapping
from itertools import count
from typing import Any, Final, assert_never

import orjson

from services.runner.application.agents import Agent, AgentFault, Emit
from services.runner.application.no_tools import NoTools
from services.runner.application.tools import ToolAnswer, Toolbox, Tools
from services.runner.domain.agent import (
    THINKING_LEVELS,
    AgentGone,
    AgentTask,
    GateClosed,
    GateEnd,
    GateOpened,
    GateReply,
    GateState,
    Outcome,
    Tool,
    ToolStatus,
    TurnFailure,
    TurnSettled,
    Usage,
)
from services.runner.domain.reply import Reply
from services.runner.sessions.scripted.directives import (
    Ask,
    Cut,
    Fail,
    Leave,
    Pace,
    Recall,
    RunTool,
    Say,
    Step,
    Think,
    Void,
    Wait,
    steps_of,
)
from services.runner.sessions.scripted.team import Await, Call, Collect, Report, Spawn, TellContext
from services.runner.sessions.scripted.teamwork import Teamwork

_WORDS: Final = re.compile(r"\s*\S+\s*")
_REMEMBERED: Final = 1_000


class _Ended(Exception):
    """A step ends the turn."""

    def __init__(self, end: Outcome | TurnFailure) -> None:
        self.end = end


class Scripted:
    """Implements application.agents.Agents."""

    name = "scripted"

    def __init__(self, pace: float = 0.0, toolbox: Toolbox | None = None) -> None:
        """`pace`: seconds between pieces."""
        self._pace = pace
        self._toolbox = toolbox or NoTools()

    def open(self, task: AgentTask, emit: Emit) -> Agent:
        """An agent that remembers what an earlier one left."""
        return ScriptedAgent(task, emit, self._pace, self._toolbox)


class ScriptedAgent:
    """Implements application.agents.Agent."""

    def __init__(self, task: AgentTask, emit: Emit, pace: float, toolbox: Toolbox) -> None:
        self._task = task
        self._token = task.token
        self._emit = emit
        self._pace = pace
        self._toolbox = toolbox
        self._team: Teamwork | None = None
        self._context = ""
        self._turn_id = ""
        self._usage = Usage()
        self._reply = Reply()
        self._said = 0
        self._prompts: list[str] = []
        self._calls = count(1)
        self._gates = count(1)
        self._steps: deque[Step] = deque()
        self._tool: Tool | None = None
        self._gate: GateOpened | None = None
        self._answer: asyncio.Future[GateReply] | None = None
        self._turn: asyncio.Task[None] | None = None
        self._running = False

    @property
    def usage(self) -> Usage:
        """Of the newest turn."""
        return self._usage

    async def start(self) -> None:
        """Raises AgentFault for the provider `broken`, a strange thinking level, and a state that is not ours."""
        if self._task.thinking not in THINKING_LEVELS or self._task.provider == "broken":
            raise AgentFault(f"provider {self._task.provider!r}, thinking {self._task.thinking!r}")
        if self._task.state is not None:
            try:
                self._prompts = list(map(str, orjson.loads(self._task.state)["prompts"]))
            except (orjson.JSONDecodeError, KeyError, TypeError) as fault:
                raise AgentFault(f"the state cannot be read: {fault!r}") from fault

    async def prompt(self, text: str, context: str = "", turn: str = "") -> None:
        """Begins a turn."""
        self._context = context
        self._turn_id = turn
        self._usage = Usage(read=len(text.split()) + len(context.split()))
        self._prompts = [*self._prompts, text][-_REMEMBERED:]
        self._reply.begin()
        self._steps = deque(steps_of(text, context))
        self._running = True
        self._turn = asyncio.create_task(self._run(), name="scripted.turn")

    async def steer(self, text: str) -> bool:
        """The steps of these words come before what is left."""
        if not self._running:
            return False
        self._steps.extendleft(reversed(self._steered(text)))
        await self._cancel_gate()
        return True

    async def abort(self) -> None:
        """At once."""
        if self._running and self._turn is not None:
            self._turn.cancel()
            await asyncio.gather(self._turn, return_exceptions=True)
            await self._settle(Outcome.ABORTED)

    async def answer_gate(self, key: str, reply: GateReply) -> None:
        """Closes the gate."""
        if self._gate is not None and self._gate.key == key and self._answer is not None and not self._answer.done():
            self._gate = None
            self._answer.set_result(reply)

    async def renew(self, token: str) -> None:
        """From the next call on."""
        self._token = token

    async def state(self) -> bytes | None:
        """The prompts so far."""
        return orjson.dumps({"prompts": self._prompts})

    async def stop(self) -> None:
        """Without a word."""
        if self._turn is not None:
            self._turn.cancel()
            await asyncio.gather(self._turn, return_exceptions=True)

    async def _run(self) -> None:
        end: Outcome | TurnFailure = Outcome.OK
        try:
            async with self._toolbox.open(lambda: self._token, self._turn_id) as tools:
                self._team = Teamwork(lambda name, arguments: self._use(tools, name, arguments), self._context)
                while self._steps:
                    await self._do(self._steps.popleft())
        except _Ended as ended:
            end = ended.end
        await self._settle(end)
        if end is TurnFailure.CHILD_EXIT:
            await self._emit(AgentGone())

    async def _settle(self, end: Outcome | TurnFailure) -> None:
        self._running = False
        if self._tool is not None:
            await self._end_tool(ToolStatus.FAILED)
        await self._cancel_gate()
        await self._emit(TurnSettled(end, self._reply.standing, self._usage))

    async def _do(self, step: Step) -> None:
        match step:
            case Think(words):
                if self._task.thinking != "off":
                    await self._stream(words, thinking=True)
            case Say(words):
                await self._stream(words, thinking=False)
            case RunTool(name, fails):
                await self._begin_tool(name)
                await asyncio.sleep(self._pace)
                await self._end_tool(ToolStatus.FAILED if fails else ToolStatus.COMPLETED)
            case Ask():
                await self._ask(step)
            case Wait(seconds):
                await asyncio.sleep(seconds)
            case Pace(seconds):
                self._pace = seconds
            case Recall():
                before = self._prompts[:-1]
                await self._stream(f"I remember {len(before)} turns, the last: {before[-1] if before else '-'}", False)
            case Void():
                for message in range(1, self._said + 1):
                    for event in self._reply.discard(message):
                        await self._emit(event)
            case Cut():
                raise _Ended(Outcome.TRUNCATED)
            case Fail():
                raise _Ended(TurnFailure.PROVIDER_ERROR)
            case Leave():
                raise _Ended(TurnFailure.CHILD_EXIT)
            case Spawn() | Await() | Collect() | Call() | Report() | TellContext():
                assert self._team is not None
                if words := await self._team.do(step):
                    await self._stream(words, thinking=False)
            case _:
                assert_never(step)

    async def _use(self, tools: Tools, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """A tool of the gateway, shown."""
        await self._begin_tool(name)
        answer = await tools.call(name, arguments)
        await self._end_tool(ToolStatus.FAILED if answer.failed else ToolStatus.COMPLETED)
        return answer

    async def _stream(self, words: str, thinking: bool) -> None:
        """Word by word, each block its own."""
        self._said += 1
        say = self._reply.thinking if thinking else self._reply.text
        for piece in _WORDS.findall(words):
            self._usage += Usage(written=1)
            for event in say((self._said, 0), piece):
                await self._emit(event)
            await asyncio.sleep(self._pace)

    async def _ask(self, step: Ask) -> None:
        """Waits for the reviewer; what was said is said back."""
        answer = self._answer = asyncio.get_running_loop().create_future()
        self._gate = GateOpened(f"gate-{next(self._gates)}", step.kind, step.proposal)
        await self._emit(self._gate)
        reply = await answer
        if reply.state is GateState.ANSWERED:
            chosen = reply.value if reply.confirmed is None else ("yes" if reply.confirmed else "no")
            words = " ".join(part for part in (chosen, reply.text) if part)
            await self._stream(f"The reviewer said: {words}.", thinking=False)
        else:
            await self._stream(f"No answer: {' '.join(filter(None, (reply.state, reply.text)))}.", thinking=False)

    async def _cancel_gate(self) -> None:
        """Steering, an abort and the end of the turn make an open gate void."""
        gate, self._gate = self._gate, None
        if gate is None:
            return
        await self._emit(GateClosed(gate.key, GateEnd.CANCELLED))
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(GateReply(GateState.CANCELLED))

    async def _begin_tool(self, name: str) -> None:
        self._tool = Tool(f"call_{next(self._calls)}", name, ToolStatus.RUNNING)
        await self._emit(self._tool)

    async def _end_tool(self, status: ToolStatus) -> None:
        tool, self._tool = self._tool, None
        if tool is not None:
            await self._emit(Tool(tool.call_id, tool.name, status))

    def _steered(self, text: str) -> list[Step]:
        steps = steps_of(text)
        with contextlib.suppress(IndexError):
            if isinstance(steps[0], Think) and steps[1:] == [Say(f"You said: {text.strip()}")]:
                return [Say(f"Steered: {text.strip()}")]
        return steps
