"""Directives: `[[…]]` in a matter's text tells the scripted provider to misbehave, for tests and the demo.

    [[slow 2s]]  [[slow 300ms]]   answer after that time, at most 10 min
    [[fail]]                      fail; another attempt would fail as well (not retryable)
    [[fail 2]]                    fail the first two attempts, retryable
    [[empty]]                     answer nothing (§0.8)
    [[confidence 0.2]]            answer with that confidence, 0..1
    [[risk high]]                 propose the action as that irreversible and regrettable: low, medium, high
    [[clarify: question]]         ask instead of proposing an action

A target's name (`intent`, `context`, `action`) narrows a directive: `[[fail 2 context]]`, `[[slow 1s action]]`.
Of two directives of one name the later one holds. What is no directive stays in the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from services.runner.domain.task import Target

_BRACKETS: Final = re.compile(r"\[\[([^\[\]]{1,500})\]\]")
_SECONDS: Final = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?)(ms|s)")
_NUMBER: Final = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,6})?")
_LEVELS: Final = ("low", "medium", "high")
_MOST_SLOW_SECONDS: Final = 600.0


@dataclass(frozen=True, slots=True)
class Directives:
    """What holds for one target."""

    slow_seconds: float = 0.0
    fail_attempts: int = 0
    """How many attempts fail; -1: all, and trying again is of no use."""
    empty: bool = False
    confidence: float | None = None
    risk: str | None = None
    question: str | None = None


def read(text: str, target: Target) -> Directives:
    """The directives of the text that hold for the target."""
    found = Directives()
    for match in _BRACKETS.finditer(text):
        found = _apply(found, match.group(1), target) or found
    return found


def without(text: str) -> str:
    """The text without its directives; other brackets stay."""
    kept = _BRACKETS.sub(lambda match: "" if _is_directive(match.group(1)) else match.group(0), text)
    return "\n".join(" ".join(line.split()) for line in kept.strip().splitlines()).strip()


def _is_directive(inside: str) -> bool:
    return any(_apply(Directives(), inside, target) is not None for target in Target)


def _apply(found: Directives, inside: str, target: Target) -> Directives | None:
    """The directives with this one added; None when it is none, or not for this target."""
    verb, colon, question = inside.partition(":")
    if colon and verb.strip().lower() == "clarify":
        return replace(found, question=question.strip() or None)
    verb, *words = inside.lower().split() or [""]
    targets = [word for word in words if word in set(Target)]
    if targets and target not in targets:
        return None
    match (verb, [word for word in words if word not in set(Target)]):
        case ("empty", []):
            return replace(found, empty=True)
        case ("fail", []):
            return replace(found, fail_attempts=-1)
        case ("fail", [count]) if count.isascii() and count.isdigit() and len(count) <= 3:
            return replace(found, fail_attempts=int(count))
        case ("slow", [time]) if match := _SECONDS.fullmatch(time):
            seconds = float(match[1]) / (1000 if match[2] == "ms" else 1)
            return replace(found, slow_seconds=min(seconds, _MOST_SLOW_SECONDS))
        case ("confidence", [number]) if _NUMBER.fullmatch(number) and float(number) <= 1:
            return replace(found, confidence=float(number))
        case ("risk", [level]) if level in _LEVELS:
            return replace(found, risk=level)
        case _:
            return None
