"""Which words of people the model has not answered yet (design/threads.md, sections 0.8 and 4.11)."""

from __future__ import annotations

from services.threads.domain.thread import Feedback, Thread


def unresolved(thread: Thread) -> tuple[Feedback, ...]:
    """Everything said since the last real proposal of the model, oldest first, entries without content
    left out.

    A person's own pick or edit, an empty answer, a question and a failure resolve nothing.
    """
    return tuple(said for said in thread.feedback if said.text.strip() or said.seed_params or said.target_action)
