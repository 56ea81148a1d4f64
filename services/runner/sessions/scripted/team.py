"""What the scripted agent does with tools (design/coordination.md C.6, C.7; design/planning.md P.5): directives, and
one rule that needs none.

    [[spawn a: brief | b: brief]]     spawns workers; what stands in brackets in a brief happens in the worker
    [[wait all 30s]]                  waits for them: `all`, `any` or a number; at most 300 s, 60 s where none is given
    [[collect a]]  [[collect all]]    collects: what they delivered becomes part of the answer
    [[cancel a]]                      stops one
    [[status]]                        the roster becomes part of the answer
    [[note words]]  [[note a: words]] writes a note on its own list or thread, or on that of a worker
    [[report words]]                  a worker hands an interim report in
    [[objective words]]               sets the objective
    [[plan]]  [[plan one | two]]      the plan becomes part of the answer; adds steps (`[[plan 2: one]]` under step 2)
    [[done 1 3]]  [[undone 1]]        marks steps
    [[edit 2: words]] [[remove 1 2]]  changes and removes steps
    [[propose task_create {"task_text": "call"}]]  proposes an action: its name, and its parameters as JSON
    [[proposals]]                     what became of what it proposed becomes part of the answer
    [[context]]                       says what it was told besides the prompt

Without directives: a session that coordinates, and is asked for something "parallel" with a list of two or more lines
(`- a`, `* a`, `1. a`), spawns a worker for each line, waits for them, collects, and answers with all results. Woken by
late results it collects them. A worker ends its answer with a `## Result`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import orjson

from services.runner.sessions.scripted.brackets import parted

_NAME: Final = r"[a-z0-9][a-z0-9_-]{0,63}"
_NAMED: Final = re.compile(rf"({_NAME})\s*:\s*(.+)", re.DOTALL)
_ITEM: Final = re.compile(r"[ \t]*(?:[-*+]|[0-9]{1,3}[.)])[ \t]+(\S.*)")
_TIME: Final = re.compile(r"([0-9]{1,3})s")
_AT: Final = re.compile(r"([0-9]{1,3})\s*:\s*(.+)", re.DOTALL)
_WOKEN: Final = re.compile(r"\[Treadle\] Worker results are in:(.*)", re.DOTALL)
_ACTION: Final = re.compile(r"([a-z][a-z0-9_]{0,63})\s+(\{.*\})", re.DOTALL)
_TITLE_MOST: Final = 200
_COORDINATES: Final = re.compile(r"^#{1,6}\s+thread mode — coordinator\b", re.IGNORECASE | re.MULTILINE)
_WORKS: Final = re.compile(r"^#{1,6}\s+your thread assignment\b", re.IGNORECASE | re.MULTILINE)
_BRIEF_MOST: Final = 4_000


@dataclass(frozen=True, slots=True)
class Brief:
    """A worker to be."""

    name: str
    words: str


@dataclass(frozen=True, slots=True)
class Spawn:
    """Workers. `again`: a name that is taken gets a number."""

    briefs: Sequence[Brief]
    again: bool = False


@dataclass(frozen=True, slots=True)
class Await:
    """Waits for workers. `names` empty: all there are, or, after a spawn by the rule, those; `patient`: as long as it
    takes."""

    mode: str = "all"
    count: int = 0
    seconds: int = 60
    patient: bool = False


@dataclass(frozen=True, slots=True)
class Collect:
    """Results. None: of all, or of those of the rule."""

    names: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """A tool of the gateway. `say`: its answer is part of ours."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    say: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """A worker's interim report."""

    words: str


@dataclass(frozen=True, slots=True)
class TellContext:
    """Says what it was told besides the prompt."""


TeamStep: TypeAlias = Spawn | Await | Collect | Call | Report | TellContext


def coordinates(context: str) -> bool:
    """Whether the context says that this session coordinates workers."""
    return not works(context) and _COORDINATES.search(context) is not None


def works(context: str) -> bool:
    """Whether the context says that this session is a worker."""
    return _WORKS.search(context) is not None


def asked_for(text: str, context: str) -> list[TeamStep]:
    """What the rule makes of a prompt without directives; nothing: it is no matter of workers."""
    if not coordinates(context):
        return []
    if (woken := _WOKEN.match(text.strip())) is not None:
        names = re.findall(rf"({_NAME}) \(", woken.group(1))
        return [Collect(names)] if names else []
    items = [match.group(1).strip() for line in text.splitlines() if (match := _ITEM.fullmatch(line))]
    if len(items) < 2 or "parallel" not in text.lower():
        return []
    asked = " ".join(line.strip() for line in text.splitlines() if line.strip() and not _ITEM.fullmatch(line))
    return [Spawn(_briefs(items, asked), again=True), Await(seconds=300, patient=True), Collect()]


def team_step(verb: str, rest: str) -> TeamStep | None:
    """The directive; None when it is none."""
    match verb:
        case "spawn" if briefs := [named for part in parted(rest) if (named := _named(part))]:
            return Spawn(briefs) if len(briefs) == len(parted(rest)) else None
        case "wait":
            return _wait(rest.split())
        case "collect" if re.fullmatch(_NAME, rest):
            return Collect(None if rest == "all" else (rest,))
        case "cancel" if re.fullmatch(_NAME, rest):
            return Call("thread_cancel", {"thread_name": rest})
        case "status" if not rest:
            return Call("thread_status", say=True)
        case "note" if rest:
            named = _named(rest)
            return Call("thread_note", {"thread_name": named.name, "note": named.words} if named else {"note": rest})
        case "report" if rest:
            return Report(rest)
        case "context" if not rest:
            return TellContext()
        case "propose":
            return _proposal(rest)
        case "proposals" if not rest:
            return Call("proposal_status", say=True)
        case _:
            return _plan_step(verb, rest)


def _plan_step(verb: str, rest: str) -> TeamStep | None:
    numbers = [int(word) for word in rest.split()] if re.fullmatch(r"[0-9]{1,3}(\s+[0-9]{1,3})*", rest) else []
    at = _AT.fullmatch(rest)
    match verb:
        case "objective" if rest:
            return Call("set_objective", {"text": rest})
        case "plan" if not rest:
            return Call("get_plan", say=True)
        case "plan" if at is not None:
            return Call("add_todos", {"parent_index": int(at[1]), "items": parted(at[2])})
        case "plan":
            return Call("add_todos", {"items": parted(rest)})
        case "done" | "undone" if numbers:
            return Call("toggle_todos", {"indices": numbers, "done": verb == "done"})
        case "edit" if at is not None:
            return Call("edit_todos", {"edits": [{"index": int(at[1]), "text": at[2].strip()}]})
        case "remove" if numbers:
            return Call("remove_todos", {"indices": numbers})
        case _:
            return None


def _proposal(rest: str) -> Call | None:
    """Named by the first words among its parameters."""
    match = _ACTION.fullmatch(rest)
    try:
        parameters = orjson.loads(match[2]) if match else None
    except orjson.JSONDecodeError:
        return None
    if match is None or parameters is None:
        return None
    words = next((value for value in parameters.values() if isinstance(value, str) and value.strip()), match[1])
    title = " ".join(words.split())[:_TITLE_MOST]
    return Call("propose_action", {"title": title, "capability_name": match[1], "parameters": parameters}, say=True)


def _wait(words: list[str]) -> Await | None:
    seconds = 60
    if words and (time := _TIME.fullmatch(words[-1])):
        seconds, words = int(time[1]), words[:-1]
    match words:
        case [] | ["all"]:
            return Await("all", 0, seconds)
        case ["any"]:
            return Await("any", 0, seconds)
        case [number] if number.isascii() and number.isdigit() and len(number) <= 4:
            return Await("quorum", int(number), seconds)
        case _:
            return None


def _named(part: str) -> Brief | None:
    match = _NAMED.fullmatch(part.strip())
    return None if match is None else Brief(match[1], match[2].strip())


def _briefs(items: Sequence[str], asked: str) -> list[Brief]:
    """Each item with what was asked; names are made of its first words."""
    briefs, taken = list[Brief](), set[str]()
    for item in items:
        plain = re.sub(r"\[\[.*?\]\]", " ", item)
        base = re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")[:40].strip("-") or "worker"
        name = next(
            name for number in range(1, 1_000) if (name := base if number == 1 else f"{base}-{number}") not in taken
        )
        taken.add(name)
        about = f"\n\nIt is part of this request: {asked.strip().rstrip(':')}." if asked else ""
        briefs.append(Brief(name, f"{item}{about}" if len(item) + len(about) <= _BRIEF_MOST else item))
    return briefs
