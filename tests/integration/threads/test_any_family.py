"""Any commands in any order on any family, alone and two at once: the invariants I1 to I3, I5 and I7 hold after each.

On real Postgres, by the use cases themselves: what a command refuses changes nothing, what has ended stays so, and
`verify` finds every log, row and count right after every step.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from services.kernel.clock import SystemClock
from services.kernel.errors import Refusal
from services.kernel.ids import new_id
from services.kernel.postgres import Database
from services.threads.adapters.reader import PostgresReader
from services.threads.adapters.schemas import JsonSchemas
from services.threads.adapters.stored import all_stored
from services.threads.adapters.work import PostgresStore
from services.threads.application.catalogue import ActionRequest, Catalogue
from services.threads.application.commands import Call, Commands, Outcome
from services.threads.application.families import Families, Family
from services.threads.application.family_plans import Brood, ChildPlan, FamilyPlan
from services.threads.application.ports import JobKind
from services.threads.application.runners import Runners
from services.threads.application.verifying import faults
from services.threads.domain import commands as c
from services.threads.domain.canonical import JsonObject
from services.threads.domain.cascade import CascadePolicy, Rule
from services.threads.domain.events import Actor, ActorKind
from services.threads.domain.states import TERMINAL, State
from services.threads.domain.thread import ContextItem, Relationship, Thread
from services.threads.domain.timing import Timing
from tests.emptied import emptied

TENANT = "default"
USER = Actor(ActorKind.USER, "ada")
CALL = Call(TENANT, USER)
TIMING = Timing(inference_backoff=(timedelta(0),))
TASK = ActionRequest("task_create", {"task_text": "x"})
POLICIES = (None, CascadePolicy(Rule.ANY_DONE), CascadePolicy(Rule.QUORUM, 2), CascadePolicy(Rule.ALL_TERMINAL))


class Nobody:
    """Nobody is woken."""

    async def committed(self, *, jobs: bool) -> None:
        """Nothing."""

    def heard(self) -> int:
        return 0

    async def wait_for_jobs(self, heard: int, seconds: float) -> None:
        """At once."""


class Plain:
    """An answer that is the outcome itself."""

    def write(self, made: Outcome | Family) -> Any:
        """As it is."""
        return made

    def dump(self, answer: Any) -> bytes:
        """Nothing is stored."""
        return b""

    def load(self, stored: bytes) -> Any:
        """Nothing is repeated."""
        return None


def child(kind: int) -> ChildPlan:
    """A child with an action, with a question, with nothing, or dismissed at once."""
    match kind % 6:
        case 0 | 1 | 2:
            return ChildPlan("acts", action=TASK, context_items=(ContextItem(new_id("itm")),))
        case 3:
            return ChildPlan("asks", state=State.AWAITING_INTENT_CLARIFICATION, question="which?")
        case 4:
            return ChildPlan("begins")
        case _:
            return ChildPlan("gone", state=State.DISMISSED)


class House:
    """The use cases over one database, and what a step may do with them."""

    def __init__(self, database: Database) -> None:
        self.database = database
        store, wake, clock, schemas = (
            PostgresStore(database, new_id, timedelta(seconds=60)),
            Nobody(),
            SystemClock(),
            JsonSchemas(),
        )
        self.commands = Commands(store, wake, clock, new_id, schemas, TIMING)
        self.families = Families(store, wake, self.commands, TIMING)
        self.runners = Runners(store, wake, self.commands, schemas, TIMING)
        self.reader = PostgresReader(database)
        self.known: list[str] = []

    async def clear(self) -> None:
        """An empty database."""
        await emptied(self.database, "threads", "jobs", "outbox")
        self.known = []

    async def threads(self) -> dict[str, Thread]:
        """All of them; every invariant is looked at on the way."""
        found: dict[str, Thread] = {}
        wrong: list[str] = []
        logs: dict[str, list[str]] = {}
        async for stored in all_stored(self.database):
            found[stored.thread.thread_id] = stored.thread
            wrong += faults(stored)
            logs[stored.thread.thread_id] = [event.id for event in stored.events]
        assert wrong == []
        assert await self.facts() == logs
        self.known = sorted(found)
        return found

    async def facts(self) -> dict[str, list[str]]:
        """What the outbox tells of each thread, in its order: that of the log, each event once."""
        told: dict[str, list[str]] = {}
        async with self.database.connection() as tx:
            for row in await tx.raw.fetch("SELECT event_id, payload FROM outbox ORDER BY id"):
                told.setdefault(orjson.loads(row["payload"])["thread_id"], []).append(row["event_id"])
        return told

    async def step(self, what: str, pick: int, size: int) -> None:
        """One command. Raises Refusal."""
        target = self.known[pick % len(self.known)] if self.known else "thr_" + "0" * 32
        many = tuple(child(pick + number) for number in range(size % 4 + 1))
        match what:
            case "family":
                relationship = (Relationship.SINGULAR, Relationship.GROUP)[pick % 2]
                brood = Brood(many, relationship, _fitting(POLICIES[size % 4], len(many)))
                under = target if self.known and size % 3 == 0 else None
                await self.families.create(CALL, FamilyPlan("umbrella", "", brood, parent_id=under), Plain())
            case "decompose":
                brood = Brood(many, None, _fitting(POLICIES[pick % 4], len(many)))
                await self.families.spawn(CALL, target, brood, Plain())
            case "infer" | "fail_inference":
                await self._infer(fails=what == "fail_inference", empty=size % 5 == 0)
            case "execute" | "fail_execution":
                await self._execute(success=what == "execute")
            case _:
                make = self._make(what, size)
                await self.commands.change(CALL, target, make, Plain())

    def _make(self, what: str, size: int) -> Callable[[Thread, Catalogue], Awaitable[c.Command]]:
        async def make(thread: Thread, catalogue: Catalogue) -> c.Command:
            proposal = thread.proposal
            cited = None if proposal is None else c.Citation(proposal.proposal_id, proposal.digest)
            cancel = size % 2 == 0
            commands: dict[str, Callable[[], c.Command]] = {
                "accept": lambda: c.Accept(cited),
                "dismiss": lambda: c.Dismiss(cancel_executing=cancel),
                "reject": lambda: c.Reject(cited),
                "hand_off": lambda: c.HandOff("somebody"),
                "redirect": lambda: c.Redirect(feedback="no"),
                "force_close": lambda: c.ForceClose(cancel_executing=cancel, cascaded=()),
                "clear": lambda: c.PickAction(None),
            }
            if what == "pick":
                return c.PickAction(await catalogue.choice(TASK))
            return commands[what]()

        return make

    async def _infer(self, *, fails: bool, empty: bool) -> None:
        for leased in await self.runners.claim(None, [JobKind.INFERENCE], "runner", new_id("clm"), 1, 0):
            job = leased.job
            if fails:
                await self.runners.fail(None, job.id, job.fence, "provider_error", "", retryable=False)
                continue
            payload: dict[str, Any] = {"intent": "i", "context": "c"}
            if leased.payload["target"] == "action":
                payload = {"kind": "standard", "name": "task_create", "parameters": {"task_text": "y"}}
            answer: JsonObject = {"payload": {} if empty else payload, "confidence": 0.9}
            await self.runners.complete(None, job.id, job.fence, answer)

    async def _execute(self, *, success: bool) -> None:
        for leased in await self.runners.claim(None, [JobKind.EXECUTION], "runner", new_id("clm"), 1, 0):
            job = leased.job
            await self.runners.start(None, job.id, job.fence)
            if success:
                await self.runners.complete(None, job.id, job.fence, {"success": True})
            else:
                await self.runners.fail(None, job.id, job.fence, "action_failed", "", retryable=False)


def _fitting(policy: CascadePolicy | None, children: int) -> CascadePolicy | None:
    return None if policy is not None and policy.n > children else policy


COMMANDS = (
    *("family", "decompose", "accept", "accept", "dismiss", "reject", "hand_off", "redirect", "force_close"),
    *("pick", "clear", "infer", "infer", "fail_inference", "execute", "execute", "fail_execution"),
)
STEP = st.tuples(st.sampled_from(COMMANDS), st.integers(0, 40), st.integers(0, 11))
STEPS = st.lists(
    st.one_of(STEP.map(lambda one: [one]), st.lists(STEP, min_size=2, max_size=3)), min_size=4, max_size=14
)
FIRST = [("family", 0, 3)]


@pytest.fixture
async def house(database_url: str) -> AsyncIterator[House]:
    """On this test's own database."""
    database = await Database.open(database_url, "test", max_size=6)
    yield House(database)
    await database.close()


async def tried(house: House, step: tuple[str, int, int]) -> str:
    """`ok`, or the reason of the refusal."""
    try:
        await house.step(*step)
    except Refusal as refusal:
        return refusal.reason
    return "ok"


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=STEPS)
async def test_any_commands_on_any_families_keep_the_invariants(
    house: House, steps: list[list[tuple[str, int, int]]]
) -> None:
    await house.clear()
    before: dict[str, Thread] = {}
    for together in [FIRST, *steps]:
        note(f"{together}")
        outcomes = await asyncio.gather(*(tried(house, step) for step in together))
        assert "CONTENDED" not in outcomes
        after = await house.threads()
        for thread_id, thread in before.items():
            if thread.state in TERMINAL:
                assert after[thread_id].state is thread.state
            assert after[thread_id].context_items == thread.context_items
        if "ok" not in outcomes:
            assert after == before, outcomes
        before = after
