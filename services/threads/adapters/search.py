"""The words of threads in a table of their own, kept in the transaction that changes a title, an intent or items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Column, Table, Text, bindparam, cast, func
from sqlalchemy.dialects.postgresql import ARRAY, TSQUERY, TSVECTOR, insert

from services.kernel.postgres import Tx, compiled
from services.threads.adapters.tables import THREADS
from services.threads.domain.events import Event
from services.threads.domain.kinds import Kind
from services.threads.domain.thread import Thread
from services.threads.domain.words import words, words_of

SEARCH: Final = Table(
    "thread_search",
    THREADS.metadata,
    Column("tenant", Text, primary_key=True),
    Column("thread_id", Text, primary_key=True),
    Column("words", TSVECTOR),
)
_CHANGE: Final = frozenset({Kind.THREAD_CREATED, Kind.THREAD_RENAMED, Kind.INTENT_INFERRED, Kind.CONTEXT_ITEM_MOVED})
_VECTOR = func.array_to_tsvector(bindparam("words", type_=ARRAY(Text)))
_NOTE = compiled(
    insert(SEARCH)
    .values(tenant=bindparam("tenant"), thread_id=bindparam("thread_id"), words=_VECTOR)
    .on_conflict_do_update(index_elements=[SEARCH.c.tenant, SEARCH.c.thread_id], set_={"words": _VECTOR})
)
MATCHES = SEARCH.c.words.op("@@")(cast(bindparam("looked_for", type_=Text), TSQUERY))


def changes_words(events: Sequence[Event]) -> bool:
    """Whether these events may change what a search finds."""
    return any(event.kind in _CHANGE for event in events)


async def note_words(tx: Tx, tenant: str, threads: Sequence[Thread]) -> None:
    """Keep the words of threads as they are now, with their items."""
    rows: list[dict[str, Any]] = [
        {"tenant": tenant, "thread_id": thread.thread_id, "words": words_of(thread)} for thread in threads
    ]
    await tx.executemany(_NOTE, rows)


def looked_for(said: str) -> str:
    """A tsquery: every word, each as the beginning of one. Quoted, so that nothing in it is an operator; empty when
    there is no word in it.
    """
    return " & ".join(f"'{word}':*" for word in words(said))
