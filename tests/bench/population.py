"""Threads that wait for a person's yes or no, made through the service's own calls, and the decisions on them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import asyncpg
import grpc
import orjson

from treadle.threads.v1 import thread_service_pb2 as pb
from treadle.threads.v1.thread_service_pb2_grpc import ThreadServiceStub

_AT_ONCE = 16
_PARAMETERS = orjson.dumps({"path": "notes/week.md", "text": "The supplier confirmed the delivery for Thursday.\n"})


@dataclass(frozen=True, slots=True)
class Waiting:
    """A thread in `awaiting_confirmation`, and the proposal that a decision has to cite."""

    name: str
    proposal_id: str
    proposal_digest: str


@dataclass(frozen=True, slots=True)
class Decision:
    """One call: the RPC's name and its request."""

    rpc: str
    request: pb.AcceptThreadRequest | pb.RejectThreadRequest


async def populate(channel: grpc.aio.Channel, count: int) -> list[Waiting]:
    """Makes `count` threads that wait for a decision on an action that was picked by hand."""
    stub = ThreadServiceStub(channel)
    turn = asyncio.Semaphore(_AT_ONCE)

    async def one(number: int) -> Waiting:
        async with turn:
            made = await stub.CreateThread(create_request(number))
            await stub.SetActionProposal(
                pb.SetActionProposalRequest(
                    name=made.name, capability_name="file_append", parameters_json=_PARAMETERS, rationale="As asked."
                )
            )
            action = (await stub.GetThread(pb.GetThreadRequest(name=made.name))).actions[0]
            return Waiting(made.name, action.proposal_id, action.proposal_digest)

    return await asyncio.gather(*map(one, range(count)))


def create_request(number: int) -> pb.CreateThreadRequest:
    """A matter of work of ordinary size."""
    return pb.CreateThreadRequest(title=title(number), description=description())


def title(number: int) -> str:
    """One line, different for each number."""
    return f"Answer the supplier about delivery {number}"


def description() -> str:
    """A few lines."""
    return "They ask whether Thursday suits us. Look at the calendar, answer in two sentences, note it. " * 3


def decisions(waiting: Sequence[Waiting]) -> list[Decision]:
    """Yes to every other one, no to the rest; each with an idempotency key, as clients send it."""
    made = []
    for number, one in enumerate(waiting):
        key = f"bench-{number}"
        request: pb.AcceptThreadRequest | pb.RejectThreadRequest
        if number % 2:
            request = pb.RejectThreadRequest(name=one.name, feedback="Not now.", request_id=key)
        else:
            request = pb.AcceptThreadRequest(name=one.name, request_id=key)
        request.proposal_id, request.proposal_digest = one.proposal_id, one.proposal_digest
        made.append(Decision("RejectThread" if number % 2 else "AcceptThread", request))
    return made


async def forget_outbox(url: str) -> None:
    """What was sent and purged long ago: a database whose relay has nothing behind it and knows no stream."""
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("TRUNCATE outbox")
        await connection.execute("TRUNCATE relay")
        await connection.execute("TRUNCATE idempotency")
    finally:
        await connection.close()
