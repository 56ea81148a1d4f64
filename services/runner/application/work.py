"""What the runner does for each kind of job: from the payload's bytes to the result's bytes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, TypeAlias

from services.kernel import telemetry
from services.runner.application.ports import Action, Kind, LeasedJob, Provider
from services.runner.domain.failure import Code, Failed
from services.runner.domain.task import ExecutionTask, Guess, InferenceTask

_log = telemetry.get_logger("runner.work")
Begin: TypeAlias = Callable[[], Awaitable[None]]
"""Tells the owner that the first effect follows; raises a refusal when the lease is lost."""


class Codec(Protocol):
    """The JSON of payloads and results."""

    def inference_task(self, job: LeasedJob) -> InferenceTask: ...

    def execution_task(self, job: LeasedJob) -> ExecutionTask: ...

    def guess(self, guess: Guess) -> bytes: ...

    def result(self, result: Mapping[str, Any]) -> bytes: ...


class Actions(Protocol):
    """Where actions are found, their parameters checked."""

    def find(self, name: str, parameters: Mapping[str, Any]) -> Action: ...


class Work:
    """Does a job. Raises Failed; whatever else is raised is a bug of ours or of an action."""

    def __init__(self, codec: Codec, provider: Provider, actions: Actions) -> None:
        self._codec = codec
        self._provider = provider
        self._actions = actions

    async def do(self, job: LeasedJob, begin: Begin) -> bytes:
        """The result as JSON. `begin` is awaited before the first effect of an execution, and only there."""
        match job.kind:
            case Kind.INFERENCE:
                return await self._infer(job)
            case Kind.EXECUTION:
                return await self._execute(job, begin)

    async def _infer(self, job: LeasedJob) -> bytes:
        task = self._codec.inference_task(job)
        try:
            guess = await self._provider.infer(task)
        except Failed:
            raise
        except Exception as fault:
            _log.exception("provider.failed", job=job.id, thread=job.thread)
            raise Failed(Code.PROVIDER_ERROR, repr(fault), retryable=True) from fault
        return self._codec.guess(guess)

    async def _execute(self, job: LeasedJob, begin: Begin) -> bytes:
        task = self._codec.execution_task(job)
        action = self._actions.find(task.name, task.parameters)
        await begin()
        try:
            result = await action.execute(task)
        except Failed:
            raise
        except Exception as fault:
            _log.exception("action.failed", job=job.id, thread=job.thread, action=task.name)
            raise Failed(Code.ACTION_FAILED, repr(fault)) from fault
        _log.info("action.done", job=job.id, thread=job.thread, action=task.name, result=result)
        return self._codec.result(result)
