"""Between protobuf and the domain; decides nothing."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp

from services.coordination.application.ports import Seen
from services.coordination.application.spawning import Spawned, Spec
from services.coordination.application.thread_mode import PolicyChange
from services.coordination.application.work import Note
from services.coordination.domain.running_on import RunsOn
from services.coordination.domain.worker import Coordinator, Kind, Status, Worker
from services.kernel.errors import Invalid
from treadle.coordination.v1 import coordination_service_pb2 as pb

STATUSES: Final = {
    Status.SPAWNING: pb.Worker.STATUS_SPAWNING,
    Status.RUNNING: pb.Worker.STATUS_RUNNING,
    Status.SUCCEEDED: pb.Worker.STATUS_SUCCEEDED,
    Status.FAILED: pb.Worker.STATUS_FAILED,
    Status.CANCELLED: pb.Worker.STATUS_CANCELLED,
    Status.INTERRUPTED: pb.Worker.STATUS_INTERRUPTED,
    Status.UNKNOWN: pb.Worker.STATUS_UNKNOWN,
}
_NAMED: Final = {value: status for status, value in STATUSES.items()}
_KINDS: Final = {Kind.SUBAGENT: pb.Worker.KIND_SUBAGENT, Kind.SESSION: pb.Worker.KIND_SESSION}
_POLICY: Final = ("auto_wake", "budget_seconds", "budget_tokens", "adapter", "provider", "model")


def moment(field: str, given: Timestamp) -> datetime:
    """A time, UTC; what no calendar has is refused."""
    try:
        return given.ToDatetime(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise Invalid("INVALID_ARGUMENT", f"{field} is out of range", field=field) from None


def worker(seen: Seen) -> pb.Worker:
    """A worker as everybody may see it."""
    one = seen.worker
    message = pb.Worker(
        name=one.name,
        id=one.id,
        coordinator_session_id=one.coordinator_id,
        kind=_KINDS[one.kind],
        status=STATUSES[one.status],
        reason=one.reason,
        has_result=one.has_result,
        partial=one.partial,
        brief=one.brief,
        ids=_ids(one),
        notes=seen.notes,
        note_count=seen.note_count,
        result=seen.result,
        result_length=seen.result_length,
        result_version=one.report_version,
        spawned_by_turn=one.spawned_by_turn,
        waiting=one.waiting,
        cancel_requested=bool(one.stop_reason),
        cancel_reason=one.cancel_reason,
        late=one.late,
        updated_at=int(one.updated_at.timestamp()),
    )
    stamp(message.create_time, one.created_at)
    stamp(message.start_time, one.started_at)
    stamp(message.end_time, one.ended_at)
    stamp(message.expire_time, one.expires_at)
    return message


def _ids(one: Worker) -> pb.Worker.Ids:
    if one.kind is Kind.SESSION:
        return pb.Worker.Ids(worker_session_id=one.session_id)
    return pb.Worker.Ids(subagent_id=one.id, subagent_session_id=one.session_id if one.launches else None)


def note(one: Note) -> pb.Note:
    """A note."""
    message = pb.Note(sequence=one.sequence, text=one.text, by=one.by)
    stamp(message.create_time, one.created_at)
    return message


def policy(one: Coordinator) -> pb.WorkerPolicy:
    """Every field of the policy, as it is."""
    return pb.WorkerPolicy(**{name: getattr(one, name) for name in _POLICY})


def policy_change(message: pb.WorkerPolicy) -> PolicyChange:
    """The fields that are set."""
    return PolicyChange(**{name: getattr(message, name) for name in _POLICY if message.HasField(name)})


def spec(message: pb.WorkerSpec) -> Spec:
    """A worker to be."""
    return Spec(
        message.name,
        message.brief,
        message.context,
        RunsOn(message.adapter, message.provider, message.model),
        message.timeout_seconds,
    )


def spawned(asked: pb.WorkerSpec, one: Spawned) -> pb.SpawnWorkersResponse.Spawned:
    """What became of an item."""
    if not one.worker_id:
        return pb.SpawnWorkersResponse.Spawned(name=asked.name, code=one.code, error=one.error)
    return pb.SpawnWorkersResponse.Spawned(
        name=asked.name,
        ok=True,
        kind=pb.Worker.KIND_SUBAGENT,
        subagent_id=one.worker_id,
        status=pb.Worker.STATUS_SPAWNING,
    )


def status(value: pb.Worker.Status.ValueType) -> Status:
    """A status that a caller names."""
    if value not in _NAMED:
        raise Invalid("INVALID_ARGUMENT", "status must be running, unknown or an end", field="status")
    return _NAMED[value]


def stamp(field: Timestamp, at: datetime | None) -> None:
    """Sets a time that is there."""
    if at is not None:
        field.FromDatetime(at)
