"""What a runner says of its agent's turn, out of protobuf, and what it is told, into it. Decides nothing that the
allow-lists of the domain do not say."""

from __future__ import annotations

import json
import re
from typing import Any, Final

import orjson

from services.kernel.errors import TooLarge
from services.kernel.text import storable, storable_json
from services.streaming.application.agent_ports import Command
from services.streaming.application.agent_states import CHUNK_MOST, Piece, StateOutcome
from services.streaming.application.agents import Gone, TurnEnd
from services.streaming.application.gating import Asked, GateOutcome
from services.streaming.domain.errors import invalid_event
from services.streaming.domain.turns import Outcome
from treadle.streaming.v1 import runner_service_pb2 as pb

_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9_.:|-]{1,128}")
_TEXT_MOST: Final = 3 * 1024 * 1024
_DETAIL_MOST: Final = 16 * 1024
_COUNT_MOST: Final = 2**53


def asked(message: pb.GateOpened) -> Asked:
    """A question. What is no JSON is passed on as nothing, which no kind of gate accepts."""
    return Asked(
        _request_id(message.request_id), message.kind, _json(message.proposal_json), max(0, message.timeout_seconds)
    )


def gone(message: pb.GateGone) -> Gone:
    """A question that is not asked any more."""
    return Gone(_request_id(message.request_id), message.expired)


def turn_end(message: pb.TurnSettled) -> TurnEnd:
    """The end of a turn; an outcome that is none of the list is a failure of the protocol."""
    text = storable(message.final_text)
    if len(text.encode()) > _TEXT_MOST:
        raise TooLarge("VALUE_TOO_LARGE", "final_text is at most 3 MiB", field="final_text", limit=_TEXT_MOST)
    known = message.outcome in list(Outcome)
    return TurnEnd(
        message.turn_id,
        Outcome(message.outcome) if known else Outcome.FAILED,
        message.code if known else "protocol_error",
        text,
        usage(message.usage) if message.HasField("usage") else None,
        message.detail[:_DETAIL_MOST],
    )


def piece(message: pb.AgentStateChunk) -> Piece:
    """A piece of a state."""
    if len(message.data) > CHUNK_MOST:
        raise TooLarge("VALUE_TOO_LARGE", "a chunk is at most 256 KiB", field="data", limit=CHUNK_MOST)
    return Piece(message.turn_id, message.digest, message.offset, message.data, message.last)


def answer(response: pb.AttachResponse, told: list[Any]) -> pb.AttachResponse:
    """The response with commands and outcomes."""
    for one in told:
        match one:
            case Command():
                response.commands.append(_command(one))
            case GateOutcome():
                response.gates.add(
                    request_id=one.request_id, gate_id=one.gate_id, reason=one.reason, message=one.message
                )
            case StateOutcome():
                response.agent_state.CopyFrom(
                    pb.AgentStateOutcome(turn_id=one.turn_id, digest=one.digest, reason=one.reason)
                )
    return response


def _command(one: Command) -> pb.SessionCommand:
    command = pb.SessionCommand(sequence=one.sequence, turn_id=one.turn_id)
    match one.kind:
        case "prompt":
            command.prompt.text = one.payload["text"]
        case "steer":
            command.steer.text = one.payload["text"]
        case "abort":
            command.abort.SetInParent()
        case "gate_answer":
            said = dict(one.payload)
            proposal, given = said.pop("proposal"), said.pop("answer")
            command.gate_answer.CopyFrom(pb.GateAnswerCommand(**said, proposal_json=orjson.dumps(proposal)))
            if given is not None:
                command.gate_answer.answer_json = orjson.dumps(given)
        case _:
            command.shutdown.reason = one.payload["reason"]
    return command


def _request_id(text: str) -> str:
    if _REQUEST_ID.fullmatch(text) is None:
        raise invalid_event("request_id must be 1..128 of A-Z a-z 0-9 _ . : | -", "request_id")
    return text


def _json(data: bytes) -> object:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        pass
    try:
        return storable_json(json.loads(data))  # takes lone surrogates, which become U+FFFD (PUB22)
    except (ValueError, RecursionError):
        return None


def usage(message: pb.Usage) -> dict[str, Any]:
    """What a turn has cost; what can be no count is none."""
    cost = message.cost_usd
    return {
        "input_tokens": min(max(message.input_tokens, 0), _COUNT_MOST),
        "output_tokens": min(max(message.output_tokens, 0), _COUNT_MOST),
        "cost_usd": cost if 0 <= cost < 1e9 else 0.0,
    }
