"""Between protobuf and the domain; decides nothing."""

from __future__ import annotations

from services.planning.application.comparing import Compared
from services.planning.application.objectives import etag_of
from services.planning.application.ports import Graph, Head, Node, TurnSeen
from services.planning.application.work import Live, Restored
from services.planning.domain.branch import Branch, Saga
from services.planning.domain.context import Context
from services.planning.domain.document import Document
from services.planning.domain.document import etag_of as document_etag
from services.planning.domain.lineage import Change
from services.planning.domain.numbering import leaves, numbers, progress
from services.planning.domain.snapshot import KeptDocument, sha256
from services.planning.domain.step import Step, Steps
from services.planning.domain.workspace import Making, Workspace
from treadle.planning.v1 import planning_service_pb2 as pb

_STATES = {
    Saga.FORKING: pb.Branch.STATE_FORKING,
    Saga.OPENING: pb.Branch.STATE_FORKING,
    Saga.ABANDONING: pb.Branch.STATE_FORKING,
    Saga.READY: pb.Branch.STATE_READY,
    Saga.FAILED: pb.Branch.STATE_FAILED,
}


def objective(workspace: Workspace, notice: str = "") -> pb.Objective:
    """The objective of a workspace."""
    message = pb.Objective(
        text=workspace.objective,
        version=workspace.objective_version,
        etag=etag_of(workspace.objective_version),
        updated_by=workspace.objective_by,
        notice=notice,
    )
    if workspace.objective_at is not None:
        message.update_time.FromDatetime(workspace.objective_at)
    return message


def steps(plan: Steps) -> list[pb.Step]:
    """With index, number and leaf, which are derived."""
    depths = [one.depth for one in plan]
    return [
        _step(one, at + 1, number, leaf)
        for at, (one, number, leaf) in enumerate(zip(plan, numbers(depths), leaves(depths), strict=True))
    ]


def plan(found: Steps, version: int) -> pb.Plan:
    """The whole plan."""
    done = progress(found)
    return pb.Plan(
        steps=steps(found),
        version=version,
        progress=done.ratio,
        leaves=done.leaves,
        done_leaves=done.done,
        complete=done.complete,
    )


def context(session_id: str, one: Context) -> pb.PlanContext:
    """What an agent is told, or was."""
    message = pb.PlanContext(
        session_id=session_id,
        text=one.text,
        sha256=one.sha256,
        version=one.version,
        turn_id=one.turn_id,
        turn=one.turn,
    )
    if one.told_at is not None:
        message.create_time.FromDatetime(one.told_at)
    return message


def document(session_id: str, one: Document) -> pb.Document:
    """A live document."""
    message = pb.Document(
        name=f"sessions/{session_id}/documents/{one.key}",
        key=one.key,
        content=one.content or "",
        size=one.size,
        sha256=one.sha256,
        locked=one.locked,
        version=one.version,
        etag=document_etag(one),
        updated_by=one.updated_by,
    )
    message.update_time.FromDatetime(one.updated_at)
    return message


def workspace(found: Restored) -> pb.Workspace:
    """A workspace as it was, or is."""
    session_id = found.workspace.session_id
    return pb.Workspace(
        session_id=session_id,
        turn=found.turn,
        live=found.live,
        objective=found.snapshot.objective,
        plan=plan(found.steps, found.workspace.plan_version if found.live else 0),
        documents=[_kept(session_id, one) for one in found.snapshot.documents],
    )


def turn(seen: TurnSeen) -> pb.PlanTurn:
    """A turn."""
    one = seen.turn
    message = pb.PlanTurn(
        number=one.number,
        turn_id=one.turn_id,
        session_id=one.line,
        running=one.running,
        outcome=one.outcome,
        restorable=seen.restorable,
    )
    message.create_time.FromDatetime(one.begun_at)
    if one.ended_at is not None:
        message.end_time.FromDatetime(one.ended_at)
    return message


def branch(one: Branch) -> pb.Branch:
    """A branch."""
    message = pb.Branch(
        session_id=one.session_id,
        state=_STATES[one.state],
        forked=True,
        origin_session_id=one.origin_id,
        turn=one.turn,
        origin_turn_id=one.origin_turn_id,
        reason=one.reason,
        by=one.asked_by,
    )
    message.create_time.FromDatetime(one.created_at)
    return message


def graph(found: Graph, token: str) -> pb.Graph:
    """A page of the graph."""
    return pb.Graph(
        nodes=[_node(one) for one in found.nodes],
        heads=[_head(one) for one in found.heads],
        next_page_token=token,
    )


def diff(found: Compared) -> pb.PlanDiff:
    """The changes."""
    this, other = found.this.workspace, found.other.workspace
    before, after = _by_origin(found.this), _by_origin(found.other)
    return pb.PlanDiff(
        changes=[_change(one, before, after) for one in found.changes],
        objective_changed=this.objective != other.objective,
        objective=this.objective,
        other_objective=other.objective,
        version=this.plan_version,
        other_version=other.plan_version,
    )


def _step(one: Step, index: int, number: str, leaf: bool) -> pb.Step:
    return pb.Step(
        id=one.id,
        index=index,
        number=number,
        depth=one.depth,
        text=one.text,
        done=one.done,
        origin_id=one.origin_id,
        leaf=leaf,
    )


def _kept(session_id: str, one: KeptDocument) -> pb.Document:
    data = one.content.encode()
    return pb.Document(
        name=f"sessions/{session_id}/documents/{one.key}",
        key=one.key,
        content=one.content,
        size=len(data),
        sha256=sha256(data),
        locked=one.locked,
    )


def _node(one: Node) -> pb.Graph.Node:
    message = pb.Graph.Node(
        turn_id=one.turn.turn_id,
        parent_turn_id=one.parent_turn_id,
        session_id=one.session_id,
        number=one.turn.number,
        running=one.turn.running,
        outcome=one.turn.outcome,
        objective=one.objective,
        leaves=one.progress.leaves,
        done_leaves=one.progress.done,
        restorable=one.restorable,
    )
    message.create_time.FromDatetime(one.turn.begun_at)
    return message


def _head(one: Head) -> pb.Graph.Head:
    ready = one.workspace.making is Making.READY
    return pb.Graph.Head(
        session_id=one.workspace.session_id,
        turn_id=one.workspace.turn_id,
        state=pb.Branch.STATE_READY if ready else pb.Branch.STATE_FORKING,
        origin_session_id=one.workspace.parent_id,
        fork_turn_id=one.fork_turn_id,
        objective=one.workspace.objective,
        leaves=one.progress.leaves,
        done_leaves=one.progress.done,
    )


def _by_origin(live: Live) -> dict[str, pb.Step]:
    return {one.origin_id: one for one in steps(live.steps)}


def _change(one: Change, before: dict[str, pb.Step], after: dict[str, pb.Step]) -> pb.PlanDiff.Change:
    return pb.PlanDiff.Change(
        origin_id=one.origin_id,
        kinds=[kind.value for kind in one.kinds],
        before=before.get(one.origin_id),
        after=after.get(one.origin_id),
        parent_origin_id=one.parent,
    )
