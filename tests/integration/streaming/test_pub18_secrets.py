"""PUB18 and D1.8 scenario 9: what a runner says beside the allow-list reaches nobody."""

from __future__ import annotations

from typing import Any

import grpc
import pytest

from tests.integration.streaming.agent_runner import Held, running
from tests.integration.streaming.client import Streaming
from tests.integration.streaming.test_turns import get, prompt, reached
from treadle.streaming.v1 import job_service_pb2 as jobs
from treadle.streaming.v1 import runner_service_pb2 as runners
from treadle.streaming.v1 import session_event_pb2 as events
from treadle.streaming.v1 import session_service_pb2 as pb

SECRET = "ZX-SECRET-7"
PATH = f"/srv/{SECRET}/key pem"
Event = events.SessionEvent


async def _everything(streaming: Streaming, name: str) -> bytes:
    """Every byte that a reader can get of the session."""
    heard = b""
    async with streaming.listening(name) as reader, streaming.of_tenant() as feed:
        for listener in (reader, feed):
            for frame in await listener.level():
                heard += frame.SerializeToString()
    sessions = streaming.sessions
    answers: list[Any] = [
        await get(streaming, name),
        await sessions.ListSessions(pb.ListSessionsRequest()),
        await sessions.ListGates(pb.ListGatesRequest(parent=name)),
        await sessions.GetLedger(pb.GetLedgerRequest(name=name)),
        await sessions.ListMessages(pb.ListMessagesRequest(parent=name)),
    ]
    return heard + b"".join(one.SerializeToString() for one in answers)


async def _error_bytes(held: Held) -> bytes:
    await held.ended.wait()
    assert held.error is not None
    trailing: Any = held.error.trailing_metadata() or ()
    return repr((held.error.details(), [(key, value) for key, value in trailing])).encode()


async def test_d1_8_9_pub18_no_byte_beside_the_allow_list(streaming: Streaming) -> None:
    name = await streaming.session()
    async with running(streaming) as runner:
        turn = await prompt(streaming, name)
        held = await runner.take()
        await held.command("prompt")
        await held.tool(f"call {PATH}", "running", f"bash {PATH}")
        await held.tool(f"call {PATH}", "completed", f"bash {PATH}")
        await held.tool("c2", PATH)
        await held.tool("c3", "running", PATH)
        await held.say(event=Event(status=events.Status(code="retrying", text=PATH)))
        await held.say(event=Event(status=events.Status(code=SECRET, text=PATH)))
        proposal = {
            "method": "confirm",
            "title": "Sure?",
            "args": PATH,
            "options": [PATH],
            "nested": {"x": [PATH]},
        }
        await held.ask("q", "dialog", proposal)
        refused = await held.ask("q2", "choice", {"question": PATH, "options": PATH})
        assert SECRET not in refused.message
        refused = await held.ask("q3", PATH, {})
        assert SECRET not in refused.message
        await held.settle(turn, "failed", code=PATH, detail=PATH)
        session = await get(streaming, name)
        assert (session.state, session.code) == (pb.Session.STATE_FAILED, "protocol_error")
        heard = await _everything(streaming, name)
        assert SECRET.encode() not in heard
        assert b'"failed"' in heard  # something was heard, and c3 has its end


@pytest.mark.parametrize(
    "said",
    [
        {"event": Event(prompt=events.Prompt(text=PATH))},
        {"event": Event(turn=events.Turn(state="failed", code=PATH))},
        {"event": Event(gate=events.Gate(gate_id=PATH))},
        {"event": Event(reset=events.Reset(reason=PATH))},
        {"gate_opened": runners.GateOpened(request_id=PATH, kind=PATH, proposal_json=PATH.encode())},
        {"gate_gone": runners.GateGone(request_id=PATH)},
    ],
    ids=["prompt", "turn", "gate", "reset", "gate_opened", "gate_gone"],
)
async def test_pub18_what_a_runner_may_not_say_is_refused_without_its_words(
    streaming: Streaming, said: dict[str, Any]
) -> None:
    name = await streaming.session()
    async with running(streaming) as runner:
        await prompt(streaming, name)
        held = await runner.take()
        await held.command("prompt")
        await held.say(**said)
        error = await _error_bytes(held)
        assert b"INVALID_EVENT" in error
        assert SECRET.encode() not in error
        assert SECRET.encode() not in await _everything(streaming, name)


async def test_pub18_a_failed_jobs_code_and_detail_stay_on_the_server(streaming: Streaming) -> None:
    name = await streaming.session()
    async with running(streaming) as runner:
        await prompt(streaming, name)
        held = await runner.take()
        await runner.stub.FailJob(
            jobs.FailJobRequest(job_id=held.job.id, fence=held.job.fence, code=PATH, detail=f"traceback {PATH}")
        )
        await runner.stub.FailJob(  # the repeat of one whose answer was lost
            jobs.FailJobRequest(job_id=held.job.id, fence=held.job.fence, code=PATH, detail=PATH)
        )
        assert (await reached(streaming, name, pb.Session.STATE_FAILED)).code == "protocol_error"
        assert SECRET.encode() not in await _everything(streaming, name)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await runner.stub.CompleteJob(jobs.CompleteJobRequest(job_id=PATH, fence=1))
        assert caught.value.code() == grpc.StatusCode.NOT_FOUND
