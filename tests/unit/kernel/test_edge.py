"""The server's edge over a real channel: refusals keep their reason, bugs are masked, callers are verified."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import grpc
import pytest

from services.kernel import errors, request
from services.kernel.clock import SystemClock
from services.kernel.grpc_client import open_channel
from services.kernel.grpc_errors import refusal_from
from services.kernel.grpc_server import GrpcServer
from services.kernel.principal import LOCAL, OPEN_KEY, Authenticator, Principal
from treadle.streaming.v1 import feed_service_pb2, feed_service_pb2_grpc
from treadle.threads.v1 import job_service_pb2, job_service_pb2_grpc

SECRET = "s" * 40
SENTINEL = "ZX-SECRET-7"
Behave = Callable[[], Awaitable[None]]


class _Jobs(job_service_pb2_grpc.JobServiceServicer):
    def __init__(self, behave: Behave) -> None:
        self._behave = behave

    async def HeartbeatJob(self, request: Any, context: Any) -> job_service_pb2.HeartbeatJobResponse:
        await self._behave()
        return job_service_pb2.HeartbeatJobResponse(cancel=True)


class _Feeds(feed_service_pb2_grpc.FeedServiceServicer):
    def __init__(self, behave: Behave) -> None:
        self._behave = behave

    async def SubscribeTenant(self, request: Any, context: Any) -> AsyncIterator[feed_service_pb2.FrameBatch]:
        yield feed_service_pb2.FrameBatch(frames=[feed_service_pb2.Frame(id="1-1")])
        await self._behave()


@asynccontextmanager
async def served(
    tmp_path: Path, behave: Behave, *, secret: str | None = None, authorization: str | None = None
) -> AsyncIterator[tuple[job_service_pb2_grpc.JobServiceAsyncStub, feed_service_pb2_grpc.FeedServiceAsyncStub]]:
    """Both servicers behind the real edge on a unix socket."""
    server = GrpcServer(
        "threads",
        f"unix:{tmp_path / 'edge.sock'}",
        [
            (job_service_pb2_grpc.add_JobServiceServicer_to_server, _Jobs(behave), "treadle.threads.v1.JobService"),
            (
                feed_service_pb2_grpc.add_FeedServiceServicer_to_server,
                _Feeds(behave),
                "treadle.streaming.v1.FeedService",
            ),
        ],
        Authenticator(secret, SystemClock()),
    )
    address = await server.start()
    async with AsyncExitStack() as stack:
        stack.push_async_callback(server.stop, 0)
        channel = open_channel(address, lambda: authorization)
        stack.push_async_callback(channel.close)
        yield job_service_pb2_grpc.JobServiceStub(channel), feed_service_pb2_grpc.FeedServiceStub(channel)


def _raising(error: BaseException) -> Behave:
    async def behave() -> None:
        raise error

    return behave


REFUSALS = [
    (errors.Invalid("BAD_FIELD", "the field is bad", field="title"), grpc.StatusCode.INVALID_ARGUMENT),
    (errors.NotFound("GONE", "it is not here"), grpc.StatusCode.NOT_FOUND),
    (errors.AlreadyExists("TAKEN", "the name is taken"), grpc.StatusCode.ALREADY_EXISTS),
    (errors.NotAllowed("WRONG_STATE", "not now", state="done"), grpc.StatusCode.FAILED_PRECONDITION),
    (errors.Conflict("LOST", "somebody was first", decided_by="user:ann"), grpc.StatusCode.ABORTED),
    (errors.EtagMismatch("ETAG_MISMATCH", "it changed"), grpc.StatusCode.ABORTED),
    (errors.Compacted("TOO_OLD", "it is gone"), grpc.StatusCode.OUT_OF_RANGE),
    (errors.Exhausted("QUOTA", "no more"), grpc.StatusCode.RESOURCE_EXHAUSTED),
    (errors.TooLarge("TOO_LARGE", "too large"), grpc.StatusCode.RESOURCE_EXHAUSTED),
    (errors.Denied("ROLE_REQUIRED", "not you"), grpc.StatusCode.PERMISSION_DENIED),
    (errors.Unavailable("AWAY", "later"), grpc.StatusCode.UNAVAILABLE),
]


@pytest.mark.parametrize(("refusal", "code"), REFUSALS, ids=[type(r).__name__ for r, _ in REFUSALS])
async def test_a_refusal_crosses_the_wire_and_comes_back_as_itself(
    tmp_path: Path, refusal: errors.Refusal, code: grpc.StatusCode
) -> None:
    async with served(tmp_path, _raising(refusal)) as (jobs, _):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await jobs.HeartbeatJob(job_service_pb2.HeartbeatJobRequest())
    assert caught.value.code() is code
    back = refusal_from(caught.value)
    assert type(back) is type(refusal)
    assert (back.reason, back.message, back.metadata) == (refusal.reason, refusal.message, refusal.metadata)


@pytest.mark.parametrize("stream", [False, True], ids=["unary", "stream"])
async def test_a_bug_is_masked_and_never_carries_the_exceptions_text(tmp_path: Path, stream: bool) -> None:
    async with served(tmp_path, _raising(RuntimeError(f"/etc/secret {SENTINEL}"))) as (jobs, feeds):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            if stream:
                async for _ in feeds.SubscribeTenant(feed_service_pb2.SubscribeTenantRequest()):
                    pass
            else:
                await jobs.HeartbeatJob(job_service_pb2.HeartbeatJobRequest())
    assert caught.value.code() is grpc.StatusCode.INTERNAL
    assert caught.value.details() == "internal error"
    assert SENTINEL not in repr(caught.value) + repr(caught.value.trailing_metadata())


async def test_a_refusal_in_a_stream_keeps_its_reason(tmp_path: Path) -> None:
    async with served(tmp_path, _raising(errors.Exhausted("READER_TOO_SLOW", "too slow"))) as (_, feeds):
        seen = []
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            async for batch in feeds.SubscribeTenant(feed_service_pb2.SubscribeTenantRequest()):
                seen.append(batch)
    assert len(seen) == 1
    back = refusal_from(caught.value)
    assert back is not None
    assert back.reason == "READER_TOO_SLOW"


async def test_pub22_error_text_that_cannot_be_encoded_does_not_hang_the_call(tmp_path: Path) -> None:
    refusal = errors.Invalid("BAD_TEXT", "bad: x\ud83dy", field="x\ud83dy")
    async with served(tmp_path, _raising(refusal)) as (jobs, _):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await jobs.HeartbeatJob(job_service_pb2.HeartbeatJobRequest(), timeout=5)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_huge_metadata_is_shortened_not_lost(tmp_path: Path) -> None:
    refusal = errors.Conflict("ALREADY_DECIDED", "somebody was first", decision="x" * 100_000, state="done")
    async with served(tmp_path, _raising(refusal)) as (jobs, _):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await jobs.HeartbeatJob(job_service_pb2.HeartbeatJobRequest(), timeout=5)
    back = refusal_from(caught.value)
    assert back is not None
    assert back.metadata["state"] == "done"
    assert back.metadata["decision"].endswith("…")


async def test_without_a_secret_every_caller_is_the_local_one(tmp_path: Path) -> None:
    seen: list[Principal] = []

    async def look() -> None:
        seen.append(request.current_principal())

    async with served(tmp_path, look) as (jobs, _):
        await jobs.HeartbeatJob(job_service_pb2.HeartbeatJobRequest())
    assert seen == [LOCAL]


async def test_without_a_secret_a_token_that_is_shown_speaks_for_its_principal(tmp_path: Path) -> None:
    seen: list[Principal] = []

    async def look() -> None:
        seen.append(request.current_principal())

    agent = Principal("default", "ses_1", "agent", frozenset({"agent"}))
    token = Authenticator(None, SystemClock()).mint(agent, timedelta(minutes=1))
    async with served(tmp_path, look, authorization=f"Bearer {token}") as (jobs, _):
        await jobs.HeartbeatJob(job_service_pb2.HeartbeatJobRequest())
    assert seen == [agent]


async def test_with_a_secret_a_token_is_needed_and_names_the_tenant(tmp_path: Path) -> None:
    seen: list[Principal] = []

    async def look() -> None:
        seen.append(request.current_principal())

    ann = Principal("acme", "ann", "user", frozenset({"reviewer"}))
    token = Authenticator(SECRET, SystemClock()).mint(ann, timedelta(minutes=1))
    async with served(tmp_path, look, secret=SECRET, authorization=f"Bearer {token}") as (jobs, _):
        await jobs.HeartbeatJob(job_service_pb2.HeartbeatJobRequest())
    assert seen == [ann]


_MINUTE = timedelta(minutes=1)
STRANGERS = {
    "none": None,
    "empty": "",
    "no token": "Bearer",
    "no JWT": "Bearer x.y.z",
    "basic": "Basic dTpw",
    "another secret": ("t" * 40, LOCAL, _MINUTE),
    "the public key": (None, LOCAL, _MINUTE),
    "expired": (SECRET, LOCAL, -_MINUTE),
    "wildcard tenant": (SECRET, Principal("*", "x"), _MINUTE),
    "long tenant": (SECRET, Principal("a" * 64, "x"), _MINUTE),
    "no subject": (SECRET, Principal("a", ""), _MINUTE),
}


@pytest.mark.parametrize("stranger", STRANGERS)
async def test_a_caller_that_does_not_verify_is_refused(tmp_path: Path, stranger: str) -> None:
    shown = STRANGERS[stranger]
    if isinstance(shown, tuple):
        secret, claimed, lifetime = shown
        authorization: str | None = f"Bearer {Authenticator(secret, SystemClock()).mint(claimed, lifetime)}"
    else:
        authorization = shown

    async def never() -> None:
        raise AssertionError("the servicer was reached")

    async with served(tmp_path, never, secret=SECRET, authorization=authorization) as (jobs, _):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await jobs.HeartbeatJob(job_service_pb2.HeartbeatJobRequest())
    assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED


OPEN_STRANGERS: dict[str, str | tuple[str | None, Principal, timedelta]] = {
    "no token": "Bearer",
    "blank": "Bearer  ",
    "no JWT": "Bearer x.y.z",
    "lower case": "bearer x",
    "a secret": (SECRET, LOCAL, _MINUTE),
    "expired": (None, LOCAL, -_MINUTE),
    "another tenant": (None, Principal("acme", "ann", "user", frozenset({"viewer"})), _MINUTE),
}


@pytest.mark.parametrize("stranger", OPEN_STRANGERS)
def test_without_a_secret_a_token_that_does_not_verify_is_refused(stranger: str) -> None:
    shown = OPEN_STRANGERS[stranger]
    if isinstance(shown, tuple):
        secret, claimed, lifetime = shown
        authorization = f"Bearer {Authenticator(secret, SystemClock()).mint(claimed, lifetime)}"
    else:
        authorization = shown
    with pytest.raises(errors.Unauthenticated):
        Authenticator(None, SystemClock()).authenticate(authorization)


@pytest.mark.parametrize("nothing", [None, "", " ", "Basic dTpw"])
def test_without_a_secret_a_caller_without_a_token_is_the_local_one(nothing: str | None) -> None:
    assert Authenticator(None, SystemClock()).authenticate(nothing) == LOCAL


def test_the_public_key_is_no_secret() -> None:
    with pytest.raises(ValueError, match="public"):
        Authenticator(OPEN_KEY, SystemClock())
