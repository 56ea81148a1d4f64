"""When a parent is satisfied by its children (design/threads.md, section 0.5): the rules, as data on the parent."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from services.kernel.errors import Invalid
from services.threads.domain.canonical import Json, JsonObject
from services.threads.domain.proposal import as_object
from services.threads.domain.reading import text, whole


class Rule(StrEnum):
    """`quorum` and `any_done` fall back to `all_terminal` once they cannot be met any more."""

    ALL_TERMINAL = "all_terminal"
    ALL_DISMISSED_DISMISSES = "all_dismissed_dismisses"
    QUORUM = "quorum"
    ANY_DONE = "any_done"


@dataclass(frozen=True)
class CascadePolicy:
    """`n` is for `quorum`: 1..the number of children."""

    rule: Rule = Rule.ALL_TERMINAL
    n: int = 0

    @property
    def ends_early(self) -> bool:
        """Whether the parent may close while children are open."""
        return self.rule in (Rule.QUORUM, Rule.ANY_DONE)


@dataclass(frozen=True)
class Tally:
    """A parent's children by how they ended."""

    children: int
    open: int
    dismissed: int

    @property
    def fulfilled(self) -> int:
        """How many ended other than dismissed."""
        return self.children - self.open - self.dismissed


def is_met(policy: CascadePolicy, tally: Tally) -> bool:
    """Whether the parent needs no more of its children. Without children nothing is met (PUB04)."""
    if tally.children == 0:
        return False
    match policy.rule:
        case Rule.ALL_TERMINAL | Rule.ALL_DISMISSED_DISMISSES:
            return tally.open == 0
        case Rule.QUORUM:
            return tally.open == 0 or tally.fulfilled >= policy.n
        case Rule.ANY_DONE:
            return tally.open == 0 or tally.fulfilled >= 1
        case _:
            assert_never(policy.rule)


def dismisses(policy: CascadePolicy, tally: Tally) -> bool:
    """Whether a parent that closes now was for nothing: every single child was dismissed (section 4.4)."""
    return policy.rule is Rule.ALL_DISMISSED_DISMISSES and tally.children > 0 and tally.dismissed == tally.children


def checked_policy(policy: CascadePolicy, children: int) -> CascadePolicy:
    """Refuse a quorum that is none or that the children could never meet."""
    if policy.rule is Rule.QUORUM and not 1 <= policy.n <= children:
        raise Invalid("INVALID_FIELD", f"n is 1..{children}", field="cascade_policy.n", limit=children)
    if policy.rule is not Rule.QUORUM and policy.n:
        raise Invalid("INVALID_FIELD", "n is for quorum only", field="cascade_policy.n")
    return policy


def cascade_json(policy: CascadePolicy) -> JsonObject:
    """As events carry it."""
    return {"rule": policy.rule, "n": policy.n}


def cascade_from(value: Json) -> CascadePolicy:
    """Out of `cascade_json`; what is missing means the default."""
    data = as_object(value)
    return CascadePolicy(Rule(text(data, "rule") or Rule.ALL_TERMINAL), whole(data, "n"))
