"""What the next inference is about (design/threads.md, section 3.8)."""

from __future__ import annotations

from services.threads.domain.states import Target
from services.threads.domain.thread import Thread


def next_target(thread: Thread, explicit: Target | None = None) -> Target:
    """`explicit` wins; else the first of intent, context, action that was not inferred yet; all there
    gives action.
    """
    if explicit is not None:
        return explicit
    missing = (target for target in Target if target not in thread.inferred)
    return next(missing, Target.ACTION)
