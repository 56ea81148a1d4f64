"""Spawning children: whole, in order, in the transaction of the parent's event (design/threads.md, section 0.4)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from services.kernel.errors import Invalid, Refusal
from services.threads.application.cascading import Cascade
from services.threads.application.catalogue import Catalogue
from services.threads.application.family_plans import Brood, ChildPlan, about_child
from services.threads.application.ports import Change, SchemaCheck, Work
from services.threads.application.stamping import Stamps
from services.threads.domain import commands as c
from services.threads.domain import limits
from services.threads.domain.decide import decide_and_evolve
from services.threads.domain.effects import effects
from services.threads.domain.errors import PolicyMet, TooDeep
from services.threads.domain.events import Actor, Event
from services.threads.domain.narrowing import refuse_widening
from services.threads.domain.policy_json import policy_from
from services.threads.domain.states import CLARIFICATION, State, is_terminal
from services.threads.domain.thread import Relationship, Thread
from services.threads.domain.timing import Timing

_BREATH: Final = 50
"""Children between two chances for others to run: ten thousand take seconds."""
_STATES: Final = frozenset(
    {State.AWAITING_INFERENCE, State.AWAITING_CONFIRMATION, State.DISMISSED, *CLARIFICATION.values()}
)


@dataclass(frozen=True)
class Spawned:
    """What a spawn writes: the parent's events, the parent after them, and its new children in order."""

    events: tuple[Event, ...]
    parent: Thread
    children: tuple[Change, ...]


class Spawning:
    """Decides; the caller writes the parent first, then the children."""

    def __init__(self, stamps: Stamps, schemas: SchemaCheck, cascade: Cascade, timing: Timing) -> None:
        self._stamps = stamps
        self._schemas = schemas
        self._cascade = cascade
        self._timing = timing

    async def under(
        self, work: Work, tenant: str, actor: Actor, parent: Thread, brood: Brood, etag: str | None = None
    ) -> Spawned:
        """Children for a locked parent, and for one that is about to be written.

        Children that are dismissed at once are reported at once; a parent whose policy is met by that closes.
        """
        if len(brood.children) > limits.CHILDREN_MAX:
            most = limits.CHILDREN_MAX
            raise Invalid("INVALID_FIELD", f"children has more than {most}", field="children", limit=most)
        if len(parent.path) >= limits.DEPTH_MAX:
            raise TooDeep(limits.DEPTH_MAX)
        ids = tuple(self._stamps.new_id("thr") for _ in brood.children)
        grouped = (brood.relationship or parent.parent_relationship) is Relationship.GROUP
        command = c.SpawnChildren(
            ids,
            labels=tuple(child.title for child in brood.children) if grouped else (),
            relationship=brood.relationship,
            cascade_policy=brood.cascade_policy,
            originating_scrape_id=brood.originating_scrape_id,
            source_count=brood.source_count,
            cluster_count=brood.cluster_count,
            user_created=brood.user_created,
        )
        events, after = decide_and_evolve(parent, command, self._stamps.stamp(actor, etag))
        if parent.path and await work.met_above(tenant, parent.path):
            raise PolicyMet(parent.state)
        children = await self._children(work, tenant, actor, after, parent.children, ids, brood)
        ended = [(one.after.thread_id, one.after.state) for one in children if is_terminal(one.after.state)]
        if ended:
            more, after = await self._cascade.reported(work, tenant, after, ended)
            events = (*events, *more)
        return Spawned(events, after, children)

    async def _children(
        self, work: Work, tenant: str, actor: Actor, parent: Thread, first: int, ids: tuple[str, ...], brood: Brood
    ) -> tuple[Change, ...]:
        catalogue = Catalogue(work, tenant, self._schemas)
        made = []
        for index, (thread_id, plan) in enumerate(zip(ids, brood.children, strict=True)):
            try:
                command = await self._command(catalogue, parent, thread_id, first + index, plan)
                events, after = decide_and_evolve(None, command, self._stamps.stamp(actor))
            except Refusal as refusal:
                raise about_child(refusal, index) from None
            made.append(Change(after, events, effects(events, after, self._timing)))
            if index % _BREATH == _BREATH - 1:
                await asyncio.sleep(0)
        return tuple(made)

    async def _command(
        self, catalogue: Catalogue, parent: Thread, thread_id: str, ordinal: int, plan: ChildPlan
    ) -> c.CreateThread:
        policy = policy_from(plan.autonomy, base=parent.autonomy)
        refuse_widening(parent.autonomy, policy)
        grouped = parent.parent_relationship is Relationship.GROUP
        return c.CreateThread(
            thread_id=thread_id,
            title=plan.title,
            description=plan.description,
            context_items=plan.context_items,
            autonomy=policy,
            source=parent.parent_relationship,
            parent_id=parent.thread_id,
            path=(*parent.path, parent.thread_id),
            ordinal=ordinal,
            originating_scrape_id=parent.originating_scrape_id if grouped else None,
            spawn=await spawn_of(catalogue, plan),
        )


async def spawn_of(catalogue: Catalogue, plan: ChildPlan) -> c.Spawn | None:
    """Where a thread starts: None means that it begins inference. Nothing starts executing."""
    state = plan.state
    if state is None:
        state = State.AWAITING_INFERENCE if plan.action is None else State.AWAITING_CONFIRMATION
    if state not in _STATES:
        raise Invalid("INVALID_FIELD", f"nothing is spawned in {state}", field="state", state=state)
    if state is State.AWAITING_INFERENCE:
        if plan.action is not None or plan.question:
            field = "action" if plan.action is not None else "question"
            raise Invalid("INVALID_FIELD", f"{field} does not go with {state}", field=field)
        return None
    reason = "dismissed_at_spawn" if state is State.DISMISSED else "spawned_with_action"
    if state in CLARIFICATION.values():
        reason = "spawned_with_question"
    return c.Spawn(state, reason, await catalogue.choice(plan.action), plan.question)
