"""Replays a recorded Pi session: what was written to Pi goes to the mapper as commands, what Pi wrote as bytes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson

from services.runner.domain.agent import AgentEvent, GateReply, GateState
from services.runner.sessions.pi.framing import Framing
from services.runner.sessions.pi.mapper import Mapper, Send, Step

FIXTURES = Path(__file__).parents[3] / "fixtures"
RECORDED = FIXTURES / "pi"
GOLDEN = FIXTURES / "pi_golden"
NAMES = sorted(path.stem for path in RECORDED.glob("*.jsonl"))


class Replay:
    """One replay; `events` are what the hub would get, `sent` what Pi would."""

    def __init__(self) -> None:
        self.mapper = Mapper(itertools.repeat("b"))
        self.framing = Framing()
        self.events: list[AgentEvent] = []
        self.sent: list[dict[str, Any]] = []

    def take(self, steps: list[Step]) -> None:
        for step in steps:
            if isinstance(step, Send):
                self.sent.append(step.record)
            else:
                self.events.append(step)

    def hear(self, data: bytes) -> None:
        for record in self.framing.feed(data):
            self.take(self.mapper.record(record))

    def say(self, command: dict[str, Any], following: str | None) -> None:
        match command:
            case {"type": "prompt", "id": id, "message": message}:
                self.take(self.mapper.prompt(id, message))
            case {"type": "steer", "id": id, "message": message}:
                self.take(self.mapper.steer(id, message))
            case {"type": "abort", "id": id}:
                self.take(self.mapper.abort(id))
            case {"type": "extension_ui_response", "cancelled": True} if following == "abort":
                pass  # the mapper cancels by itself when it aborts
            case {"type": "extension_ui_response", "id": id, "cancelled": True}:
                self.take(self.mapper.answer(id, GateReply(GateState.CANCELLED)))
            case {"type": "extension_ui_response", "id": id, "value": value}:
                self.take(self.mapper.answer(id, GateReply(value=value)))

    def end(self) -> None:
        if (record := self.framing.end()) is not None:
            self.take(self.mapper.record(record))
        self.take(self.mapper.gone())

    @property
    def lines(self) -> bytes:
        return b"".join(orjson.dumps({"event": type(e).__name__, **_said(e)}) + b"\n" for e in self.events)


def recorded(name: str) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in (RECORDED / f"{name}.jsonl").read_bytes().split(b"\n") if line]


def replay(name: str, cuts: Iterator[int] | None = None) -> Replay:
    """`cuts`: lengths of the pieces in which Pi's output arrives; whole lines without."""
    done = Replay()
    entries = recorded(name)
    commands = [orjson.loads(e["line"]) if _is_json(e["line"]) else {} for e in entries if e["dir"] == "in"]
    following = [command.get("type") for command in commands[1:]] + [None]
    said = zip(commands, following, strict=True)
    waiting = b""
    for entry in entries:
        match entry["dir"]:
            case "out":
                waiting += entry["line"].encode() + b"\n"
                continue
            case "in":
                _pieces(done, waiting, cuts)
                done.say(*next(said))
            case _:
                _pieces(done, waiting, cuts)
        waiting = b""
    done.end()
    return done


def _pieces(done: Replay, data: bytes, cuts: Iterator[int] | None) -> None:
    if cuts is None:
        done.hear(data)
        return
    start = 0
    while start < len(data):
        size = next(cuts)
        done.hear(data[start : start + size])
        start += size


def _is_json(line: str) -> bool:
    try:
        return isinstance(orjson.loads(line), dict)
    except orjson.JSONDecodeError:
        return False


def _said(event: AgentEvent) -> dict[str, Any]:
    """What is told of it; what it cost is no part of the stream."""
    return {name: value for name, value in asdict(event).items() if name != "usage"}
