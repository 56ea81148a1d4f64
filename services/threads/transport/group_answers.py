"""Answers of group calls: written from results, stored for repeats, read back."""

from __future__ import annotations

from services.kernel.idempotency import ANSWER_MOST
from services.threads.application.groups import Deleted, Moved
from services.threads.domain.thread import Thread
from services.threads.transport.card import card, shown_item
from treadle.threads.v1 import thread_service_pb2 as pb


class MovedAnswer:
    """The moved items as they lie. What is too large to be kept is stored without payloads."""

    def write(self, moved: Moved) -> pb.MoveItemResponse:
        """In the order of the call."""
        first = len(moved.to.context_items) - len(moved.items) + 1
        items = [shown_item(item, place) for place, item in enumerate(moved.items, start=first)]
        answer = pb.MoveItemResponse(migration_id=moved.migration_id, items=items)
        if len(items) == 1:
            answer.item.CopyFrom(items[0])
        return answer

    def dump(self, answer: pb.MoveItemResponse) -> bytes:
        """Whole where it fits."""
        whole = answer.SerializeToString()
        if len(whole) <= ANSWER_MOST:
            return whole
        bare = [pb.ContextItem(id=item.id, display_index=item.display_index) for item in answer.items]
        return pb.MoveItemResponse(migration_id=answer.migration_id, items=bare).SerializeToString()

    def load(self, stored: bytes) -> pb.MoveItemResponse:
        """As stored."""
        return pb.MoveItemResponse.FromString(stored)


class ColumnAnswer:
    """A new column's card: a few hundred bytes."""

    def write(self, column: Thread) -> pb.Thread:
        """Without children."""
        return card(column, {})

    def dump(self, answer: pb.Thread) -> bytes:
        """Whole."""
        return answer.SerializeToString()

    def load(self, stored: bytes) -> pb.Thread:
        """As stored."""
        return pb.Thread.FromString(stored)


class DeletedAnswer:
    """Two ids."""

    def write(self, deleted: Deleted) -> pb.DeleteGroupSubthreadResponse:
        """As they are."""
        return pb.DeleteGroupSubthreadResponse(dismissed=deleted.child_id, umbrella_id=deleted.umbrella_id)

    def dump(self, answer: pb.DeleteGroupSubthreadResponse) -> bytes:
        """Whole."""
        return answer.SerializeToString()

    def load(self, stored: bytes) -> pb.DeleteGroupSubthreadResponse:
        """As stored."""
        return pb.DeleteGroupSubthreadResponse.FromString(stored)
