"""Events as rows, as facts for the outbox, and back."""

from __future__ import annotations

from typing import Any, Final

import orjson

from services.kernel import outbox
from services.kernel.postgres import Row
from services.threads.adapters.tables import ENTRY, FACT
from services.threads.domain.errors import Decided
from services.threads.domain.events import Actor, ActorKind, Event
from services.threads.domain.kinds import Kind
from services.threads.domain.moved import decided_by
from services.threads.domain.proposal import as_object
from services.threads.domain.reading import maybe_text, text
from services.threads.domain.thread import Thread

SERVICE: Final = "threads"
TYPE: Final = "thread"


def event_row(tenant: str, thread_id: str, event: Event) -> dict[str, Any]:
    """A row of thread_events; the ledger's two columns are taken out of the decision."""
    entry = as_object(event.data.get("decision"))
    return {
        "tenant": tenant,
        "thread_id": thread_id,
        "seq": event.seq,
        "id": event.id,
        "kind": event.kind,
        "actor_kind": event.actor.kind,
        "actor_subject": event.actor.subject,
        "time": event.time,
        "data": orjson.dumps(event.data).decode(),
        "proposal_id": maybe_text(entry, "proposal_id"),
        "cited_proposal_id": maybe_text(entry, "cited_proposal_id"),
    }


def told_row(tenant: str, thread: Thread, event: Event) -> dict[str, Any]:
    """An event as an entry of the log and as a fact, for the statements that write both."""
    row = {f"{ENTRY}{name}": value for name, value in event_row(tenant, thread.thread_id, event).items()}
    return row | {f"{FACT}{name}": value for name, value in fact_of(tenant, thread, event).items()}


def event_of(row: Row) -> Event:
    """The event of a row."""
    return Event(
        id=row["id"],
        kind=Kind(row["kind"]),
        seq=row["seq"],
        time=row["time"],
        actor=Actor(ActorKind(row["actor_kind"]), row["actor_subject"]),
        data=orjson.loads(row["data"]),
    )


def decided_of(row: Row) -> Decided:
    """The line of the ledger of a row."""
    event = event_of(row)
    return decided_by(event, as_object(event.data.get("decision")))


def fact_of(tenant: str, thread: Thread, event: Event) -> dict[str, Any]:
    """What the world hears of an event: names and states only, never what people or models wrote (I8)."""
    moved = event.kind is Kind.STATE_TRANSITION
    return outbox.enqueued(
        tenant=tenant,
        scope=thread.root_id,
        service=SERVICE,
        type=TYPE,
        event_id=event.id,
        payload={
            "event_id": event.id,
            "thread_id": thread.thread_id,
            "root_id": thread.root_id,
            "path": list(thread.path),
            "seq": event.seq,
            "kind": event.kind,
            "from": text(event.data, "from") if moved else "",
            "to": text(event.data, "to") if moved else "",
            "trigger": text(event.data, "trigger") if moved else "",
            "actor": f"{event.actor.kind}:{event.actor.subject}",
            "time": event.time.isoformat().replace("+00:00", "Z"),
        },
    )
