"""What a test says to the coordination service, and as whom."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import grpc
import pytest

from services.kernel.clock import SystemClock
from services.kernel.errors import Refusal
from services.kernel.grpc_errors import refusal_from
from services.kernel.lifecycle import Lifecycle
from services.kernel.principal import Authenticator, Principal
from treadle.coordination.v1 import coordination_service_pb2 as pb
from treadle.coordination.v1.coordination_service_pb2_grpc import CoordinationServiceStub

SECRET = "the secret of these tests, long enough"
PERSON = Principal("default", "ann", "user", frozenset({"reviewer"}))
VIEWER = Principal("default", "vic", "user", frozenset({"viewer"}))
STRANGER = Principal("elsewhere", "ann", "user", frozenset({"admin"}))

Metadata = list[tuple[str, str]]


def agent(session_id: str, tenant: str = "default") -> Principal:
    """The agent of a session."""
    return Principal(tenant, session_id, "agent", frozenset({"agent"}))


def bearing(principal: Principal) -> Metadata:
    """Metadata that prove who calls."""
    token = Authenticator(SECRET, SystemClock()).mint(principal, timedelta(minutes=10))
    return [("authorization", f"Bearer {token}")]


def spec(name: str, brief: str | None = None, **fields: Any) -> pb.WorkerSpec:
    """A worker to be."""
    return pb.WorkerSpec(name=name, brief=f"do {name}" if brief is None else brief, **fields)


class Coordination:
    """A replica under test. Each method is an RPC; `by` is who calls."""

    def __init__(self, channel: grpc.aio.Channel, life: Lifecycle | None = None) -> None:
        self.channel = channel
        self.life = life
        self.stub = CoordinationServiceStub(channel)

    async def flag(
        self, session: str, enabled: bool | None = True, by: Principal = PERSON, request_id: str = "", **policy: Any
    ) -> pb.SetThreadModeResponse:
        """SetThreadMode."""
        request = pb.SetThreadModeRequest(session_id=session, enabled=enabled, request_id=request_id)
        if policy:
            request.policy.CopyFrom(pb.WorkerPolicy(**policy))
        return await self.stub.SetThreadMode(request, metadata=bearing(by))

    async def register(
        self, session: str, name: str, worker: str, brief: str = "watch", by: Principal = PERSON, request_id: str = ""
    ) -> pb.Worker:
        """RegisterWorker."""
        request = pb.RegisterWorkerRequest(
            coordinator_session_id=session, name=name, worker_session_id=worker, brief=brief, request_id=request_id
        )
        return (await self.stub.RegisterWorker(request, metadata=bearing(by))).thread

    async def spawn(
        self, session: str, *specs: pb.WorkerSpec, by: Principal | None = None, request_id: str = ""
    ) -> Sequence[pb.SpawnWorkersResponse.Spawned]:
        """SpawnWorkers, by the session's own agent where nobody else is named."""
        request = pb.SpawnWorkersRequest(parent=f"sessions/{session}", threads=specs, request_id=request_id)
        answer = await self.stub.SpawnWorkers(request, metadata=bearing(by or agent(session)))
        assert answer.ok
        return answer.threads

    async def roster(self, session: str, by: Principal = PERSON, **fields: Any) -> pb.Roster:
        """GetRoster."""
        request = pb.GetRosterRequest(coordinator_session_id=session, **fields)
        return await self.stub.GetRoster(request, metadata=bearing(by))

    async def workers(self, session: str, by: Principal = PERSON, **fields: Any) -> pb.ListWorkersResponse:
        """ListWorkers."""
        request = pb.ListWorkersRequest(parent=f"sessions/{session}", **fields)
        return await self.stub.ListWorkers(request, metadata=bearing(by))

    async def worker(self, session: str, name: str) -> pb.Worker:
        """One of them."""
        return next(one for one in (await self.workers(session)).threads if one.name == name)

    async def cancel(
        self, session: str, name: str, by: Principal = PERSON, reason: str = "", request_id: str = ""
    ) -> pb.Worker:
        """CancelWorker."""
        request = pb.CancelWorkerRequest(
            parent=f"sessions/{session}", thread_name=name, reason=reason, request_id=request_id
        )
        return (await self.stub.CancelWorker(request, metadata=bearing(by))).thread

    async def note(
        self, session: str, text: str, name: str = "", by: Principal = PERSON, request_id: str = ""
    ) -> pb.AddNoteResponse:
        """AddNote."""
        request = pb.AddNoteRequest(parent=f"sessions/{session}", thread_name=name, note=text, request_id=request_id)
        return await self.stub.AddNote(request, metadata=bearing(by))

    async def notes(self, session: str, name: str = "", by: Principal = PERSON, **fields: Any) -> pb.ListNotesResponse:
        """ListNotes."""
        request = pb.ListNotesRequest(parent=f"sessions/{session}", thread_name=name, **fields)
        return await self.stub.ListNotes(request, metadata=bearing(by))

    async def status(
        self, session: str, name: str, status: str, by: Principal = PERSON, request_id: str = ""
    ) -> pb.Worker:
        """SetWorkerStatus."""
        request = pb.SetWorkerStatusRequest(
            parent=f"sessions/{session}",
            thread_name=name,
            status=pb.Worker.Status.Value(f"STATUS_{status.upper()}"),
            request_id=request_id,
        )
        return await self.stub.SetWorkerStatus(request, metadata=bearing(by))


class Refused:
    """How a call was refused."""

    def __init__(self) -> None:
        self.refusal: Refusal | None = None
        self.code: grpc.StatusCode | None = None

    @property
    def reason(self) -> str:
        """ErrorInfo.reason."""
        assert self.refusal is not None
        return self.refusal.reason

    @property
    def message(self) -> str:
        """The status's text."""
        assert self.refusal is not None
        return self.refusal.message

    @property
    def metadata(self) -> dict[str, str]:
        """ErrorInfo.metadata."""
        assert self.refusal is not None
        return self.refusal.metadata


@asynccontextmanager
async def refused(code: grpc.StatusCode, reason: str, /, **metadata: str) -> AsyncIterator[Refused]:
    """The call inside is refused so."""
    answer = Refused()
    with pytest.raises(grpc.aio.AioRpcError) as error:
        yield answer
    answer.refusal, answer.code = refusal_from(error.value), error.value.code()
    assert answer.refusal is not None, error.value
    assert (answer.code, answer.reason) == (code, reason), error.value.details()
    assert metadata.items() <= answer.metadata.items()
