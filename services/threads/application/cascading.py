"""The cascade (design/threads.md, sections 0.4, 0.5): what the end of a thread does above it and below it, inside the
transaction of that end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from services.kernel.telemetry import get_logger
from services.threads.application.holding import HigherNeeded
from services.threads.application.ports import Change, Work
from services.threads.application.stamping import Stamps
from services.threads.domain import commands as c
from services.threads.domain.cascade import dismisses
from services.threads.domain.decide import decide_and_evolve
from services.threads.domain.effects import effects
from services.threads.domain.errors import CorruptFamily, DescendantExecuting
from services.threads.domain.events import FSM, Event
from services.threads.domain.limits import DEPTH_MAX
from services.threads.domain.states import State, is_terminal
from services.threads.domain.thread import Thread
from services.threads.domain.timing import Timing

_log = get_logger("threads.cascade")
POLICY_MET: Final = "policy_met"


_REASONS: Final[Mapping[type[object], str]] = {
    c.Dismiss: "parent_dismissed",
    c.HandOff: "parent_handed_off",
    c.ForceClose: "parent_force_close",
}


@dataclass(frozen=True)
class Closed:
    """What a downward cascade ended: direct children with their states, and all ids, deepest first."""

    children: tuple[tuple[str, State], ...]
    ids: tuple[str, ...]


class Cascade:
    """Writes nothing but by `Work`, and locks downwards only."""

    def __init__(self, stamps: Stamps, timing: Timing) -> None:
        self._stamps = stamps
        self._timing = timing

    async def upward(self, work: Work, tenant: str, ended: Thread, above: Sequence[Thread]) -> None:
        """Report an end to the parent, and the parent's own end to its parent, as far up as it goes.

        HigherNeeded when an ancestor that must be told is not locked.
        """
        held = list(above)
        while ended.parent_id is not None:
            if not held:
                raise HigherNeeded(len(above) + 1)
            parent = await self.report(work, tenant, held.pop(), [(ended.thread_id, ended.state)])
            if not is_terminal(parent.state):
                return
            ended = parent

    async def report(self, work: Work, tenant: str, parent: Thread, ended: Sequence[tuple[str, State]]) -> Thread:
        """Tell a locked parent of its children's ends; it closes when its policy is met (section 0.5)."""
        events, after = await self.reported(work, tenant, parent, ended)
        await work.write(tenant, after, events, effects(events, after, self._timing))
        return after

    async def reported(
        self, work: Work, tenant: str, parent: Thread, ended: Sequence[tuple[str, State]]
    ) -> tuple[tuple[Event, ...], Thread]:
        """As `report`, but the parent's own row and log are left to the caller to write."""
        stamp = self._stamps.stamp(FSM)
        events, after = decide_and_evolve(parent, c.ReportChildren(tuple(ended)), stamp)
        if after.policy_met and after.open_children and not parent.policy_met:
            closed = await self.below(work, tenant, after, reason=POLICY_MET, spare_executing=True)
            more, after = decide_and_evolve(after, c.ReportChildren(closed.children), stamp)
            events = (*events, *more)
        if after.open_children or after.state is not State.MONITORING:
            return events, after
        if await work.has_open_child(tenant, after.thread_id):
            _log.error("cascade.open_children_wrong", thread=after.thread_id, counted=after.open_children)
            raise CorruptFamily(after.thread_id)
        for_nothing = dismisses(after.policy_in_force, after.tally)
        settle = c.SettleChildren(all_terminal=True, all_dismissed_singular=for_nothing)
        more, after = decide_and_evolve(after, settle, stamp)
        return (*events, *more), after

    async def closing(
        self, work: Work, tenant: str, thread: Thread, command: c.Command, stamp: c.Stamp
    ) -> tuple[tuple[Event, ...], Thread]:
        """An umbrella's own end by `command`, which was allowed already: its live descendants first, then itself."""
        cancel = isinstance(command, c.Dismiss | c.ForceClose) and command.cancel_executing
        closed = await self.below(
            work, tenant, thread, reason=_REASONS.get(type(command), "parent_closed"), cancel=cancel
        )
        events, after = decide_and_evolve(thread, c.ReportChildren(closed.children), stamp)
        if isinstance(command, c.ForceClose):
            command = replace(command, cascaded=closed.ids)
        more, after = decide_and_evolve(after, command, stamp)
        return (*events, *more), after

    async def below(
        self, work: Work, tenant: str, top: Thread, *, reason: str, cancel: bool = False, spare_executing: bool = False
    ) -> Closed:
        """End the live descendants of a locked thread, deepest first.

        Levels are locked top down, each read only when the one above is held; then everything is written at once.
        DescendantExecuting when one executes, unless it is cancelled or spared.
        """
        levels = await self._lock_below(work, tenant, top)
        executing = [one.thread_id for level in levels for one in level if one.state is State.EXECUTING]
        if executing and not (cancel or spare_executing):
            raise DescendantExecuting(executing)
        spared = set(executing) if spare_executing else set()
        changes: list[Change] = []
        ended: dict[str, list[tuple[str, State]]] = {}
        for level in reversed(levels):
            for thread in level:
                change = self._end(thread, ended.pop(thread.thread_id, []), reason, spare=thread.thread_id in spared)
                if thread.thread_id in spared:
                    spared.add(str(thread.parent_id))
                else:
                    ended.setdefault(str(thread.parent_id), []).append((thread.thread_id, change.after.state))
                if change.events:
                    changes.append(change)
        await work.write_many(tenant, changes)
        gone = tuple(change.after.thread_id for change in changes if is_terminal(change.after.state))
        return Closed(tuple(ended.pop(top.thread_id, [])), gone)

    async def _lock_below(self, work: Work, tenant: str, top: Thread) -> list[list[Thread]]:
        levels: list[list[Thread]] = []
        parents = [top.thread_id] if top.open_children else []
        while parents:
            if len(levels) > DEPTH_MAX:
                raise CorruptFamily(top.thread_id)
            level = await work.lock_open_children(tenant, parents)
            levels.append(level)
            parents = [thread.thread_id for thread in level if thread.open_children]
        return levels

    def _end(self, thread: Thread, children: list[tuple[str, State]], reason: str, *, spare: bool) -> Change:
        """What its ended children and then its own end write."""
        stamp = self._stamps.stamp(FSM)
        events, after = decide_and_evolve(thread, c.ReportChildren(tuple(children)), stamp)
        if not spare:
            more, after = decide_and_evolve(after, c.ForceClose(reason), stamp)
            events = (*events, *more)
        return Change(after, events, effects(events, after, self._timing))
