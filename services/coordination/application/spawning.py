"""Workers are committed as `spawning` together with their jobs; each item of a batch is decided for itself (A4, C.2).

Streaming is asked before the transaction; what has ended since is looked up inside it, under the coordinator's lock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import orjson

from services.coordination.application.acting import Command
from services.coordination.application.placing import place
from services.coordination.application.ports import Conversations, LiveTurn
from services.coordination.application.work import Work, Workshop
from services.coordination.domain import errors, limits
from services.coordination.domain.running_on import RunsOn, checked, resolved
from services.coordination.domain.worker import Coordinator, Kind, Status, Worker
from services.kernel.clock import Clock
from services.kernel.errors import Invalid, Refusal, Unavailable
from services.kernel.ids import NewId


@dataclass(frozen=True, slots=True)
class Spec:
    """A worker to be, as the caller said it."""

    name: str
    brief: str
    context: str = ""
    runs_on: RunsOn = field(default_factory=RunsOn)
    timeout_seconds: int = 0


@dataclass(frozen=True, slots=True)
class Spawned:
    """What became of an item: the worker's id, or a code (a refusal's reason in lower case) and words."""

    worker_id: str = ""
    code: str = ""
    error: str = ""


class Spawning:
    """The use case. `worker_adapter`: what workers of an outside coordinator run on where nobody says."""

    def __init__(
        self, workshop: Workshop, conversations: Conversations, clock: Clock, new_id: NewId, worker_adapter: str
    ) -> None:
        self._workshop = workshop
        self._conversations = conversations
        self._clock = clock
        self._new_id = new_id
        self._worker_adapter = worker_adapter

    async def spawn(self, command: Command, specs: Sequence[Spec]) -> list[Spawned]:
        """In the order of the specs. NO_LIVE_TURN, TURN_ENDED, THREAD_MODE_DISABLED and DEPTH_EXCEEDED refuse all of
        it and write nothing. A repeat is answered as before, whatever has become of the turn."""
        if not 0 < len(specs) <= limits.SPAWN_ITEMS:
            message = f"threads must be 1..{limits.SPAWN_ITEMS} items"
            raise Invalid("INVALID_ARGUMENT", message, field="threads", limit=limits.SPAWN_ITEMS)
        turn: LiveTurn | Unavailable | None
        try:
            turn = await self._conversations.live_turn(command.session_id)
        except Unavailable as away:
            turn = away
        async with self._workshop.work() as work:
            said = await command.remembered(work, "SpawnWorkers")
            if said is not None:
                return [Spawned(**one) for one in orjson.loads(said)]
            coordinator = await _coordinator(work, command)
            live = await _live(work, coordinator, turn)
            spawned = [await self._spawn(work, command, coordinator, live, spec) for spec in specs]
            await work.store(orjson.dumps(spawned))
            return spawned

    async def _spawn(
        self, work: Work, command: Command, coordinator: Coordinator, turn: LiveTurn, spec: Spec
    ) -> Spawned:
        try:
            worker = self._worker(command, coordinator, turn, spec)
            if (spent := coordinator.spent_budget) is not None:
                raise errors.budget_exhausted(*spent)
            worker = await place(work, coordinator, worker)
        except Refusal as refusal:
            return Spawned(code=refusal.reason.lower(), error=refusal.message)
        await work.enqueue_job(worker)
        await work.fact(worker, "spawned", command.by, worker.created_at)
        return Spawned(worker.id)

    def _worker(self, command: Command, coordinator: Coordinator, turn: LiveTurn, spec: Spec) -> Worker:
        """Refuses what a worker may not be."""
        if not 0 <= spec.timeout_seconds <= limits.TIMEOUT_MOST:
            message = f"timeout_seconds must be 0..{limits.TIMEOUT_MOST}"
            raise Invalid("INVALID_ARGUMENT", message, field="timeout_seconds", limit=limits.TIMEOUT_MOST)
        own = RunsOn(turn.adapter, turn.provider, turn.model, turn.thinking)
        name, brief, context = (
            limits.worker_name(spec.name),
            limits.brief(spec.brief),
            limits.extra_context(spec.context),
        )
        on = resolved(checked(spec.runs_on), coordinator, own, self._worker_adapter)
        now = self._clock.now()
        return Worker(
            tenant=coordinator.tenant,
            id=self._new_id("wrk"),
            coordinator_id=coordinator.session_id,
            name=name,
            kind=Kind.SUBAGENT,
            status=Status.SPAWNING,
            brief=brief,
            context=context,
            session_id=self._new_id("ses"),
            spawned_by=command.by,
            spawned_by_turn=turn.turn_id,
            created_at=now,
            updated_at=now,
            adapter=on.adapter,
            provider=on.provider,
            model=on.model,
            thinking=on.thinking,
            timeout_seconds=spec.timeout_seconds,
            job_id=self._new_id("job"),
        )


async def _coordinator(work: Work, command: Command) -> Coordinator:
    """Locked. The index of workers comes before the session's own record (A5)."""
    coordinator = await work.coordinator(command.tenant, command.session_id)
    if await work.worker_of_session(command.tenant, command.session_id) is not None:
        raise errors.depth_exceeded()
    if coordinator is None or not coordinator.enabled:
        raise errors.thread_mode_disabled()
    return coordinator


async def _live(work: Work, coordinator: Coordinator, turn: LiveTurn | Unavailable | None) -> LiveTurn:
    """The turn, unless it was stopped meanwhile: an end in good order makes a late spawn, which is legal (C.2)."""
    tenant, session_id = coordinator.tenant, coordinator.session_id
    if isinstance(turn, Unavailable):
        raise turn
    if turn is None:
        raise errors.no_live_turn()
    if coordinator.deleted or await work.session_deleted(tenant, session_id):
        raise errors.turn_ended()
    if await work.turn_ended(tenant, session_id, turn.turn_id) == "aborted":
        raise errors.turn_ended()
    return turn
