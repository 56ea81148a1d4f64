"""Pi's process: pipes, and the ladder that stops it without orphans (design/streaming.md D2.5). Knows no event.

stderr is read always and kept nowhere but its last lines, for the log; it is never forwarded. stdin is not closed to
stop a busy child: that would leave its commands running.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, Self

from services.runner import processes
from services.runner.application.agents import AgentFault

TERM_SECONDS: Final = 3.0
_PIECE: Final = 64 * 1024
_TAIL_BYTES: Final = 4 * 1024


class Child:
    """One process. `read` its output to the end, then `stop` it in any case."""

    def __init__(self, process: Process, mark: str) -> None:
        self._process = process
        self._mark = mark
        self._tail = bytearray()
        self._draining = asyncio.create_task(self._drain_stderr(), name="pi.stderr")

    @classmethod
    async def launch(cls, command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> Self:
        """Raises AgentFault when there is no such program."""
        mark = processes.new_mark()
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                cwd=folder,
                env={**environment, processes.MARK: mark},
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                start_new_session=True,
            )
        except OSError as fault:
            raise AgentFault(f"{command[0]} could not be started: {fault}") from fault
        return cls(process, mark)

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._process.pid

    @property
    def last_words(self) -> str:
        """The end of its stderr: for the log alone."""
        return self._tail.decode("utf-8", "replace")

    async def read(self) -> bytes:
        """Some output; empty at its end."""
        assert self._process.stdout is not None
        return await self._process.stdout.read(_PIECE)

    async def write(self, line: bytes) -> None:
        """A child that has ended takes nothing; its output says so."""
        assert self._process.stdin is not None
        with contextlib.suppress(ConnectionError, RuntimeError):
            self._process.stdin.write(line)
            await self._process.stdin.drain()

    async def stop(self) -> int:
        """SIGTERM, three seconds, SIGKILL; then whatever it left. Answers the exit code."""
        left = processes.descendants(self.pid)
        try:
            if self._process.returncode is None:
                self._signal(signal.SIGTERM)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(TERM_SECONDS):
                        await self._process.wait()
        finally:
            left |= await asyncio.shield(asyncio.to_thread(processes.marked, self._mark))
            self._signal(signal.SIGKILL)
            processes.kill(left)
            self._draining.cancel()
        return await self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    async def _drain_stderr(self) -> None:
        assert self._process.stderr is not None
        while piece := await self._process.stderr.read(_PIECE):
            self._tail += piece
            del self._tail[:-_TAIL_BYTES]
