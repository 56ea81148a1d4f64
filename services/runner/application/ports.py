"""What the runner needs from outside, named for the need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from services.runner.domain.task import ExecutionTask, Guess, InferenceTask


class Kind(StrEnum):
    """The kinds of job that a runner takes."""

    INFERENCE = "inference"
    EXECUTION = "execution"
    CLEANUP = "cleanup"
    SESSION = "session"
    WORKER = "worker"


@dataclass(frozen=True, slots=True)
class LeasedJob:
    """A job that is ours until the lease ends. `payload` is the untouched JSON of the owner; `about` is the resource
    that it is about, `threads/…` or `sessions/…`."""

    id: str
    kind: Kind
    tenant: str
    about: str
    payload: bytes
    fence: int
    attempt: int


class Jobs(Protocol):
    """A service's jobs. Refusals are kernel types: Conflict or NotFound when the lease is not ours any more,
    Unavailable or DeadlineExceeded when the service cannot be asked now."""

    async def claim(self, claim_id: str, limit: int, wait: float) -> Sequence[LeasedJob]:
        """Up to `limit` jobs, waiting up to `wait` seconds. The same claim_id answers the same leases."""
        ...

    async def heartbeat(self, job: LeasedJob) -> bool:
        """Keeps the lease; True means that the work is not wanted any more."""
        ...

    async def start_execution(self, job: LeasedJob) -> None:
        """Says that the first effect follows."""
        ...

    async def complete(self, job: LeasedJob, result: bytes) -> None:
        """Ends the job with its result, a JSON object."""
        ...

    async def fail(self, job: LeasedJob, code: str, detail: str, retryable: bool) -> None:
        """Ends the job without a result."""
        ...


class Provider(Protocol):
    """Guesses. Raises Failed when it cannot; an empty payload is an answer, too (design/threads.md §0.8)."""

    async def infer(self, task: InferenceTask) -> Guess: ...


class Cleanup(Protocol):
    """Takes the source of a thread away. Raises Failed; a source that is already gone is no failure."""

    @property
    def name(self) -> str:
        """Its name in cleanup jobs."""
        ...

    async def clean(self, parameters: Mapping[str, Any]) -> bool:
        """False when there was nothing left to take away. Failed(invalid_parameters) for what it cannot read."""
        ...


class Action(Protocol):
    """Does one thing for real. Raises Failed with a stable code; must stop soon after being cancelled."""

    @property
    def name(self) -> str:
        """Its name in the catalogue."""
        ...

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The JSON Schema (2020-12) of its parameters."""
        ...

    async def execute(self, task: ExecutionTask) -> Mapping[str, Any]:
        """The result, a JSON object: for the log and the role admin."""
        ...
