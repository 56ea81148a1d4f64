"""Who said what: the words of a task in order of authority. What a person says later counts more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from services.runner.domain.task import InferenceTask, Target
from services.runner.providers import directives
from services.runner.providers.directives import Directives


@dataclass(frozen=True, slots=True)
class Words:
    """`told`: feedback and clarifications, newest first. `title`, `description`, `items`: what the matter came with."""

    title: str
    description: str
    items: str
    told: tuple[str, ...]
    seeds: dict[str, Any]
    target_action: str | None

    @classmethod
    def of(cls, task: InferenceTask) -> Self:
        """Directives are taken out; seeds are merged, later ones over earlier ones."""
        told = [entry.text for entry in reversed(task.feedback)] + list(reversed(task.clarifications))
        seeds: dict[str, Any] = {}
        for entry in task.feedback:
            seeds |= entry.params
        return cls(
            title=directives.without(task.matter.title),
            description=directives.without(task.matter.description),
            items="\n".join(directives.without(item.text) for item in task.items),
            told=tuple(text for text in map(directives.without, told) if text),
            seeds=seeds,
            target_action=next((f.target_action for f in reversed(task.feedback) if f.target_action), None),
        )

    @property
    def own(self) -> str:
        """What the matter came with, as one text."""
        return "\n".join(part for part in (self.title, self.description, self.items) if part)

    @property
    def title_or_any(self) -> str:
        """The title; where it is only a directive, whatever else there is."""
        return self.title or self.own or "".join(self.told[:1])

    @property
    def layers(self) -> tuple[str, ...]:
        """All texts, the one that counts most first."""
        return (*self.told, self.own)


def directives_of(task: InferenceTask, target: Target) -> Directives:
    """Once a person has spoken, only the directives of the newest feedback and the newest clarification hold: so a
    matter that was told to ask or to fail goes on when it is answered."""
    spoken = [*(f.text for f in task.feedback[-1:]), *task.clarifications[-1:]]
    first_hand = [task.matter.title, task.matter.description, *(item.text for item in task.items)]
    return directives.read("\n".join(spoken or first_hand), target)
