"""Families as tests make them: umbrellas with children at the gate, and the ends that children can come to."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson

from tests.integration.threads.client import Client, citation, told
from treadle.threads.v1 import thread_service_pb2 as pb

SINGULAR, GROUP = pb.Thread.RELATIONSHIP_SINGULAR, pb.Thread.RELATIONSHIP_GROUP


def child(title: str = "A task", **fields: Any) -> pb.ChildInput:
    """A child with a proposal."""
    return pb.ChildInput(title=title, action=task(title), **fields)


def task(text: str) -> pb.ActionInput:
    """An action of the catalogue."""
    return pb.ActionInput(capability_name="task_create", parameters_json=orjson.dumps({"task_text": text}))


def quorum(n: int) -> pb.CascadePolicy:
    """A policy."""
    return pb.CascadePolicy(rule=pb.CascadePolicy.RULE_QUORUM, n=n)


ANY_DONE = pb.CascadePolicy(rule=pb.CascadePolicy.RULE_ANY_DONE)


async def family(threads: Client, *children: pb.ChildInput, relationship: int = SINGULAR, **fields: Any) -> pb.Thread:
    """An umbrella."""
    fields.setdefault("title", "A family")
    request = pb.CreateFamilyRequest(relationship=relationship, children=children, **fields)  # type: ignore[arg-type]
    return await told(threads.people.CreateFamily(request))


async def children_of(threads: Client, name: str) -> list[pb.Thread]:
    """All of them, page by page."""
    found: list[pb.Thread] = []
    token = ""
    while True:
        page = await told(threads.people.ListSubThreads(pb.ListSubThreadsRequest(name=name, page_token=token)))
        found.extend(page.threads)
        token = page.next_page_token
        if not token:
            return found


async def dismiss(threads: Client, name: str, **fields: Any) -> pb.Decision:
    """Ends a thread."""
    return await told(threads.people.DismissThread(pb.DismissThreadRequest(name=name, **fields)))


async def hand_off(threads: Client, name: str) -> pb.Decision:
    """Somebody else goes on."""
    return await told(threads.people.HandOffThread(pb.HandOffThreadRequest(name=name, to="the landlord")))


async def approve(threads: Client, card: pb.Thread) -> pb.Decision:
    """Says yes to what stands."""
    return await told(threads.people.AcceptThread(pb.AcceptThreadRequest(name=card.name, **citation(card))))


async def finish(threads: Client, card: pb.Thread, *, success: bool = True) -> None:
    """Approves and executes."""
    await approve(threads, card)
    await threads.execute(success=success)


async def kinds(threads: Client, name: str) -> list[str]:
    """The log's kinds."""
    return [kind for kind, _ in await threads.events(name)]


async def moves(threads: Client, name: str) -> list[tuple[str, str]]:
    """The log's moves as (trigger, to)."""
    return [(data["trigger"], data["to"]) for kind, data in await threads.events(name) if kind == "state_transition"]


async def ended(threads: Client, *names: str) -> list[str]:
    """The states of several threads."""
    return list(await asyncio.gather(*map(threads.state, names)))


async def explain(threads: Client, name: str) -> pb.Explanation:
    """What it waits for."""
    return await told(threads.people.ExplainThread(pb.ExplainThreadRequest(name=name)))
