"""A running Pi: reads its records through the mapper, sends what the mapper says, watches for silence (D2)."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass
from itertools import count
from typing import Any

from services.kernel import telemetry
from services.runner.application.agents import AgentFault, Emit
from services.runner.domain.agent import GateReply, Outcome, TurnFailure, Usage
from services.runner.domain.context import with_context
from services.runner.sessions.pi.child import Child
from services.runner.sessions.pi.framing import BrokenFraming, Framing, Record, written
from services.runner.sessions.pi.launch import RENEW, Launch
from services.runner.sessions.pi.mapper import Mapper, Send, Step

_log = telemetry.get_logger("runner.pi")


@dataclass(frozen=True, slots=True)
class PiTiming:
    """Seconds."""

    start: float = 60.0
    silence: float = 600.0
    """A provider that says nothing for so long, with no tool and no dialog at work, is given up."""
    abort: float = 2.0
    """How long an abort may take before the child is stopped."""


class PiAgent:
    """Implements application.agents.Agent over one child process."""

    def __init__(self, launch: Launch, emit: Emit, timing: PiTiming) -> None:
        self._launch = launch
        self._emit = emit
        self._timing = timing
        self._mapper = Mapper()
        self._framing = Framing()
        self._ids = (f"c{number}" for number in count(1))
        self._child: Child | None = None
        self._answers: dict[str, asyncio.Future[Record]] = {}
        self._duties: list[asyncio.Task[None]] = []
        self._saying = asyncio.Lock()
        self._settled = asyncio.Event()
        self._heard_at = time.monotonic()
        self._why: Outcome | TurnFailure = TurnFailure.CHILD_EXIT
        self._stopping = False

    @property
    def usage(self) -> Usage:
        """Of the newest turn."""
        return self._mapper.usage

    async def start(self) -> None:
        """Launches Pi, waits for its first word, and checks that it took the state that it was given."""
        self._child = await self._launch.child()
        self._duties.append(asyncio.create_task(self._read(self._child), name="pi.read"))
        self._duties.append(asyncio.create_task(self._watch(), name="pi.watch"))
        try:
            async with asyncio.timeout(self._timing.start):
                state = await self._ask("get_state")
        except TimeoutError:
            raise AgentFault(f"Pi did not answer in {self._timing.start} s: {self._child.last_words}") from None
        self._launch.check(state)

    async def prompt(self, text: str, context: str = "", turn: str = "") -> None:
        """Begins a turn. Its tools are called by Pi itself, which is told the turn with the words."""
        self._settled.clear()
        text = self._launch.prompt(with_context(text, context), turn)
        await self._do(lambda: self._mapper.prompt(next(self._ids), text))

    async def steer(self, text: str) -> bool:
        """In the middle of a turn. A turn that settles meanwhile takes no words."""
        async with self._saying:
            running = self._mapper.running
            await self._carry_out(self._mapper.steer(next(self._ids), text))
        return running

    async def abort(self) -> None:
        """A child that does not abort in time is stopped; the turn is aborted all the same."""
        if not self._mapper.running:
            return
        self._settled.clear()
        await self._do(lambda: self._mapper.abort(next(self._ids)))
        await self._stop_unless_settled(Outcome.ABORTED)

    async def answer_gate(self, key: str, reply: GateReply) -> None:
        """Closes a dialog."""
        await self._do(lambda: self._mapper.answer(key, reply))

    async def renew(self, token: str) -> None:
        """By a command of our extension, which Pi takes in the middle of a turn as well."""
        if self._child is not None and self._launch.has_tools:
            told = {"id": next(self._ids), "type": "prompt", "message": f"{RENEW} {token}"}
            await self._child.write(written(told))

    async def state(self) -> bytes | None:
        """Pi's session file."""
        return await asyncio.to_thread(self._launch.state)

    async def stop(self) -> None:
        """Dialogs are cancelled, the turn is aborted, then the ladder."""
        self._stopping = True
        try:
            if self._child is not None and self._mapper.running:
                self._settled.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self._timing.abort):
                        await self._do(lambda: self._mapper.abort(next(self._ids)))
                        await self._settled.wait()
        finally:
            for duty in self._duties:
                duty.cancel()
            if self._child is not None:
                await self._child.stop()
            await asyncio.gather(*self._duties, return_exceptions=True)
            await asyncio.to_thread(self._launch.clean)

    async def _do(self, command: Any) -> None:
        """What a command of ours means, in one piece: records wait meanwhile."""
        async with self._saying:
            await self._carry_out(command())

    async def _carry_out(self, steps: list[Step]) -> None:
        self._heard_at = time.monotonic()
        for step in steps:
            if isinstance(step, Send):
                if self._child is not None:
                    await self._child.write(written(step.record))
            elif not self._stopping:
                await self._emit(step)
        if not self._mapper.running:
            self._settled.set()

    async def _ask(self, command: str) -> Record:
        """A command with an answer. Raises AgentFault when Pi ends before it."""
        assert self._child is not None
        command_id = next(self._ids)
        answer: asyncio.Future[Record] = asyncio.get_running_loop().create_future()
        self._answers[command_id] = answer
        await self._child.write(written({"id": command_id, "type": command}))
        return await answer

    async def _read(self, child: Child) -> None:
        """Until the end of its output, or of its good manners."""
        try:
            while piece := await child.read():
                for record in self._framing.feed(piece):
                    await self._hear(record)
            if (last := self._framing.end()) is not None:
                await self._hear(last)
        except BrokenFraming as fault:
            _log.warning("pi.broken_framing", fault=str(fault))
            self._why = TurnFailure.PROTOCOL_ERROR
        code = await child.stop()
        _log.info("pi.ended", exit_code=code, why=self._why, ignored=self._framing.ignored, said=child.last_words)
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(AgentFault(f"Pi ended with {code}: {child.last_words}"))
        async with self._saying:
            await self._carry_out(self._mapper.gone(self._why))

    async def _hear(self, record: Record) -> None:
        if record["type"] == "response" and (waiting := self._answers.pop(str(record.get("id")), None)) is not None:
            if not waiting.done():
                waiting.set_result(record)
            return
        async with self._saying:
            await self._carry_out(self._mapper.record(record))

    async def _watch(self) -> None:
        """Silence while a turn runs and neither a tool nor a dialog is at work: abort, then the ladder."""
        while True:
            quiet = time.monotonic() - self._heard_at
            await asyncio.sleep(max(0.05, self._timing.silence - quiet))
            quiet = time.monotonic() - self._heard_at
            if not self._mapper.running or self._mapper.busy or quiet < self._timing.silence:
                if quiet >= self._timing.silence:
                    self._heard_at = time.monotonic()
                continue
            _log.warning("pi.silent", seconds=quiet)
            self._settled.clear()
            await self._do(lambda: self._mapper.abort(next(self._ids), TurnFailure.PROVIDER_TIMEOUT))
            await self._stop_unless_settled(TurnFailure.PROVIDER_TIMEOUT)

    async def _stop_unless_settled(self, why: Outcome | TurnFailure) -> None:
        try:
            async with asyncio.timeout(self._timing.abort):
                await self._settled.wait()
        except TimeoutError:
            self._why = why
            if self._child is not None:
                await self._child.stop()
