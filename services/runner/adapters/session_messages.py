"""A session's messages, between protobuf and the runner's own words. Decides nothing."""

from __future__ import annotations

import orjson

from services.kernel.text import encodable, storable
from services.runner.application.ports import LeasedJob
from services.runner.application.sessions.ports import Answer, GateRefused
from services.runner.domain.agent import (
    ActivityDelta,
    GateReply,
    GateState,
    Outcome,
    Status,
    TextDelta,
    TextReset,
    Tool,
)
from services.runner.domain.failure import Code, Failed
from services.runner.domain.session import (
    FINAL_TEXT_BYTES,
    Abort,
    AskedPerson,
    BeginTurn,
    Command,
    GateClosedBy,
    Order,
    Said,
    SessionOrder,
    Settled,
    Shutdown,
    Steer,
    TookBack,
)
from treadle.streaming.v1 import runner_service_pb2 as pb
from treadle.streaming.v1 import session_event_pb2 as events


def event_of(sequence: int, said: Said) -> pb.RunnerEvent:
    """One numbered event."""
    match said:
        case ActivityDelta(block, delta):
            event = events.SessionEvent(activity_delta=events.ActivityDelta(delta=encodable(delta), block=block))
        case TextDelta(block, delta):
            event = events.SessionEvent(text_delta=events.TextDelta(delta=encodable(delta), block=block))
        case TextReset(blocks):
            event = events.SessionEvent(text_reset=events.TextReset(blocks=blocks))
        case Tool(call_id, name, status):
            event = events.SessionEvent(tool=events.Tool(call_id=call_id, name=name, status=status))
        case Status(code):
            event = events.SessionEvent(status=events.Status(code=code))
        case AskedPerson(request, kind, proposal, timeout):
            opened = pb.GateOpened(
                request_id=request, kind=kind, proposal_json=orjson.dumps(proposal), timeout_seconds=timeout
            )
            return pb.RunnerEvent(sequence=sequence, gate_opened=opened)
        case TookBack(request, expired):
            return pb.RunnerEvent(sequence=sequence, gate_gone=pb.GateGone(request_id=request, expired=expired))
        case Settled():
            return pb.RunnerEvent(sequence=sequence, turn_settled=_settled(said))
    return pb.RunnerEvent(sequence=sequence, event=event)


def _settled(said: Settled) -> pb.TurnSettled:
    """A text that is too long is cut, and the turn says so."""
    encoded = storable(said.text).encode()
    text = encoded[:FINAL_TEXT_BYTES].decode("utf-8", "ignore")
    usage = pb.Usage(input_tokens=said.usage.read, output_tokens=said.usage.written)
    if not isinstance(said.end, Outcome):
        return pb.TurnSettled(turn_id=said.turn, outcome="failed", code=said.end, final_text=text, usage=usage)
    cut = said.end is Outcome.OK and len(encoded) > FINAL_TEXT_BYTES
    end = Outcome.TRUNCATED if cut else said.end
    return pb.TurnSettled(turn_id=said.turn, outcome=end, final_text=text, usage=usage)


def answer_of(response: pb.AttachResponse) -> Answer:
    """What the owner says."""
    return Answer(
        epoch=response.epoch,
        acked=response.acked_sequence,
        commands=[Command(command.sequence, _order(command)) for command in response.commands],
        refused=[GateRefused(gate.request_id, gate.message or gate.reason) for gate in response.gates if gate.reason],
        kept=response.agent_state.turn_id if response.HasField("agent_state") else "",
    )


def _order(command: pb.SessionCommand) -> Order:
    match command.WhichOneof("command"):
        case "prompt":
            return BeginTurn(command.turn_id, command.prompt.text)
        case "steer":
            return Steer(command.turn_id, command.steer.text)
        case "abort":
            return Abort(command.turn_id)
        case "gate_answer":
            gate = command.gate_answer
            proposal = orjson.loads(gate.proposal_json or b"{}")
            return GateClosedBy(command.turn_id, gate.request_id, gate.kind, proposal, _reply(gate))
        case _:
            return Shutdown()


def _reply(gate: pb.GateAnswerCommand) -> GateReply:
    answer = orjson.loads(gate.answer_json or b"{}")
    state = GateState(gate.state)
    if answer.get("cancelled"):
        state = GateState.CANCELLED
    return GateReply(state, answer.get("value"), answer.get("text") or "", answer.get("confirmed"))


def order_of(job: LeasedJob) -> SessionOrder:
    """The job's payload. Raises Failed."""
    try:
        body = orjson.loads(job.payload)
        return SessionOrder(
            session=job.about.removeprefix("sessions/"),
            adapter=str(body["adapter"]),
            provider=str(body.get("provider") or ""),
            model=str(body.get("model") or ""),
            thinking=str(body.get("thinking") or "medium"),
            state=body.get("agent_state") or None,
            token=str(body.get("agent_token") or ""),
        )
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as fault:
        raise Failed(Code.PROTOCOL_ERROR, f"the session's job cannot be read: {fault!r}") from fault
