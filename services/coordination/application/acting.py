"""Who acts for which session, and on which thread: the role comes from the index of workers first, and no record is
made on the side (A4, A5)."""

from __future__ import annotations

from dataclasses import dataclass

from services.coordination.application.ports import Reads
from services.coordination.application.work import Work
from services.coordination.domain import errors
from services.coordination.domain.worker import Coordinator, Worker
from services.kernel.principal import Principal


@dataclass(frozen=True, slots=True)
class Command:
    """A caller's command on a session. `digest`: of the request without its request_id."""

    caller: Principal
    session_id: str
    request_id: str
    digest: bytes

    @property
    def tenant(self) -> str:
        """What bounds it."""
        return self.caller.tenant

    @property
    def by(self) -> str:
        """The caller, as rows and facts name it."""
        return who(self.caller)

    async def remembered(self, work: Work, method: str) -> bytes | None:
        """What the same request was answered before; keys are scoped by caller and session (PUB08)."""
        return await work.remember(self.caller, f"{method} {self.session_id}", self.request_id, self.digest)


@dataclass(frozen=True, slots=True)
class Thread:
    """What a command is about, both locked: a worker, or, without one, the coordinator itself."""

    coordinator: Coordinator
    worker: Worker | None


def who(caller: Principal) -> str:
    """The caller, as rows and facts name it."""
    return f"{caller.kind}:{caller.subject}"


def is_agent(caller: Principal) -> bool:
    """Whether it is the agent of a session, and no person."""
    return caller.kind == "agent" or (caller.has("agent") and not caller.has("reviewer"))


def may_act_for(caller: Principal, session_id: str) -> None:
    """An agent acts for the session of its own credential alone (NOT_YOURS); people and services for any of their
    tenant."""
    if is_agent(caller) and caller.subject != session_id:
        raise errors.not_yours()


async def thread_of(work: Work, tenant: str, session_id: str, thread_name: str) -> Thread:
    """The thread that a session means by a name. A worker's session means its own thread and no other (NOT_YOURS); a
    coordinator's means one of its workers or, without a name, itself. Locks the coordinator, then the worker."""
    own = await work.worker_of_session(tenant, session_id)
    coordinator = await work.coordinator(tenant, session_id if own is None else own.coordinator_id)
    if coordinator is None:
        raise errors.coordinator_not_found(session_id)
    if own is not None:
        if thread_name not in ("", own.name):
            raise errors.not_yours()
        worker = await work.worker_by_id(tenant, own.id)
    elif not thread_name:
        return Thread(coordinator, None)
    else:
        worker = await work.worker(tenant, coordinator.session_id, thread_name)
    if worker is None:
        raise errors.worker_not_found(thread_name)
    return Thread(coordinator, worker)


async def worker_thread_of(work: Work, tenant: str, session_id: str, thread_name: str) -> tuple[Coordinator, Worker]:
    """As `thread_of`, of a command that is about a worker."""
    thread = await thread_of(work, tenant, session_id, thread_name)
    if thread.worker is None:
        raise errors.worker_not_found(thread_name)
    return thread.coordinator, thread.worker


async def list_of(reads: Reads, tenant: str, session_id: str, thread_name: str) -> tuple[str, str]:
    """As `thread_of`, for readers: (coordinator, worker id; empty: the coordinator's own list)."""
    own = await reads.worker_of_session(tenant, session_id)
    if own is not None:
        if thread_name not in ("", own.name):
            raise errors.not_yours()
        return own.coordinator_id, own.id
    if await reads.coordinator(tenant, session_id) is None:
        raise errors.coordinator_not_found(session_id)
    if not thread_name:
        return session_id, ""
    seen = await reads.worker(tenant, session_id, thread_name)
    if seen is None:
        raise errors.worker_not_found(thread_name)
    return session_id, seen.worker.id
