"""Calls with anything in their fields: a typed refusal or an answer, never an internal error (PUB21, PUB22, A1)."""

from __future__ import annotations

from typing import Any

import grpc
from grpc import StatusCode
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from services.kernel.grpc_errors import refusal_from
from tests.integration.coordination.client import PERSON, Coordination, agent, bearing, refused, spec
from treadle.coordination.v1 import coordination_service_pb2 as pb

ODD = [
    "",
    " ",
    "\0",
    "a\0",
    "\n",
    "\ufffe",
    "\U0010ffff",
    "ä" * 256,
    "😀" * 256,
    "x" * 257,
    "sessions/",
    "w1\n",
    "\x85",
]
text = st.sampled_from(ODD) | st.text(max_size=20)
session = st.sampled_from(["worker:x", "ses_a", "ä/ö"]) | text
name = st.sampled_from(["alpha", "beta"]) | text
number = st.sampled_from([0, 1, -1, 2**31 - 1, -(2**31)])
large = st.sampled_from([0, 1, -1, 2**63 - 1, -(2**63)])
key = st.sampled_from(["", "k1", "k2"]) | text
parent = st.builds("sessions/{}".format, session) | text

policy = st.builds(
    pb.WorkerPolicy,
    auto_wake=st.booleans(),
    budget_seconds=large,
    budget_tokens=large,
    adapter=text,
    provider=text,
    model=text,
)
item = st.builds(pb.WorkerSpec, name=name, brief=text, context=text, adapter=text, timeout_seconds=number)
REQUESTS = st.one_of(
    st.builds(
        pb.SetThreadModeRequest,
        session_id=session,
        enabled=st.booleans() | st.none(),
        policy=policy | st.none(),
        request_id=key,
    ),
    st.builds(
        pb.RegisterWorkerRequest,
        coordinator_session_id=session,
        name=name,
        worker_session_id=session,
        brief=text,
        request_id=key,
    ),
    st.builds(pb.GetRosterRequest, coordinator_session_id=session, page_size=number, page_token=text),
    st.builds(pb.SpawnWorkersRequest, parent=parent, threads=st.lists(item, max_size=3), request_id=key),
    st.builds(pb.ListWorkersRequest, parent=parent, page_size=number, page_token=text),
    st.builds(pb.CancelWorkerRequest, parent=parent, thread_name=name, reason=text, request_id=key),
    st.builds(pb.AddNoteRequest, parent=parent, thread_name=name, note=text, request_id=key),
    st.builds(pb.ListNotesRequest, parent=parent, thread_name=name, page_size=number, page_token=text),
    st.builds(
        pb.SetWorkerStatusRequest,
        parent=parent,
        thread_name=name,
        status=st.integers(0, 9),
        request_id=key,
    ),
)
TYPED = {
    StatusCode.INVALID_ARGUMENT,
    StatusCode.NOT_FOUND,
    StatusCode.ALREADY_EXISTS,
    StatusCode.FAILED_PRECONDITION,
    StatusCode.PERMISSION_DENIED,
    StatusCode.ABORTED,
    StatusCode.RESOURCE_EXHAUSTED,
}


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(request=REQUESTS, by_agent=st.booleans())
async def test_whatever_is_said_is_answered_or_refused_by_type(
    coordination: Coordination, request: Any, by_agent: bool
) -> None:
    method = type(request).__name__.removesuffix("Request")
    caller = agent("worker:x") if by_agent else PERSON
    refusals = []
    try:
        await getattr(coordination.stub, method)(request, metadata=bearing(caller))
    except grpc.aio.AioRpcError as error:
        refusals.append((error.code(), refusal_from(error)))
    for code, refusal in refusals:
        assert code in TYPED, (method, code, refusal)
        assert refusal is not None
        if code is StatusCode.INVALID_ARGUMENT:
            assert refusal.metadata["field"].split(".")[0] in request.DESCRIPTOR.fields_by_name


async def test_an_unknown_status_is_refused_by_its_field(coordination: Coordination, chat: str) -> None:
    await coordination.register(chat, "alpha", "ses_w")
    request = pb.SetWorkerStatusRequest(parent=f"sessions/{chat}", thread_name="alpha")
    request.status = 99  # type: ignore[assignment]
    async with refused(StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT", field="status"):
        await coordination.stub.SetWorkerStatus(request, metadata=bearing(PERSON))


async def test_the_longest_names_fit_every_index(coordination: Coordination) -> None:
    longest, worker = "😀" * 256, "é" * 256
    by = PERSON
    await coordination.flag(longest, request_id="k" * 128, by=by)
    await coordination.register(longest, "a" * 64, worker, brief="😀" * 4_000, request_id="k" * 128)
    await coordination.note(longest, "x", name="a" * 64, by=agent(longest), request_id="k" * 128)
    await coordination.note(worker, "y", by=agent(worker), request_id="k" * 128)
    assert (
        await coordination.status(worker, "a" * 64, "failed", by=agent(worker), request_id="k" * 128)
    ).note_count == 2


async def test_pub22_nul_in_a_brief_or_a_context_names_its_field(coordination: Coordination, chat: str) -> None:
    answer = await coordination.spawn(chat, spec("a", "b\0"), spec("b", "b", context="\0"), spec("c", model="\0"))
    assert [one.code for one in answer] == ["invalid_argument"] * 3
    assert ["brief" in answer[0].error, "context" in answer[1].error, "model" in answer[2].error] == [True] * 3
