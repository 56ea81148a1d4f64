"""The bus: one NATS connection a process part, reconnecting for ever; wake-up pings and requests over it.

Knows no stream: what is stored is `kernel/jetstream.py`'s. A ping carries nothing and may be lost; who waits for one
also polls.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error as NatsError

from services.kernel.errors import Invalid, Unavailable
from services.kernel.telemetry import get_logger

_log = get_logger("bus")
_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{1,80}")
_TIMEOUT: Final = 5.0
_PING_PAUSE: Final = 0.01
"""Seconds in which the pings of one subject become one."""
_QUEUE: Final = 512 * 1024
"""Messages that one subscription may hold while its reader is busy (the default drops beyond it)."""


def token(text: str) -> str:
    """The text as one token of a subject. Anything that could be a wildcard or several tokens is refused: a tenant
    named `*` would read everybody's."""
    if _TOKEN.fullmatch(text) is None:
        raise Invalid("INVALID_SUBJECT_TOKEN", "a subject's token must match [A-Za-z0-9_-]{1,80}")
    return text


class Bell:
    """Rings for pings that came since the last wait, many as one."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def ring(self) -> None:
        """A ping came."""
        self._event.set()

    async def wait(self, seconds: float) -> bool:
        """Waits for a ping, at most so long; False when none came (then poll)."""
        try:
            async with asyncio.timeout(seconds):
                await self._event.wait()
        except TimeoutError:
            return False
        self._event.clear()
        return True


class Bus:
    """A connection. Calls while it is down fail at once with Unavailable; subscriptions live on after a reconnect."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._reconnects: list[Callable[[], None]] = []
        self._answers: dict[str, asyncio.Queue[Msg]] = {}
        self._asking: dict[str, asyncio.Future[Msg | None]] = {}
        self._inbox = ""
        self._asked = 0
        self._pinged: dict[str, bool] = {}
        self._late_pings: set[asyncio.Task[None]] = set()

    @classmethod
    async def connect(cls, url: str, name: str) -> Bus:
        """Connects, trying for ever (cancel it to give up)."""
        client = Client()
        bus = cls(client)
        await client.connect(
            url,
            name=f"treadle {name}",
            error_cb=bus._failed,
            disconnected_cb=bus._lost,
            reconnected_cb=bus._back,
            max_reconnect_attempts=-1,
            reconnect_time_wait=0.2,  # type: ignore[arg-type]  # seconds; its annotation is narrower than its use
            connect_timeout=2,
            ping_interval=5,
            max_outstanding_pings=2,
            pending_size=0,  # nothing is kept for later while the connection is down: the caller is told
            no_echo=False,
            skip_subject_validation=True,  # what comes from outside goes through token()
        )
        bus._inbox = client.new_inbox()
        await client.subscribe(f"{bus._inbox}.*", cb=bus._answered, pending_msgs_limit=_QUEUE, pending_bytes_limit=0)
        return bus

    async def close(self) -> None:
        """Closes the connection; what waits for an answer fails."""
        with suppress(NatsError, OSError):
            await self._client.close()

    @property
    def connected(self) -> bool:
        """Whether the server is reachable as far as known."""
        return bool(self._client.is_connected)

    async def ping(self, subject: str) -> None:
        """Wakes whoever listens on the subject. Never fails: a lost ping is what polling is for.

        After a silence it goes at once; all that follow within `_PING_PAUSE` go as one, at its end: a ping a commit
        costs a busy service, its relay and the broker more than they learn from it.
        """
        if subject in self._pinged:
            self._pinged[subject] = True
            return
        self._pinged[subject] = False
        asyncio.get_running_loop().call_later(_PING_PAUSE, self._pause_over, subject)
        with suppress(NatsError, OSError):
            await self._client.publish(subject)

    def _pause_over(self, subject: str) -> None:
        if self._pinged.pop(subject):
            late = asyncio.get_running_loop().create_task(self.ping(subject))
            self._late_pings.add(late)
            late.add_done_callback(self._late_pings.discard)

    @asynccontextmanager
    async def listen(self, *subjects: str) -> AsyncIterator[Bell]:
        """A bell that pings on any of the subjects ring, and each reconnect too (pings were lost meanwhile)."""
        bell = Bell()

        async def rang(_: Msg) -> None:
            bell.ring()

        with self.on_reconnect(bell.ring):
            subscriptions = [await self.subscribe(subject, rang) for subject in subjects]
            try:
                yield bell
            finally:
                for subscription in subscriptions:
                    await self.unsubscribe(subscription)

    def on_reconnect(self, call: Callable[[], None]) -> _Registered:
        """Calls back after each reconnect, until the returned context ends."""
        return _Registered(self._reconnects, call)

    async def subscribe(self, subject: str, handler: Callable[[Msg], Awaitable[None]]) -> Subscription:
        """A core subscription; `handler` is a coroutine function and gets the messages one by one, in order."""
        try:
            return await self._client.subscribe(
                subject, cb=handler, pending_msgs_limit=_QUEUE, pending_bytes_limit=256 * 1024 * 1024
            )
        except (NatsError, OSError) as fault:
            raise _unavailable() from fault

    async def unsubscribe(self, subscription: Subscription) -> None:
        """Ends a subscription; never fails."""
        with suppress(NatsError, OSError):
            await subscription.unsubscribe()

    async def publish(
        self, subject: str, data: bytes = b"", headers: dict[str, str] | None = None, reply: str = ""
    ) -> None:
        """Sends a message. Unavailable while the connection is down."""
        try:
            await self._client.publish(subject, data, reply=reply, headers=headers)
        except (NatsError, OSError) as fault:
            raise _unavailable() from fault

    async def request(
        self, subject: str, data: bytes = b"", headers: dict[str, str] | None = None, timeout: float = _TIMEOUT
    ) -> Msg:
        """One answer. Unavailable: nobody answered in time, or the connection is down; the outcome is unknown
        then."""
        # Not the client's own request: under it, asyncio.wait_for loses a cancellation that meets the answer.
        self._asked += 1
        key = str(self._asked)
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Msg | None] = loop.create_future()
        self._asking[key] = future
        timer = loop.call_later(timeout, _give_up, future)
        try:
            await self._client.publish(subject, data, f"{self._inbox}.{key}", headers)
            answer = await future
        except (NatsError, OSError) as fault:
            raise _unavailable() from fault
        finally:
            timer.cancel()
            del self._asking[key]
        if answer is None or (answer.headers and answer.headers.get("Status") == "503"):
            raise _unavailable()  # no answer in time, or the connection was lost, or nobody serves this subject
        return answer

    @asynccontextmanager
    async def inbox(self) -> AsyncIterator[tuple[str, asyncio.Queue[Msg]]]:
        """A reply subject and the queue of what comes there, for requests with several answers."""
        self._asked += 1
        key = str(self._asked)
        queue = self._answers[key] = asyncio.Queue()
        try:
            yield f"{self._inbox}.{key}", queue
        finally:
            del self._answers[key]

    async def _answered(self, message: Msg) -> None:
        key = message.subject.rpartition(".")[2]
        future = self._asking.get(key)
        queue = self._answers.get(key)
        if future is not None and not future.done():
            future.set_result(message)
        elif queue is not None:
            queue.put_nowait(message)

    async def _failed(self, fault: Exception) -> None:
        _log.info("bus.fault", fault=type(fault).__name__)

    async def _lost(self) -> None:
        _log.warning("bus.disconnected")
        for future in self._asking.values():
            _give_up(future)

    async def _back(self) -> None:
        _log.info("bus.reconnected")
        for call in list(self._reconnects):
            call()


class _Registered:
    """A place in a list of callbacks, for as long as the context is open."""

    def __init__(self, calls: list[Callable[[], None]], call: Callable[[], None]) -> None:
        self._calls, self._call = calls, call

    def __enter__(self) -> None:
        self._calls.append(self._call)

    def __exit__(self, *_: object) -> None:
        self._calls.remove(self._call)


def _give_up(future: asyncio.Future[Msg | None]) -> None:
    if not future.done():
        future.set_result(None)


def _unavailable() -> Unavailable:
    return Unavailable("BUS_UNAVAILABLE", "the message bus cannot be reached right now")
