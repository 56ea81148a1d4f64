"""`shell`: one command, off unless TREADLE_SHELL=1 (design/threads.md §0.10). It is no sandbox.

Owns whatever the command has started, also in sessions of its own: at the end, at a cancel and at a timeout nothing of
it is left.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any, Final

from services.runner import processes
from services.runner.domain.failure import Code, Failed
from services.runner.domain.task import ExecutionTask

NAME: Final = "shell"
MOST_OUTPUT: Final = 64 * 1024
"""Bytes of output that are kept; the rest is read and dropped, so that the command never blocks on it."""
_TERM_SECONDS: Final = 2.0
PARAMETERS: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "command": {"type": "string", "minLength": 1, "maxLength": 8192, "description": "For /bin/sh -c."},
        "timeout_seconds": {"type": "number", "exclusiveMinimum": 0, "maximum": 600, "description": "Default 60."},
    },
    "required": ["command"],
    "additionalProperties": False,
}


class Shell:
    """Runs a command in the files folder, with a small environment and no standard input."""

    name = NAME
    parameters = PARAMETERS

    def __init__(self, folder: Path, *, enabled: bool, timeout: float = 60.0) -> None:
        self._folder = folder
        self._enabled = enabled
        self._timeout = timeout

    async def execute(self, task: ExecutionTask) -> Mapping[str, Any]:
        """Answers `{exit_code, output, truncated}`; another exit code than 0 is a failure."""
        if not self._enabled:
            raise Failed(Code.ACTION_DISABLED, "TREADLE_SHELL is not set")
        timeout = float(task.parameters.get("timeout_seconds", self._timeout))
        mark = processes.new_mark()
        process = await _owned(self._launch(task.parameters["command"], mark), mark)
        output = _Output()
        try:
            async with asyncio.timeout(timeout):
                await output.read(process)
                code = await process.wait()
        except TimeoutError as fault:
            raise Failed(Code.TIMEOUT, f"not done within {timeout} s; output: {output.text()}") from fault
        finally:
            await _end(process, mark)
        if code != 0:
            raise Failed(Code.ACTION_FAILED, f"exit code {code}; output: {output.text()}")
        return {"exit_code": code, "output": output.text(), "truncated": output.truncated}

    async def _launch(self, command: str, mark: str) -> Process:
        if "\0" in command:
            raise Failed(Code.INVALID_PARAMETERS, "the command holds a NUL")
        self._folder.mkdir(parents=True, exist_ok=True)
        environment = {
            "PATH": os.defpath,
            "HOME": str(self._folder),
            "LANG": "C.UTF-8",
            processes.COMMAND_MARK: mark,
        }
        return await asyncio.create_subprocess_exec(
            "/bin/sh",
            "-c",
            command.encode("utf-8", "replace"),
            cwd=self._folder,
            env=environment,
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=STDOUT,
            start_new_session=True,
        )


class _Output:
    """What the command wrote, standard error included, up to the cap."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self.truncated = False

    async def read(self, process: Process) -> None:
        """Until the command and everything that inherited its output have closed it."""
        assert process.stdout is not None
        while piece := await process.stdout.read(16 * 1024):
            room = MOST_OUTPUT - len(self._kept)
            self._kept += piece[:room]
            self.truncated = self.truncated or len(piece) > room

    def text(self) -> str:
        """As text; undecodable bytes are U+FFFD."""
        return self._kept.decode("utf-8", "replace")


async def _owned(launching: Coroutine[Any, Any, Process], mark: str) -> Process:
    """The launched process. A cancel that comes while it is being launched waits for it, and ends it with all that it
    has started: asyncio itself would kill the command alone."""
    task = asyncio.ensure_future(launching)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await _end(await task, mark)
        raise


async def _end(process: Process, mark: str) -> None:
    """TERM, two seconds, KILL: for the whole group, also when the command itself has ended and left children, and
    also when we are cancelled meanwhile; then whatever left the group."""
    left = processes.descendants(process.pid)
    _signal(process, signal.SIGTERM)
    try:
        if process.returncode is None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_TERM_SECONDS):
                    await process.wait()
    finally:
        left |= await asyncio.shield(asyncio.to_thread(processes.marked, mark, processes.COMMAND_MARK))
        _signal(process, signal.SIGKILL)
        processes.kill(left)
    await process.wait()


def _signal(process: Process, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
