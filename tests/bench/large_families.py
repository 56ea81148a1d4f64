"""Families of any size, made in one call, whose children wait for a decision."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from tests.bench.population import description, title
from treadle.threads.v1 import thread_service_pb2 as pb

if TYPE_CHECKING:
    from treadle.threads.v1.thread_service_pb2_grpc import ThreadServiceAsyncStub


async def made(stub: ThreadServiceAsyncStub, children: int) -> str:
    """The name of a new singular umbrella."""
    request = pb.CreateFamilyRequest(
        relationship=pb.Thread.RELATIONSHIP_SINGULAR,
        title=title(0),
        description=description(),
        children=[_child(number) for number in range(children)],
    )
    return (await stub.CreateFamily(request)).name


async def children_of(stub: ThreadServiceAsyncStub, umbrella: str, most: int) -> list[str]:
    """The names of the first children."""
    names: list[str] = []
    token = ""
    while len(names) < most:
        request = pb.ListSubThreadsRequest(name=umbrella, page_size=200, page_token=token)
        page = await stub.ListSubThreads(request)
        names += [card.name for card in page.threads]
        token = page.next_page_token
        if not token:
            break
    return names[:most]


def _child(number: int) -> pb.ChildInput:
    parameters = orjson.dumps({"task_text": f"Answer the supplier about delivery {number}", "urgency": "medium"})
    action = pb.ActionInput(capability_name="task_create", parameters_json=parameters, rationale="As asked.")
    return pb.ChildInput(title=title(number), action=action)
