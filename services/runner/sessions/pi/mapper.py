"""Pi's records as our events (design/streaming.md D2.4–D2.6): a state machine without a clock, a process or a pipe.

Events are built from scratch out of ids, names and deltas; nothing else of a record leaves (D1.5). `agent_end` is not
the end: a barrier (get_state) tells whether a retry or a compaction follows. Builds that send `agent_settled` say so
by `willRetry` in agent_end, and get no barrier.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any, Final, TypeAlias

from services.runner.domain.agent import (
    AgentEvent,
    AgentGone,
    GateClosed,
    GateEnd,
    GateOpened,
    GateReply,
    Outcome,
    Status,
    Tool,
    ToolStatus,
    TurnFailure,
    TurnSettled,
    Usage,
)
from services.runner.domain.reply import Reply
from services.runner.sessions.pi.dialogs import METHODS, answer_of, cancel_of, gate_of
from services.runner.sessions.pi.framing import Record

_NAME: Final = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
_CALL_ID: Final = re.compile(r"[A-Za-z0-9_.:|-]{1,128}")
_OUTCOMES: Final[dict[str, Outcome | TurnFailure]] = {
    "stop": Outcome.OK,
    "toolUse": Outcome.OK,
    "length": Outcome.TRUNCATED,
    "aborted": Outcome.ABORTED,
    "error": TurnFailure.PROVIDER_ERROR,
}


@dataclass(frozen=True, slots=True)
class Send:
    """A command for Pi."""

    record: Record


Step: TypeAlias = AgentEvent | Send


class Mapper:
    """Records and commands in, events and commands out, in order."""

    def __init__(self, barriers: Iterator[str] | None = None) -> None:
        """`barriers`: the ids of get_state commands."""
        self._barriers = barriers or (f"barrier-{number}" for number in count(1))
        self._reply = Reply()
        self._message = 0
        self._begin_turn()
        self.running = False
        self.ignored = 0
        """How many records had no meaning for us."""

    def _begin_turn(self) -> None:
        self._prompt_id = ""
        self._ended = False
        """agent_end was the last word."""
        self._retrying = False
        self._compacting = False
        self._waits_for_settled = False
        self._aborts: set[str] = set()
        self._abort_end: Outcome | TurnFailure = Outcome.ABORTED
        self._barrier: str | None = None
        self._end: Outcome | TurnFailure | None = None
        self._usage = Usage()
        self._tools: dict[str, Tool] = {}
        self._gates: dict[str, GateOpened] = {}
        self._reply.begin()

    @property
    def busy(self) -> bool:
        """Whether a tool or a reviewer is at work: then silence is no sign of death."""
        return bool(self._tools or self._gates)

    @property
    def usage(self) -> Usage:
        """What the messages of the turn under way have cost so far."""
        return self._usage

    # --- what we say ---

    def prompt(self, command_id: str, text: str) -> list[Step]:
        """Begins a turn."""
        self._begin_turn()
        self.running = True
        self._prompt_id = command_id
        return [Send({"id": command_id, "type": "prompt", "message": text})]

    def steer(self, command_id: str, text: str) -> list[Step]:
        """Dialogs are cancelled first: an agent that waits in one takes no steering. Without a turn: nothing, since Pi
        would keep the words for the next one."""
        if not self.running:
            return []
        return [*self._cancel_gates(), Send({"id": command_id, "type": "steer", "message": text})]

    def abort(self, command_id: str, end: Outcome | TurnFailure = Outcome.ABORTED) -> list[Step]:
        """Dialogs are cancelled first: an open one would hold the abort. `end`: as what the turn then counts."""
        if not self.running:
            return []
        self._abort_end = end if not self._aborts else self._abort_end
        self._aborts.add(command_id)
        return [*self._cancel_gates(), Send({"id": command_id, "type": "abort"})]

    def answer(self, key: str, reply: GateReply) -> list[Step]:
        """The gate is closed; one that is closed already is nobody's."""
        gate = self._gates.pop(key, None)
        return [] if gate is None else [Send(answer_of(gate, reply))]

    def gone(self, why: Outcome | TurnFailure = TurnFailure.CHILD_EXIT) -> list[Step]:
        """Pi's output has ended. An open turn ends so, whatever the exit code (D1.1)."""
        settled = self._settle(why) if self.running else []
        return [*(step for step in settled if not isinstance(step, Send)), AgentGone()]

    # --- what Pi says ---

    def record(self, record: Record) -> list[Step]:
        """One record."""
        match record["type"]:
            case "response":
                return self._response(record)
            case "message_start" | "message_end":
                return self._message_edge(record)
            case "message_update":
                return self._update(record.get("assistantMessageEvent"))
            case "tool_execution_start":
                return self._tool_start(record)
            case "tool_execution_end":
                return self._tool_end(record)
            case "extension_ui_request":
                return self._dialog(record)
            case "agent_start":
                self._ended = self._retrying = self._compacting = False
                self._barrier = None
                return []
            case "agent_end":
                return self._agent_end(record)
            case "agent_settled":
                return self._settle(self._verdict) if self.running else []
            case "auto_retry_start" | "auto_retry_end" | "compaction_start" | "compaction_end" as word:
                return self._around(word, record)
            case "turn_start" | "turn_end" | "tool_execution_update" | "queue_update" | "extension_error":
                return []
            case _:
                self.ignored += 1
                return []

    def _response(self, record: Record) -> list[Step]:
        answered = record.get("id")
        if not self.running or not isinstance(answered, str):
            return []
        if answered == self._prompt_id and record.get("success") is False:
            return self._settle(TurnFailure.PROVIDER_ERROR)
        is_barrier = answered == self._barrier or answered in self._aborts
        if is_barrier and self._ended and not (self._retrying or self._compacting or self._waits_for_settled):
            return self._settle(self._verdict)
        return []

    def _message_edge(self, record: Record) -> list[Step]:
        message = record.get("message")
        if not isinstance(message, dict) or message.get("role") != "assistant":
            return []
        if record["type"] == "message_start":
            self._message += 1
        else:
            self._end = _OUTCOMES.get(str(message.get("stopReason")), TurnFailure.PROVIDER_ERROR)
            self._usage += _usage_of(message.get("usage"))
        return []

    def _update(self, event: Any) -> list[Step]:
        """Only deltas, and the end of a text block, which is what counts."""
        match event:
            case {"type": "thinking_delta", "contentIndex": int(index), "delta": str(delta)}:
                return [*self._reply.thinking((self._message, index), delta)]
            case {"type": "text_delta", "contentIndex": int(index), "delta": str(delta)}:
                return [*self._reply.text((self._message, index), delta)]
            case {"type": "text_end", "contentIndex": int(index), "content": str(content)}:
                return [*self._reply.text_ended((self._message, index), content)]
            case _:
                return []

    def _tool_start(self, record: Record) -> list[Step]:
        call = str(record.get("toolCallId"))
        if call in self._tools or not self.running:
            self.ignored += 1
            return []
        name = str(record.get("toolName"))
        tool = Tool(_call_id(call), name if _NAME.fullmatch(name) else "tool", ToolStatus.RUNNING)
        self._tools[call] = tool
        return [tool]

    def _tool_end(self, record: Record) -> list[Step]:
        tool = self._tools.pop(str(record.get("toolCallId")), None)
        if tool is None:
            self.ignored += 1
            return []
        return [Tool(tool.call_id, tool.name, ToolStatus.FAILED if record.get("isError") else ToolStatus.COMPLETED)]

    def _dialog(self, record: Record) -> list[Step]:
        """Outside a turn nobody is asked: the dialog is cancelled, since it would block its extension for ever."""
        key, method = record.get("id"), record.get("method")
        if not isinstance(key, str) or not isinstance(method, str) or method not in METHODS:
            return []
        gate = gate_of(record) if self.running else None
        if gate is None:
            return [Send(cancel_of(key))]
        self._gates[key] = gate
        return [gate]

    def _agent_end(self, record: Record) -> list[Step]:
        self._ended = True
        if "willRetry" in record:
            self._waits_for_settled = True
            return []
        self._barrier = next(self._barriers)
        return [Send({"id": self._barrier, "type": "get_state"})]

    def _around(self, word: str, record: Record) -> list[Step]:
        """Retries and compactions, between one agent_end and what follows it."""
        match word:
            case "auto_retry_start":
                self._retrying, self._barrier = True, None
                return [*self._reply.discard(self._message), Status("retrying")]
            case "auto_retry_end":
                self._retrying = False
                if record.get("success") is True or not self.running or self._waits_for_settled:
                    return []
                return self._settle(self._verdict)
            case "compaction_start":
                self._compacting, self._barrier = True, None
                return [Status("compacting")]
            case _:
                self._compacting = False
                again = self._ended and self.running and not record.get("willRetry") and not self._waits_for_settled
                return [Status("compacted"), *(self._agent_end({}) if again else [])]

    @property
    def _verdict(self) -> Outcome | TurnFailure:
        """By the last message; what we aborted is aborted, whatever the provider made of it."""
        if self._aborts and self._end not in (Outcome.OK, Outcome.TRUNCATED):
            return self._abort_end
        return self._end or TurnFailure.PROVIDER_ERROR

    def _settle(self, end: Outcome | TurnFailure) -> list[Step]:
        """Calls that are open failed, gates that are open have nobody to answer to."""
        tools = [Tool(tool.call_id, tool.name, ToolStatus.FAILED) for tool in self._tools.values()]
        gates = self._cancel_gates()
        settled = TurnSettled(end, self._reply.standing, self._usage)
        self._begin_turn()
        self.running = False
        return [*tools, *gates, settled]

    def _cancel_gates(self) -> list[Step]:
        steps: list[Step] = []
        for key in self._gates:
            steps += [Send(cancel_of(key)), GateClosed(key, GateEnd.CANCELLED)]
        self._gates.clear()
        return steps


def _usage_of(told: Any) -> Usage:
    """What one message cost; what is kept in a cache is read, too."""
    counts = told if isinstance(told, dict) else {}
    read, written = [
        sum(counts[name] for name in names if type(counts.get(name)) is int and counts[name] > 0)
        for names in (("input", "cacheRead", "cacheWrite"), ("output",))
    ]
    return Usage(read, written)


def _call_id(call: str) -> str:
    """The id itself, or a local alias where it has other characters."""
    if _CALL_ID.fullmatch(call):
        return call
    return f"call-{hashlib.sha256(call.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
