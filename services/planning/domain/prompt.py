"""Objective and plan in words, for an agent's prompt. What people and agents wrote cannot pass for our own words: it
is one line, and forges no heading, fence or table cell. What does not fit is counted, never cut silently."""

from __future__ import annotations

from typing import Final

from services.kernel.escaping import inline
from services.planning.domain.numbering import Progress, numbers, progress
from services.planning.domain.plan import subtree_end
from services.planning.domain.step import Steps

MOST: Final = 8_000
"""Code points of the whole text."""
_HEADING: Final = "## Objective and plan"
_HOW: Final = (
    "Steps are addressed by the index in parentheses, for example (2); dotted numbers are only for reading, and indices"
    " shift when steps are added, removed or moved. A plan is complete only when every step without sub-steps is done."
)


def compose(objective: str, steps: Steps, version: int) -> str:
    """Markdown; empty where there is neither objective nor plan."""
    if not objective and not steps:
        return ""
    head = [_HEADING, ""]
    head.append(f"Objective: {inline(objective)}" if objective else "Objective: none yet (set_objective).")
    if not steps:
        return "\n".join([*head, "Plan: none yet (add_todos).", ""])
    head += [_standing(progress(steps), version), ""]
    room = MOST - len("\n".join([*head, "", _HOW, ""])) - 100
    return "\n".join([*head, *_lines(steps, room), "", _HOW, ""])


def _standing(done: Progress, version: int) -> str:
    word = "complete" if done.complete else "not complete"
    return f"Plan (version {version}): {done.done} of {done.leaves} steps without sub-steps are done; it is {word}."


def _lines(steps: Steps, room: int) -> list[str]:
    """All of them; where they do not fit, without the subtrees that are done, and then as many as fit."""
    names = numbers([one.depth for one in steps])
    rows = [f"- [{'x' if one.done else ' '}] ({at + 1}) {names[at]} {inline(one.text)}" for at, one in enumerate(steps)]
    shown = list(range(len(steps)))
    if _size(rows) > room:
        shown = [at for at in shown if not progress(steps[at : subtree_end(steps, at)]).complete]
    while shown and _size([rows[at] for at in shown]) > room:
        shown.pop()
    left = len(steps) - len(shown)
    told = [f"- … and {left} more steps, done ones first, are not shown here: call get_plan."] if left else []
    return [*(rows[at] for at in shown), *told]


def _size(rows: list[str]) -> int:
    return sum(len(row) + 1 for row in rows)
