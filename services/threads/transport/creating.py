"""CreateThreadRequest as a command."""

from __future__ import annotations

from services.kernel.ids import NewId
from services.threads.domain.commands import CreateThread
from services.threads.domain.policy_json import policy_from
from services.threads.domain.thread import ContextItem
from services.threads.transport import reading
from treadle.threads.v1 import thread_service_pb2 as pb


def create_command(request: pb.CreateThreadRequest, new_id: NewId) -> CreateThread:
    """With ids for the thread and for the items that came without one."""
    return CreateThread(
        thread_id=new_id("thr"),
        title=request.title,
        description=request.description,
        context_items=tuple(_item(index, item, new_id) for index, item in enumerate(request.context_items)),
        autonomy=policy_from(reading.json_value("autonomy", request.autonomy_json)),
        urgency=request.urgency or "surface_now",
    )


def _item(index: int, item: pb.ContextItem, new_id: NewId) -> ContextItem:
    return ContextItem(
        id=item.id or new_id("itm"),
        source=item.source,
        type=item.type,
        label=item.label,
        payload=reading.json_value(f"context_items[{index}].payload", item.payload_json),
    )
