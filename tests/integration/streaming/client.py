"""What a test says to the streaming service, and how it listens."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import asyncpg
import grpc
import orjson

from services.kernel.ids import new_id
from services.kernel.lifecycle import Lifecycle
from treadle.streaming.v1 import feed_service_pb2 as feeds
from treadle.streaming.v1 import runner_service_pb2 as runners
from treadle.streaming.v1 import session_event_pb2 as events
from treadle.streaming.v1 import session_service_pb2 as sessions
from treadle.streaming.v1.feed_service_pb2_grpc import FeedServiceStub
from treadle.streaming.v1.runner_service_pb2_grpc import RunnerServiceStub
from treadle.streaming.v1.session_service_pb2_grpc import SessionServiceStub

Frame = feeds.Frame


class Listener:
    """Reads a feed in the background."""

    def __init__(self, call: Any) -> None:
        self._call = call
        self.frames: list[Frame] = []
        self.positions: list[str] = []
        self.error: grpc.aio.AioRpcError | None = None
        self.ended = asyncio.Event()
        self._news = asyncio.Condition()
        self._task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        try:
            async for batch in self._call:
                async with self._news:
                    self.frames += batch.frames
                    if batch.position:
                        self.positions.append(batch.position)
                    self._news.notify_all()
        except grpc.aio.AioRpcError as error:
            self.error = error
        except asyncio.CancelledError:
            pass
        finally:
            self.ended.set()

    async def until(self, holds: Callable[[Listener], bool], seconds: float = 15) -> Listener:
        """Waits until it holds of what was heard."""
        async with asyncio.timeout(seconds), self._news:
            await self._news.wait_for(lambda: holds(self))
        return self

    async def heard(self, count: int, seconds: float = 15) -> list[Frame]:
        """Waits for so many frames."""
        try:
            await self.until(lambda one: len(one.frames) >= count, seconds)
        except TimeoutError:
            raise AssertionError(f"{len(self.frames)} of {count} frames came: {self.ids[-5:]}") from None
        return self.frames

    async def level(self, seconds: float = 15) -> list[Frame]:
        """Waits until everything that is stored has come."""
        await self.until(lambda one: bool(one.positions), seconds)
        return self.frames

    @property
    def ids(self) -> list[str]:
        """The ids of what was heard, without those that carry none."""
        return [frame.id for frame in self.frames if frame.id]

    @property
    def texts(self) -> str:
        """The final text that was heard."""
        return "".join(body(f)["delta"] for f in self.frames if f.event == "text_delta")

    async def close(self) -> None:
        """Cancels the call."""
        self._call.cancel()
        await self._task


class Streaming:
    """A replica under test."""

    def __init__(self, channel: grpc.aio.Channel, life: Lifecycle | None = None, database_url: str = "") -> None:
        self.channel = channel
        self.database_url = database_url
        self.life = life
        self.sessions = SessionServiceStub(channel)
        self.feeds = FeedServiceStub(channel)
        self.runners = RunnerServiceStub(channel)

    async def session(self, **fields: Any) -> str:
        """Opens a session; answers its name."""
        fields = {"adapter": "scripted", **fields}
        return (await self.sessions.CreateSession(sessions.CreateSessionRequest(**fields))).name

    @asynccontextmanager
    async def listening(self, name: str, last_event_id: str = "") -> AsyncIterator[Listener]:
        """A reader of a session's stream."""
        request = feeds.SubscribeSessionRequest(name=name, last_event_id=last_event_id)
        listener = Listener(self.feeds.SubscribeSession(request))
        try:
            yield listener
        finally:
            await listener.close()

    @asynccontextmanager
    async def of_tenant(self, last_event_id: str = "") -> AsyncIterator[Listener]:
        """A reader of the tenant's feed."""
        listener = Listener(self.feeds.SubscribeTenant(feeds.SubscribeTenantRequest(last_event_id=last_event_id)))
        try:
            yield listener
        finally:
            await listener.close()

    @asynccontextmanager
    async def of_thread(self, thread: str, last_event_id: str = "") -> AsyncIterator[Listener]:
        """A reader of a thread's feed."""
        request = feeds.SubscribeThreadRequest(name=f"threads/{thread}", last_event_id=last_event_id)
        listener = Listener(self.feeds.SubscribeThread(request))
        try:
            yield listener
        finally:
            await listener.close()

    @asynccontextmanager
    async def attached(self, name: str, epoch: int = 0, runner_id: str = "runner-1") -> AsyncIterator[Runner]:
        """A runner that holds the session, by a job that nobody asked for: the stream says nothing of it."""
        job, fence = await leased(self.database_url, name, runner_id) if self.database_url else ("", 0)
        call = self.runners.Attach()
        runner = Runner(call)
        opening = runners.AttachOpen(session=name, runner_id=runner_id, epoch=epoch, job_id=job, fence=fence)
        await call.write(runners.AttachRequest(open=opening))
        first = await call.read()
        if not isinstance(first, runners.AttachResponse):
            raise await _error_of(call)
        runner.epoch, runner.generation, runner.acked = first.epoch, first.generation, first.acked_sequence
        try:
            yield runner
        finally:
            call.cancel()


async def leased(database_url: str, name: str, runner_id: str) -> tuple[str, int]:
    """(job, fence): the session's lease, made for an hour where there is none."""
    session = name.removeprefix("sessions/")
    raw = await asyncpg.connect(database_url)
    try:
        await raw.execute(
            """
            WITH made AS (
                INSERT INTO jobs (tenant, id, kind, subject, state, payload, fence, lease_until, runner_id)
                SELECT tenant, $2, 'session.' || adapter, id, 'leased', '{}', 1, now() + interval '1 hour', $3
                FROM sessions WHERE id = $1 AND job_id = '' RETURNING *
            )
            UPDATE sessions s SET job_id = m.id, agent = 'live', started = true
            FROM made m WHERE (s.tenant, s.id) = (m.tenant, m.subject)
            """,
            session,
            new_id("job"),
            runner_id,
        )
        of = "SELECT j.id, j.fence FROM sessions s JOIN jobs j ON j.id = s.job_id WHERE s.id = $1"
        row = await raw.fetchrow(of, session)
        assert row is not None, "somebody else's agent is starting, or the session is not there"
        return row["id"], row["fence"]
    finally:
        await raw.close()


class Runner:
    """A runner's end of an Attach."""

    def __init__(self, call: Any) -> None:
        self.call = call
        self.epoch = 0
        self.generation = 0
        self.acked = 0

    async def send(self, *said: runners.RunnerEvent) -> None:
        """Sends events in batches of 64."""
        for start in range(0, len(said), 64):
            batch = runners.EventBatch(events=said[start : start + 64])
            await self.call.write(runners.AttachRequest(batch=batch))

    async def stored(self, sequence: int, seconds: float = 30) -> None:
        """Waits until everything up to the number is acknowledged. Raises the refusal that ended the call."""
        async with asyncio.timeout(seconds):
            while self.acked < sequence:
                answer = await self.call.read()
                if not isinstance(answer, runners.AttachResponse):
                    raise await _error_of(self.call)
                self.acked = answer.acked_sequence

    async def end(self) -> grpc.aio.AioRpcError:
        """What ended the call."""
        with suppress(grpc.aio.AioRpcError):
            while await self.call.read() is not grpc.aio.EOF:
                pass
        return await _error_of(self.call)


async def _error_of(call: Any) -> grpc.aio.AioRpcError:
    return grpc.aio.AioRpcError(
        await call.code(), await call.initial_metadata(), await call.trailing_metadata(), await call.details()
    )


def body(frame: Frame) -> dict[str, Any]:
    """A frame's data."""
    answer: dict[str, Any] = orjson.loads(frame.data)
    return answer


def text(sequence: int, delta: str, block: int = 0) -> runners.RunnerEvent:
    """A piece of final text."""
    event = events.SessionEvent(text_delta=events.TextDelta(delta=delta, block=block))
    return runners.RunnerEvent(sequence=sequence, event=event)


def tool(sequence: int, call_id: str, name: str = "bash", status: str = "running") -> runners.RunnerEvent:
    """A tool's event, which is never joined with another."""
    event = events.SessionEvent(tool=events.Tool(call_id=call_id, name=name, status=status))
    return runners.RunnerEvent(sequence=sequence, event=event)
