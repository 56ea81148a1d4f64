"""Directives of the scripted agent: what stands in the prompt happens, left to right; words between are its answer.

    [[think some words]]              thinks them
    [[tool bash]]  [[tool bash fail]] runs a tool that completes, or fails
    [[gate choice a|b]]               asks: which one? (`[[gate choice a|b|other]]` also takes words)
    [[gate dialog Title|a|b]]         a dialog with options; without options a line of text is asked for
    [[gate confirm Title]]            a dialog: yes or no
    [[join a=b:same, c=d:part_of]]    a complete set of joins for review; `[[join]]` proposes an empty one
    [[summary phase|words|question?]] a phase's summary with open questions
    [[slow 2s]]  [[slow 300ms]]       waits, at most 10 min
    [[pace 50ms]]                     the time between pieces from here on, at most 10 s
    [[words 500]]                     streams that many words, at most 100,000
    [[recall]]                        says how many turns it remembers, and the last prompt
    [[reset]]                         what was answered so far is void (like a retry)
    [[cut]]                           the turn ends here, truncated
    [[fail]]                          the turn fails: provider_error
    [[exit]]                          the agent ends: child_exit

A prompt without directives is thought about and said back. What is no directive stays in the text. team.py has those
that use tools, and what an agent does unasked that coordinates or is a worker.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from services.runner.domain.agent import GateKind
from services.runner.sessions.scripted.brackets import INSIDE_MOST, pairs
from services.runner.sessions.scripted.team import TeamStep, asked_for, team_step, works

_TIME: Final = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?)(ms|s)")
_JOIN: Final = re.compile(r"([^=:]+)=([^=:]+):([^=:]+)")
_MOST_SLOW: Final = 600.0
_MOST_PACE: Final = 10.0
_MOST_WORDS: Final = 100_000


@dataclass(frozen=True, slots=True)
class Think:
    """Thinks these words."""

    words: str


@dataclass(frozen=True, slots=True)
class Say:
    """Answers these words."""

    words: str


@dataclass(frozen=True, slots=True)
class RunTool:
    """A tool call."""

    name: str
    fails: bool = False


@dataclass(frozen=True, slots=True)
class Ask:
    """A gate."""

    kind: GateKind
    proposal: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Wait:
    """Seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds between pieces."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Recall:
    """Tells what it remembers."""


@dataclass(frozen=True, slots=True)
class Void:
    """The answer so far is void."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Ends the turn as truncated."""


@dataclass(frozen=True, slots=True)
class Fail:
    """Ends the turn as failed."""


@dataclass(frozen=True, slots=True)
class Leave:
    """Ends the agent."""


Step: TypeAlias = Think | Say | RunTool | Ask | Wait | Pace | Recall | Void | Cut | Fail | Leave | TeamStep


def steps_of(text: str, context: str = "") -> list[Step]:
    """What the prompt says to do. `context`: what the agent was told besides; it says whether it has workers, or is
    one."""
    if (asked := asked_for(text, context)) and not text.lstrip().startswith("[["):
        return list(asked)
    pieces = _pieces(text)
    words = _words(text.partition("\n\n")[0]) or _words(text)  # what is asked stands first, its surroundings follow
    if all(isinstance(piece, str) for piece in pieces):
        steps: list[Step] = [Think(f"The prompt has {len(text.split())} words."), Say(f"You said: {text.strip()}")]
    else:
        steps = [Say(piece) if isinstance(piece, str) else piece for piece in pieces]
    if works(context) and words and "## result" not in text.lower():
        return [*steps, Say(f"## Result\n\nDone: {words}")]
    return steps


def _words(text: str) -> str:
    return " ".join(" ".join(piece for piece in _pieces(text) if isinstance(piece, str)).split())


def _pieces(text: str) -> list[str | Step]:
    """Directives, and the words between them."""
    pieces, start = list[str | Step](), 0
    for opens, closes in pairs(text):
        if opens < start or closes - opens > INSIDE_MOST or (step := _step(text[opens + 2 : closes - 2])) is None:
            continue
        pieces += [text[start:opens].strip(), step]
        start = closes
    return [piece for piece in [*pieces, text[start:].strip()] if piece != ""]


def _step(inside: str) -> Step | None:
    """The directive; None when it is none."""
    verb, _, rest = inside.strip().partition(" ")
    rest = rest.strip()
    match verb.lower():
        case "think" if rest:
            return Think(rest)
        case "tool" if rest:
            name, _, word = rest.partition(" ")
            return RunTool(name, fails=word.strip() == "fail")
        case "gate":
            return _gate(rest)
        case "join":
            return _joins(rest)
        case "summary" if rest:
            return _summary([part.strip() for part in rest.split("|")])
        case "slow" if (seconds := _seconds(rest)) is not None:
            return Wait(min(seconds, _MOST_SLOW))
        case "pace" if (seconds := _seconds(rest)) is not None:
            return Pace(min(seconds, _MOST_PACE))
        case "words" if rest.isascii() and rest.isdigit() and len(rest) <= 6:
            return Say(" ".join(f"word{number}" for number in range(1, min(int(rest), _MOST_WORDS) + 1)))
        case _:
            plain: dict[str, Step] = {
                "recall": Recall(),
                "reset": Void(),
                "cut": Cut(),
                "fail": Fail(),
                "exit": Leave(),
            }
            return (plain.get(verb.lower()) if not rest else None) or team_step(verb.lower(), rest)


def _gate(rest: str) -> Ask | None:
    kind, _, words = rest.partition(" ")
    parts = [part.strip() for part in words.split("|") if part.strip()]
    match kind:
        case "choice" if parts:
            options = [{"id": part, "label": part} for part in parts if part != "other"]
            proposal = {"question": "Which one?", "options": options, "allow_other": "other" in parts}
            return Ask(GateKind.CHOICE, proposal)
        case "dialog" if len(parts) > 1:
            return Ask(GateKind.DIALOG, {"method": "select", "title": parts[0], "options": parts[1:]})
        case "dialog" if parts:
            return Ask(GateKind.DIALOG, {"method": "input", "title": parts[0]})
        case "confirm" if parts:
            return Ask(GateKind.DIALOG, {"method": "confirm", "title": parts[0]})
        case _:
            return None


def _joins(rest: str) -> Ask | None:
    joins = []
    for part in filter(None, (part.strip() for part in rest.split(","))):
        match = _JOIN.fullmatch(part)
        if match is None:
            return None
        left, right, kind = (word.strip() for word in match.groups())
        joins.append({"left": left, "right": right, "type": kind})
    return Ask(GateKind.JOIN_REVIEW, {"joins": joins})


def _summary(parts: list[str]) -> Ask | None:
    match parts:
        case [phase, summary, *questions] if phase and summary:
            proposal: dict[str, Any] = {"version": 2, "phase": phase, "summary": summary}
            return Ask(GateKind.PHASE_SUMMARY, proposal | ({"open_questions": questions} if questions else {}))
        case _:
            return None


def _seconds(text: str) -> float | None:
    match = _TIME.fullmatch(text)
    return None if match is None else float(match[1]) / (1000 if match[2] == "ms" else 1)
