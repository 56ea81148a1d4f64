"""What the runner does for each kind of job: from the payload's bytes to the result's bytes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Protocol, TypeAlias

from services.kernel import telemetry
from services.runner.application.ports import Action, Cleanup, Kind, LeasedJob, Provider
from services.runner.domain.failure import Code, Failed
from services.runner.domain.task import CleanupTask, ExecutionTask, Guess, InferenceTask, Target

_log = telemetry.get_logger("runner.work")
Begin: TypeAlias = Callable[[], Awaitable[None]]
"""Tells the owner that the first effect follows; raises a refusal when the lease is lost."""


class Codec(Protocol):
    """The JSON of payloads and results."""

    def inference_task(self, job: LeasedJob) -> InferenceTask: ...

    def execution_task(self, job: LeasedJob) -> ExecutionTask: ...

    def cleanup_task(self, job: LeasedJob) -> CleanupTask: ...

    def guess(self, guess: Guess) -> bytes: ...

    def combined(self, guesses: Mapping[Target, Guess]) -> bytes: ...

    def result(self, result: Mapping[str, Any]) -> bytes: ...

    def cleaned(self, *, already_gone: bool) -> bytes: ...


class Actions(Protocol):
    """Where actions are found, their parameters checked."""

    def find(self, name: str, parameters: Mapping[str, Any]) -> Action: ...


class Work:
    """Does a job. Raises Failed; whatever else is raised is a bug of ours or of an action."""

    def __init__(self, codec: Codec, provider: Provider, actions: Actions, cleanups: Iterable[Cleanup] = ()) -> None:
        self._codec = codec
        self._provider = provider
        self._actions = actions
        self._cleanups = {cleanup.name: cleanup for cleanup in cleanups}

    async def do(self, job: LeasedJob, begin: Begin) -> bytes:
        """The result as JSON. `begin` is awaited before the first effect of an execution or a cleanup, only there."""
        match job.kind:
            case Kind.INFERENCE:
                return await self._infer(job)
            case Kind.EXECUTION:
                return await self._execute(job, begin)
            case Kind.CLEANUP:
                return await self._clean(job, begin)
            case Kind.SESSION | Kind.WORKER:
                raise Failed(Code.INVALID_PAYLOAD, f"a {job.kind} is no work of threads")

    def wind_down(self) -> None:
        """Jobs of threads end by themselves."""

    @property
    def idle_seconds(self) -> float:
        """They always have something to do."""
        return 0.0

    def make_room(self) -> None:
        """They cannot."""

    async def _infer(self, job: LeasedJob) -> bytes:
        task = self._codec.inference_task(job)
        try:
            if task.combined:
                return self._codec.combined(await self._all_three(task))
            guess = await self._provider.infer(task)
        except Failed:
            raise
        except Exception as fault:
            _log.exception("provider.failed", job=job.id, about=job.about)
            raise Failed(Code.PROVIDER_ERROR, repr(fault), retryable=True) from fault
        return self._codec.guess(guess)

    async def _all_three(self, task: InferenceTask) -> dict[Target, Guess]:
        """Each guess stands on those before it."""
        intent = await self._provider.infer(replace(task, target=Target.INTENT))
        task = replace(task, intent=str(intent.payload.get("intent") or ""))
        context = await self._provider.infer(replace(task, target=Target.CONTEXT))
        task = replace(task, context=str(context.payload.get("context") or ""))
        action = await self._provider.infer(replace(task, target=Target.ACTION))
        return {Target.INTENT: intent, Target.CONTEXT: context, Target.ACTION: action}

    async def _execute(self, job: LeasedJob, begin: Begin) -> bytes:
        task = self._codec.execution_task(job)
        action = self._actions.find(task.name, task.parameters)
        await begin()
        try:
            result = await action.execute(task)
        except Failed:
            raise
        except Exception as fault:
            _log.exception("action.failed", job=job.id, about=job.about, action=task.name)
            raise Failed(Code.ACTION_FAILED, repr(fault)) from fault
        _log.info("action.done", job=job.id, about=job.about, action=task.name, result=result)
        return self._codec.result(result)

    async def _clean(self, job: LeasedJob, begin: Begin) -> bytes:
        task = self._codec.cleanup_task(job)
        cleanup = self._cleanups.get(task.adapter)
        if cleanup is None:
            raise Failed(Code.UNKNOWN_SOURCE, f"this runner has no cleanup {task.adapter!r}")
        await begin()
        try:
            found = await cleanup.clean(task.parameters)
        except Failed:
            raise
        except Exception as fault:
            _log.exception("cleanup.failed", job=job.id, about=job.about, adapter=task.adapter)
            raise Failed(Code.ACTION_FAILED, repr(fault)) from fault
        _log.info("cleanup.done", job=job.id, about=job.about, adapter=task.adapter, found=found)
        return self._codec.cleaned(already_gone=not found)
