"""Facts of threads, workers and plans, as their services would write them."""

from __future__ import annotations

from typing import Any

from services.kernel import outbox
from services.kernel.bus import Bus
from services.kernel.ids import new_id
from services.kernel.jetstream import Stored, read_from
from services.kernel.postgres import Database, Tx
from services.kernel.relay import EVENT_ID
from services.kernel.streams import DOMAIN


def payload(thread: str, seq: int, *ancestors: str, **more: Any) -> dict[str, Any]:
    """A thread's event; the first ancestor is its root."""
    return {
        "event_id": new_id("evt"),
        "thread_id": thread,
        "root_id": ancestors[0] if ancestors else thread,
        "path": list(ancestors),
        "seq": seq,
        "kind": "state_transition",
        "from": "awaiting_inference",
        "to": "done",
        "trigger": "execute",
        "actor": "user:local",
        "time": "2026-01-02T03:04:05.000006Z",
        **more,
    }


def worker(coordinator: str, **more: Any) -> dict[str, Any]:
    """What happened to a coordinator's worker."""
    return {
        "event_id": new_id("evt"),
        "kind": "ended",
        "coordinator_session_id": coordinator,
        "worker_id": new_id("wrk"),
        "name": "alpha",
        "worker_session_id": new_id("ses"),
        "from": "running",
        "to": "succeeded",
        "reason": "completed",
        "has_result": True,
        "partial": False,
        "late": False,
        "turn_id": new_id("trn"),
        "actor": "service:coordination",
        "time": "2026-01-02T03:04:05.000006Z",
        **more,
    }


def plan(session: str, **more: Any) -> dict[str, Any]:
    """What happened to a session's plan."""
    return {
        "event_id": new_id("evt"),
        "kind": "plan",
        "session_id": session,
        "version": 7,
        "turn": 0,
        "document": "",
        "branch_session_id": "",
        "state": "",
        "actor": "user:local",
        "time": "2026-01-02T03:04:05.000006Z",
        **more,
    }


def _subject(fact: dict[str, Any]) -> dict[str, str]:
    if "coordinator_session_id" in fact:
        return {"scope": fact["coordinator_session_id"], "service": "coordination", "type": "worker"}
    if "session_id" in fact:
        return {"scope": fact["session_id"], "service": "planning", "type": "plan"}
    return {"scope": fact["root_id"], "service": "streaming", "type": "thread"}


async def enqueue(tx: Tx, fact: dict[str, Any], tenant: str = "default") -> str:
    """Writes it to the outbox; answers its event id."""
    await outbox.enqueue(
        tx,
        tenant=tenant,
        **_subject(fact),
        event_id=fact["event_id"],
        payload=fact,
    )
    event_id: str = fact["event_id"]
    return event_id


async def tell(database: Database, bus: Bus, *facts: dict[str, Any], tenant: str = "default") -> list[str]:
    """Commits facts and pings the relay; answers their event ids."""
    async with database.transaction() as tx:
        ids = [await enqueue(tx, fact, tenant) for fact in facts]
    await bus.ping(outbox.wake_subject("streaming"))
    return ids


async def stored_facts(bus: Bus) -> list[Stored]:
    """Everything that is in DOMAIN but the relays' markers."""
    return [stored async for chunk in read_from(bus, DOMAIN, "domain.*.*.*.*", 1) for stored in chunk]


async def stored_ids(bus: Bus) -> list[str]:
    """The event ids in DOMAIN, in order."""
    return [stored.headers[EVENT_ID] for stored in await stored_facts(bus)]
