"""Between protobuf and the domain; decides nothing."""

from __future__ import annotations

import orjson

from services.kernel.frames import Frame
from services.streaming.application.attachment import Numbered
from services.streaming.application.records import Entry, Message
from services.streaming.application.work import Turn
from services.streaming.domain import agent_events
from services.streaming.domain.agent_events import AgentEvent
from services.streaming.domain.errors import invalid_event
from services.streaming.domain.gates import Gate, GateState
from services.streaming.domain.session import Agent, Session, TurnState
from services.streaming.domain.turns import TurnStage
from services.streaming.transport import agent_messages
from treadle.streaming.v1 import feed_service_pb2, runner_service_pb2, session_service_pb2

_STATES = {
    TurnState.IDLE: session_service_pb2.Session.STATE_IDLE,
    TurnState.RUNNING: session_service_pb2.Session.STATE_RUNNING,
    TurnState.WAITING: session_service_pb2.Session.STATE_WAITING,
    TurnState.FAILED: session_service_pb2.Session.STATE_FAILED,
}
_AGENTS = {
    Agent.NONE: session_service_pb2.Session.AGENT_NONE,
    Agent.STARTING: session_service_pb2.Session.AGENT_STARTING,
    Agent.LIVE: session_service_pb2.Session.AGENT_LIVE,
}
GATE_STATES = {
    GateState.OPEN: session_service_pb2.SessionGate.STATE_OPEN,
    GateState.ANSWERED: session_service_pb2.SessionGate.STATE_ANSWERED,
    GateState.CANCELLED: session_service_pb2.SessionGate.STATE_CANCELLED,
    GateState.EXPIRED: session_service_pb2.SessionGate.STATE_EXPIRED,
}


def session(one: Session) -> session_service_pb2.Session:
    """A session as its resource."""
    message = session_service_pb2.Session(
        name=f"sessions/{one.id}",
        id=one.id,
        etag=f'"{one.version}"',
        state=_STATES[one.state],
        title=one.title,
        adapter=one.adapter,
        provider=one.provider,
        model=one.model,
        thinking=one.thinking,
        generation=one.generation,
        agent=_AGENTS[one.agent],
        turn_id=one.turn_id,
        outcome=one.outcome,
        code=one.code,
        turn=one.turn_number,
        forked_from=f"sessions/{one.forked_from}" if one.forked_from else "",
        fork_turn=one.fork_turn,
        forking=one.forking,
        coordinator=f"sessions/{one.coordinator}" if one.coordinator else "",
    )
    message.create_time.FromDatetime(one.created_at)
    message.update_time.FromDatetime(one.updated_at)
    return message


def turn(of: Session, one: Turn) -> session_service_pb2.SessionTurn:
    """A turn, with its session. One that starts is under way, and not live yet."""
    message = session_service_pb2.SessionTurn(
        id=one.id,
        number=one.number,
        state=_STATES[TurnState.RUNNING if one.state is TurnStage.STARTING else TurnState(one.state.value)],
        live=one.live,
        outcome="" if one.code else one.outcome,
        code=one.code,
        said=one.said,
        session=session(of),
        tokens=one.tokens,
        origin_turn_id=one.origin_turn_id,
    )
    message.create_time.FromDatetime(one.created_at)
    if one.ended_at is not None:
        message.end_time.FromDatetime(one.ended_at)
    return message


def gate(one: Gate, session_id: str) -> session_service_pb2.SessionGate:
    """A gate as its resource."""
    message = session_service_pb2.SessionGate(
        name=f"sessions/{session_id}/gates/{one.id}",
        id=one.id,
        turn_id=one.turn_id,
        kind=one.kind,
        state=GATE_STATES[one.state],
        proposal_json=orjson.dumps(one.proposal),
        answer_json=b"" if one.answer is None else orjson.dumps(one.answer),
        closed_by=one.closed_by,
    )
    message.create_time.FromDatetime(one.created_at)
    if one.closed_at is not None:
        message.close_time.FromDatetime(one.closed_at)
    if one.expires_at is not None:
        message.expire_time.FromDatetime(one.expires_at)
    return message


def entry(one: Entry) -> session_service_pb2.LedgerEntry:
    """An entry of the ledger."""
    message = session_service_pb2.LedgerEntry(
        sequence=one.sequence, gate_id=one.gate_id, joins_json=orjson.dumps(one.joins), by=one.accepted_by
    )
    message.create_time.FromDatetime(one.created_at)
    return message


def said(one: Message) -> session_service_pb2.Message:
    """A message."""
    message = session_service_pb2.Message(
        sequence=one.sequence,
        turn_id=one.turn_id,
        role=one.role,
        text=one.text,
        partial=one.partial,
        turn=one.turn,
    )
    message.create_time.FromDatetime(one.created_at)
    return message


def batch(frames: list[Frame], position: str) -> feed_service_pb2.FrameBatch:
    """Frames as they go to a reader."""
    message = feed_service_pb2.FrameBatch(position=position)
    add = message.frames.add
    for frame in frames:
        add(id=frame.id, event=frame.event, data=frame.data)
    return message


def agent_event(message: runner_service_pb2.RunnerEvent) -> Numbered:
    """A runner's event through the allow-list. Invalid for what an agent may not say."""
    if message.sequence < 1:
        raise invalid_event("sequence must be 1 or more", "sequence")
    match message.WhichOneof("said"):
        case "gate_opened":
            return Numbered(message.sequence, agent_messages.asked(message.gate_opened))
        case "gate_gone":
            return Numbered(message.sequence, agent_messages.gone(message.gate_gone))
        case "turn_settled":
            return Numbered(message.sequence, agent_messages.turn_end(message.turn_settled))
        case _:
            return Numbered(message.sequence, _event(message))


def _event(message: runner_service_pb2.RunnerEvent) -> AgentEvent | None:
    said = message.event
    match said.WhichOneof("event"):
        case "text_delta":
            return agent_events.delta("text_delta", said.text_delta.delta, said.text_delta.block)
        case "activity_delta":
            return agent_events.delta("activity_delta", said.activity_delta.delta, said.activity_delta.block)
        case "tool":
            return agent_events.tool(said.tool.call_id, said.tool.name, said.tool.status)
        case "text_reset":
            return agent_events.text_reset(list(said.text_reset.blocks))
        case "status":
            return agent_events.status(said.status.code)
        case _:
            raise invalid_event("an agent may say activity_delta, text_delta, text_reset, tool or status", "event")
