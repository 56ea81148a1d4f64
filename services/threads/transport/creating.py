"""CreateThreadRequest as a command."""

from __future__ import annotations

from services.kernel.ids import NewId
from services.threads.application.family_plans import ChildPlan
from services.threads.domain.commands import CreateThread
from services.threads.domain.policy_json import policy_from
from services.threads.transport import reading
from services.threads.transport.family_requests import items_of, state_from
from treadle.threads.v1 import thread_service_pb2 as pb


def create_command(request: pb.CreateThreadRequest, new_id: NewId) -> CreateThread:
    """With ids for the thread and for the items that came without one."""
    return CreateThread(
        thread_id=new_id("thr"),
        title=request.title,
        description=request.description,
        context_items=items_of("context_items", request.context_items, new_id),
        autonomy=policy_from(reading.json_value("autonomy", request.autonomy_json)),
        urgency=request.urgency or "surface_now",
    )


def start_of(request: pb.CreateThreadRequest) -> ChildPlan:
    """Where it begins, as a child would."""
    return ChildPlan(
        title=request.title,
        action=reading.action(request.action) if request.HasField("action") else None,
        state=state_from(request.state),
        question=request.question,
    )
