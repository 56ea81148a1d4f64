"""Gates: what an agent may ask and what a person may answer (D1.6, S.6). Everything is built anew, field by field."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from services.kernel import frames
from services.kernel.errors import Conflict, Invalid, NotFound
from services.kernel.text import storable

PROPOSAL_MOST: Final = 48 * 1024
"""Bytes of JSON, escaped as on the stream: with its envelope a gate's event stays below 64 KiB."""
_JOINS_MOST: Final = 200
_OPTIONS_MOST: Final = 50
_QUESTIONS_MOST: Final = 100
_LINE: Final = 500
_LONG: Final = 16_000
_TEXT: Final = 8_000
OPEN_MOST: Final = 32
"""Gates that one session may have open at a time."""


class GateKind(StrEnum):
    """Who asks how."""

    CHOICE = "choice"
    DIALOG = "dialog"
    JOIN_REVIEW = "join-review"
    PHASE_SUMMARY = "phase-summary"


class GateState(StrEnum):
    """What became of it."""

    OPEN = "open"
    ANSWERED = "answered"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class Gate:
    """A gate's row. `answer` only when answered."""

    id: str
    turn_id: str
    request_id: str
    kind: GateKind
    proposal: dict[str, Any]
    state: GateState
    answer: dict[str, Any] | None
    closed_by: str
    created_at: datetime
    closed_at: datetime | None
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person said; exactly one of value, confirmed and cancelled."""

    value: str | None = None
    confirmed: bool | None = None
    cancelled: bool = False
    text: str = ""

    def shown(self) -> dict[str, Any]:
        """As JSON, without what was not said."""
        if self.cancelled:
            return {"cancelled": True}
        if self.confirmed is not None:
            return {"confirmed": self.confirmed}
        return {"value": self.value, **({"text": self.text} if self.text else {})}


def proposal(kind: GateKind, given: object) -> dict[str, Any]:
    """The proposal with the fields that its kind has, and no others. Invalid INVALID_PROPOSAL names the field."""
    if not isinstance(given, dict):
        raise _bad("proposal", "must be a JSON object")
    match kind:
        case GateKind.JOIN_REVIEW:
            built = {"joins": [_join(one, at) for at, one in enumerate(_list(given, "joins", 1, _JOINS_MOST))]}
        case GateKind.CHOICE:
            built = _choice(given)
        case GateKind.PHASE_SUMMARY:
            built = _phase_summary(given)
        case GateKind.DIALOG:
            built = _dialog(given)
    if len(frames.line_of_json(built)) > PROPOSAL_MOST:
        raise _bad("proposal", f"must be at most {PROPOSAL_MOST} bytes of JSON")
    return built


def check(gate: Gate, answer: Answer) -> None:
    """Whether the answer fits. Invalid INVALID_ANSWER names the field."""
    said = (answer.value is not None) + (answer.confirmed is not None) + answer.cancelled
    if said != 1:
        raise _wrong("value", "exactly one of value, confirmed and cancelled must be given")
    if len(answer.text) > _TEXT:
        raise _wrong("text", f"text must be at most {_TEXT} characters")
    if gate.kind is GateKind.DIALOG:
        _check_dialog(gate.proposal, answer)
        return
    if answer.value is None:
        raise _wrong("value", "this gate is answered by a value")
    values = {"continue"} if gate.kind is not GateKind.CHOICE else {one["id"] for one in gate.proposal["options"]}
    other = gate.kind is not GateKind.CHOICE or gate.proposal["allow_other"]
    if answer.value in values:
        if answer.text:
            raise _wrong("text", "text is for the value other")
    elif answer.value != "other" or not other:
        raise _wrong("value", "value is none of this gate's")
    elif not answer.text.strip():
        raise _wrong("text", "with the value other, text must say what is wanted")


def accepts_joins(gate: Gate, answer: Answer) -> bool:
    """Whether the answer puts the proposed set into the ledger: Continue all of it, anything else none."""
    return gate.kind is GateKind.JOIN_REVIEW and answer.value == "continue"


def gate_not_found() -> NotFound:
    """No such gate in this session."""
    return NotFound("GATE_NOT_FOUND", "there is no such gate")


def gate_closed(gate: Gate, state: GateState | None = None) -> Conflict:
    """The gate has had its end already."""
    at = gate.closed_at or gate.expires_at
    return Conflict(
        "GATE_CLOSED",
        "this gate is closed already",
        state=state or gate.state,
        by=gate.closed_by,
        time=at.isoformat() if at else "",
    )


def _choice(given: dict[str, Any]) -> dict[str, Any]:
    options = []
    for at, one in enumerate(_list(given, "options", 1, _OPTIONS_MOST)):
        if not isinstance(one, dict):
            raise _bad(f"options[{at}]", "must be an object with id and label")
        most = {"id": 64, "label": _LINE}
        options.append({name: _text(one, name, 1, most[name], f"options[{at}].{name}") for name in most})
    ids = [one["id"] for one in options]
    if len(set(ids)) != len(ids) or "other" in ids:
        raise _bad("options", "must have distinct ids, none of them `other`")
    other = given.get("allow_other", False)
    if not isinstance(other, bool):
        raise _bad("allow_other", "must be true or false")
    return {"question": _text(given, "question", 1, _LONG), "options": options, "allow_other": other}


def _phase_summary(given: dict[str, Any]) -> dict[str, Any]:
    if given.get("version") != 2 or isinstance(given.get("version"), bool):
        raise _bad("version", "must be 2")
    built: dict[str, Any] = {
        "version": 2,
        "phase": _text(given, "phase", 1, _LINE),
        "summary": _text(given, "summary", 1, _LONG),
    }
    if "open_questions" in given:
        questions = _list(given, "open_questions", 0, _QUESTIONS_MOST)
        for at, one in enumerate(questions):
            if not isinstance(one, str) or len(one) > _LONG:
                raise _bad(f"open_questions[{at}]", f"must be a string of at most {_LONG} characters")
        built["open_questions"] = [storable(one) for one in questions]
    return built


def _dialog(given: dict[str, Any]) -> dict[str, Any]:
    method = given.get("method")
    if method not in ("select", "confirm", "input", "editor"):
        raise _bad("method", "must be select, confirm, input or editor")
    built: dict[str, Any] = {"method": method, "title": _text(given, "title", 0, _LINE)}
    for name in ("message", "placeholder", "prefill"):
        if given.get(name) is not None:
            built[name] = _text(given, name, 0, _LONG)
    if method == "select":
        options = _list(given, "options", 1, _OPTIONS_MOST)
        if not all(isinstance(one, str) and 0 < len(one) <= _LINE for one in options):
            raise _bad("options", f"must be strings of 1..{_LINE} characters")
        built["options"] = [storable(one) for one in options]
    return built


def _check_dialog(asked: dict[str, Any], answer: Answer) -> None:
    if answer.text:
        raise _wrong("text", "a dialog is answered by value, confirmed or cancelled")
    if answer.cancelled:
        return
    method = asked["method"]
    if (method == "confirm") != (answer.confirmed is not None):
        raise _wrong("confirmed", "a confirm dialog is answered by confirmed, any other by value")
    if method == "select" and answer.value not in asked["options"]:
        raise _wrong("value", "value is none of this dialog's options")
    if answer.value is not None and len(answer.value) > _LONG:
        raise _wrong("value", f"value must be at most {_LONG} characters")


def _join(one: object, at: int) -> dict[str, Any]:
    if not isinstance(one, dict):
        raise _bad(f"joins[{at}]", "must be an object with left, right and type")
    built = {name: _text(one, name, 1, _LINE, f"joins[{at}].{name}") for name in ("left", "right", "type")}
    if one.get("rationale") is not None:
        built["rationale"] = _text(one, "rationale", 0, 2_000, f"joins[{at}].rationale")
    return built


def _list(given: dict[str, Any], name: str, least: int, most: int) -> list[Any]:
    value = given.get(name)
    if not isinstance(value, list) or not least <= len(value) <= most:
        raise _bad(name, f"must be a list of {least}..{most}")
    return value


def _text(given: dict[str, Any], name: str, least: int, most: int, field: str = "") -> str:
    value = given.get(name, "")
    if not isinstance(value, str) or not least <= len(value) <= most:
        raise _bad(field or name, f"must be a string of {least}..{most} characters")
    return storable(value)


def _bad(field: str, must: str) -> Invalid:
    return Invalid("INVALID_PROPOSAL", f"{field} {must}", field=field)


def _wrong(field: str, message: str) -> Invalid:
    return Invalid("INVALID_ANSWER", message, field=field)
