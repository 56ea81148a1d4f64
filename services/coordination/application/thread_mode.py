"""Thread mode of a conversation: on or off, and what its workers may cost. Repeats change nothing."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from services.coordination.application.acting import Command
from services.coordination.application.work import Workshop
from services.coordination.domain import errors
from services.coordination.domain.running_on import RunsOn, checked
from services.coordination.domain.worker import Coordinator
from services.kernel.clock import Clock
from services.kernel.errors import Invalid


@dataclass(frozen=True, slots=True)
class PolicyChange:
    """What is set of a coordinator's policy; None: stays as it is."""

    auto_wake: bool | None = None
    budget_seconds: int | None = None
    budget_tokens: int | None = None
    adapter: str | None = None
    provider: str | None = None
    model: str | None = None

    def check(self) -> None:
        """Invalid names the field."""
        for name in ("budget_seconds", "budget_tokens"):
            if (getattr(self, name) or 0) < 0:
                field = f"policy.{name}"
                raise Invalid("INVALID_ARGUMENT", f"{field} must not be negative; 0 is no limit", field=field)
        checked(RunsOn(self.adapter or "", self.provider or "", self.model or ""), "policy.")

    def applied(self, coordinator: Coordinator) -> Coordinator:
        """The coordinator with what is set."""
        said = {one.name: getattr(self, one.name) for one in fields(self)}
        return replace(coordinator, **{name: value for name, value in said.items() if value is not None})


class ThreadMode:
    """The use case."""

    def __init__(self, workshop: Workshop, clock: Clock) -> None:
        self._workshop = workshop
        self._clock = clock

    async def set(self, command: Command, enabled: bool, policy: PolicyChange) -> Coordinator:
        """The coordinator as it is now. A worker's session does not become a coordinator (DEPTH_EXCEEDED)."""
        policy.check()
        tenant, session_id, now = command.tenant, command.session_id, self._clock.now()
        asked = policy.applied(Coordinator(tenant, session_id, enabled, now, now))
        async with self._workshop.work() as work:
            if await command.remembered(work, "SetThreadMode") is not None:
                there = await work.coordinator(tenant, session_id)
                if there is None:  # its session was deleted since
                    raise errors.session_not_found(session_id)
                return there
            if await work.session_deleted(tenant, session_id):
                raise errors.session_not_found(session_id)
            if enabled and await work.worker_of_session(tenant, session_id) is not None:
                raise errors.depth_exceeded()
            there = await work.make_coordinator(asked)
            changed = policy.applied(replace(there, enabled=enabled))
            if changed != there:
                changed = replace(changed, updated_at=now)
                await work.save_coordinator(changed)
            if changed != there or there == asked:
                await work.coordinator_fact(changed, "flag", command.by, now)
            await work.store(b"")
            return changed
