"""A session's stream from its opening to its readers."""

from __future__ import annotations

import grpc
import pytest

from tests.integration.streaming.client import Streaming, body, text, tool
from treadle.streaming.v1 import session_service_pb2 as pb


async def test_a_new_session_can_be_read_at_once(streaming: Streaming) -> None:
    name = await streaming.session(title="a chat")
    async with streaming.listening(name) as reader:
        frames = await reader.level()
        assert [frame.id for frame in frames] == ["1-1", "1-2"]
        assert [frame.event for frame in frames] == ["status", "turn"]
        assert body(frames[1]) == {"state": "idle"}
        assert reader.positions == ["1-2"]


async def test_what_a_runner_sends_reaches_readers_dense_and_in_order(streaming: Streaming) -> None:
    name = await streaming.session()
    async with streaming.listening(name) as reader, streaming.attached(name) as runner:
        await runner.send(*(tool(n, f"c{n}") for n in range(1, 301)))
        await runner.stored(300)
        frames = await reader.heard(302)
        assert reader.ids == [f"1-{n}" for n in range(1, 303)]
        assert [body(frame)["call_id"] for frame in frames[2:]] == [f"c{n}" for n in range(1, 301)]


async def test_adjacent_deltas_are_joined_and_no_text_is_lost(streaming: Streaming) -> None:
    name = await streaming.session()
    said = [f"word{n} " for n in range(1, 2_001)]
    async with streaming.listening(name) as reader, streaming.attached(name) as runner:
        await runner.send(*(text(n, piece) for n, piece in enumerate(said, 1)))
        await runner.stored(2_000)
        await reader.until(lambda one: len(one.texts) >= len("".join(said)))
        assert reader.texts == "".join(said)
        assert len(reader.frames) < 1_500


async def test_the_same_request_makes_one_session(streaming: Streaming) -> None:
    request = pb.CreateSessionRequest(adapter="scripted", title="once", request_id="r-1")
    first = await streaming.sessions.CreateSession(request)
    again = await streaming.sessions.CreateSession(request)
    assert first.name == again.name
    assert first.generation == 1
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await streaming.sessions.CreateSession(
            pb.CreateSessionRequest(adapter="scripted", title="another", request_id="r-1")
        )
    assert refused.value.code() is grpc.StatusCode.ALREADY_EXISTS


async def test_sessions_are_listed_newest_first_and_each_once(streaming: Streaming) -> None:
    names = [await streaming.session(title=f"s{n}") for n in range(7)]
    seen: list[str] = []
    token = ""
    while True:
        page = await streaming.sessions.ListSessions(pb.ListSessionsRequest(page_size=3, page_token=token))
        seen += [session.name for session in page.sessions]
        token = page.next_page_token
        if not token:
            break
    assert seen == names[::-1]


async def test_sessions_that_work_for_another_one_can_be_left_out_of_the_list(streaming: Streaming) -> None:
    first = await streaming.session(title="coordinator")
    for n in range(3):
        made = await streaming.sessions.CreateSession(
            pb.CreateSessionRequest(adapter="scripted", title=f"Thread: {n}", coordinator=first)
        )
        assert made.coordinator == first
    last = await streaming.session(title="another")
    page = await streaming.sessions.ListSessions(pb.ListSessionsRequest(page_size=1, top_level=True))
    assert [one.name for one in page.sessions] == [last]
    token = page.next_page_token
    page = await streaming.sessions.ListSessions(pb.ListSessionsRequest(page_token=token, top_level=True))
    assert ([one.name for one in page.sessions], page.next_page_token) == ([first], "")
    assert len((await streaming.sessions.ListSessions(pb.ListSessionsRequest())).sessions) == 5
    with pytest.raises(grpc.aio.AioRpcError) as refused:  # a place in one list is none in the other
        await streaming.sessions.ListSessions(pb.ListSessionsRequest(page_token=token))
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await streaming.sessions.CreateSession(pb.CreateSessionRequest(adapter="scripted", coordinator="sessions/*"))
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"adapter": ""}, "adapter"),
        ({"adapter": "a b"}, "adapter"),
        ({"adapter": "x", "title": "two\nlines"}, "title"),
        ({"adapter": "x", "title": "nul\0"}, "title"),
        ({"adapter": "x", "title": "t" * 201}, "title"),
        ({"adapter": "x", "thinking": "huge"}, "thinking"),
        ({"adapter": "x", "model": "m" * 129}, "model"),
    ],
)
async def test_what_a_session_may_not_be_is_refused_by_its_field(
    streaming: Streaming, fields: dict[str, str], field: str
) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await streaming.session(**fields)
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert field in (refused.value.details() or "")


async def test_a_foreign_session_is_not_found(streaming: Streaming) -> None:
    unknown = "sessions/ses_" + "0" * 32
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await streaming.sessions.GetSession(pb.GetSessionRequest(name=unknown))
    assert refused.value.code() is grpc.StatusCode.NOT_FOUND
    async with streaming.listening(unknown) as reader:
        await reader.ended.wait()
    assert reader.error is not None
    assert reader.error.code() is grpc.StatusCode.NOT_FOUND
