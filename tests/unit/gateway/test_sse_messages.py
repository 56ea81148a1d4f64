"""Streams that end by themselves, over SSE: waiting for workers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import orjson
import pytest

from services.kernel import errors
from tests.fakes.running_gateway import Gateway, Start
from tests.unit.gateway.sse_client import stream, strict
from treadle.coordination.v1 import coordination_service_pb2 as pb

PATH = "/api/sessions/ses_1/workers/wait"
DONE = pb.WaitWorkersResponse(done=pb.WaitWorkersResponse.Done(satisfied=True, ended=1, waited_for=2))


class Wait:
    """A wait that the test lets go on, message by message."""

    def __init__(self) -> None:
        self.messages: asyncio.Queue[Any] = asyncio.Queue()
        self.open = 0

    async def __call__(self, _: Any) -> AsyncIterator[Any]:
        self.open += 1
        try:
            while (message := await self.messages.get()) is not None:
                if isinstance(message, Exception):
                    raise message
                yield message
        finally:
            self.open -= 1


@pytest.fixture
def wait(gateway: Gateway) -> Wait:
    """What the fake service answers."""
    one = Wait()
    gateway.script.answers["WaitWorkers"] = one
    return one


async def eventually(what: Callable[[], bool], seconds: float = 5) -> None:
    async with asyncio.timeout(seconds):
        while not what():
            await asyncio.sleep(0.01)


async def test_each_message_is_an_event_of_its_own_name_and_the_answer_ends_with_the_stream(
    gateway: Gateway, wait: Wait
) -> None:
    text = "a\u2028b\u0085c\nd\r\n\U0001f9f5"
    for message in (pb.WaitWorkersResponse(worker=pb.Worker(name="alpha", brief=text)), DONE, None):
        wait.messages.put_nowait(message)
    response = await gateway.http.get(PATH, params={"mode": "quorum", "n": 1, "names": ["alpha", "beta"]})
    events = strict(response.content).events
    assert [event.name for event in events] == ["worker", "done"]
    assert [event.id for event in events] == ["", ""]
    assert orjson.loads(events[0].data)["brief"] == text
    assert orjson.loads(events[1].data) == {"satisfied": True, "ended": 1, "waited_for": 2, "threads": []}
    assert len(response.content.splitlines()) == len(response.text.splitlines()) == 6
    [(_, request)] = gateway.script.asked
    quorum = pb.WaitWorkersRequest.MODE_QUORUM
    assert request == pb.WaitWorkersRequest(parent="sessions/ses_1", mode=quorum, n=1, names=["alpha", "beta"])


@pytest.mark.parametrize(
    ("query", "field"),
    [("mode=most", "mode"), ("n=x", "n"), ("last_event_id=1-1", "last_event_id"), ("parent=sessions/x", "parent")],
)
async def test_a_query_that_does_not_fit_is_refused_by_name(gateway: Gateway, query: str, field: str) -> None:
    refused = await gateway.http.get(f"{PATH}?{query}")
    assert (refused.status_code, refused.json()["metadata"]["field"]) == (400, field)
    assert gateway.script.asked == []


async def test_a_message_that_nobody_knows_yet_is_left_out(gateway: Gateway, wait: Wait) -> None:
    for message in (pb.WaitWorkersResponse(), DONE, None):
        wait.messages.put_nowait(message)
    assert [event.name for event in strict((await gateway.http.get(PATH)).content).events] == ["done"]


async def test_silence_is_a_comment_and_a_late_refusal_an_event(start: Start, stack: AsyncExitStack) -> None:
    gateway = await start(sse_keepalive_seconds=0.05)
    wait = Wait()
    gateway.script.answers["WaitWorkers"] = wait
    live = await stack.enter_async_context(stream(gateway.port, PATH))
    assert live.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert live.headers["x-accel-buffering"] == "no"
    await live.until_text(b": keep-alive\n\n: keep-alive\n\n")
    wait.messages.put_nowait(pb.WaitWorkersResponse(worker=pb.Worker(name="alpha")))
    wait.messages.put_nowait(errors.Unavailable("STREAMING_UNAVAILABLE", "away"))
    await live.until_end()
    worker, problem = strict(live.body).events
    assert (worker.name, problem.name) == ("worker", "problem")
    assert orjson.loads(problem.data)["reason"] == "STREAMING_UNAVAILABLE"


async def test_a_bug_in_the_middle_is_masked(gateway: Gateway, wait: Wait) -> None:
    for message in (DONE, RuntimeError("ZX-SECRET-7")):
        wait.messages.put_nowait(message)
    response = await gateway.http.get(PATH)
    assert [event.name for event in strict(response.content).events] == ["done", "problem"]
    assert "ZX-SECRET-7" not in response.text


async def test_a_client_that_leaves_cancels_the_call(gateway: Gateway, wait: Wait, stack: AsyncExitStack) -> None:
    wait.messages.put_nowait(pb.WaitWorkersResponse(worker=pb.Worker(name="alpha")))
    live = await stack.enter_async_context(stream(gateway.port, PATH))
    await live.until_events(1)
    assert wait.open == 1
    live.drop()
    await eventually(lambda: wait.open == 0)


async def test_a_client_that_leaves_before_the_first_message_cancels_the_call(gateway: Gateway, wait: Wait) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
    writer.write(f"GET {PATH} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
    await eventually(lambda: wait.open == 1)
    writer.transport.abort()
    await eventually(lambda: wait.open == 0)


async def test_open_waits_are_limited(start: Start, stack: AsyncExitStack) -> None:
    gateway = await start(gateway_open_streams=1)
    wait = Wait()
    gateway.script.answers["WaitWorkers"] = wait
    wait.messages.put_nowait(pb.WaitWorkersResponse(worker=pb.Worker(name="alpha")))
    await (await stack.enter_async_context(stream(gateway.port, PATH))).until_events(1)
    refused = await gateway.http.get(PATH)
    assert (refused.status_code, refused.json()["reason"]) == (429, "TOO_MANY_STREAMS")


async def test_pub25_the_drain_ends_waits_at_once(start: Start, stack: AsyncExitStack) -> None:
    gateway = await start()
    wait = Wait()
    gateway.script.answers["WaitWorkers"] = wait
    wait.messages.put_nowait(pb.WaitWorkersResponse(worker=pb.Worker(name="alpha")))
    live = await stack.enter_async_context(stream(gateway.port, PATH))
    await live.until_events(1)
    silent = asyncio.create_task(gateway.http.get(PATH))
    await eventually(lambda: wait.open == 2)
    begin = asyncio.get_running_loop().time()
    await gateway.life.drain()
    await live.until_end(2)
    assert b": closed shutdown\n\n" in live.body
    assert ((await silent).status_code, (await silent).json()["reason"]) == (503, "SHUTTING_DOWN")
    assert asyncio.get_running_loop().time() - begin < 2
    await eventually(lambda: wait.open == 0)
