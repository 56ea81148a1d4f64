"""`verify`: questions to a live database whose answers are faults. Reads only, over one snapshot; repairs nothing.

A rule is SQL as it is read: it looks across many tables, runs once, and its rows are (tenant, id, words). Which rules
there are is each service's business.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from services.kernel.postgres import Database, Row, Tx

_AT_ONCE: Final = 500
"""Rows that are fetched from a cursor at once."""
FINDINGS_MOST: Final = 1_000
"""Findings of one rule that are kept; the others are counted."""
# The pool's limits are for commands, which hold others up. This transaction holds no lock that anybody waits for.
_PATIENT: Final = "SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0"

Found = tuple[str, str, str]
"""Tenant, id, words."""
Look = Callable[[Tx], AsyncIterator[Found]]


@dataclass(frozen=True, slots=True)
class Rule:
    """`says`: what holds, for people. `information`: what it finds is worth a look, and no fault."""

    name: str
    says: str
    look: Look
    information: bool = False


@dataclass(frozen=True, slots=True)
class Checks:
    """What one service's database can be asked. `counts`: what there is, each a query for one number."""

    service: str
    counts: Mapping[str, str]
    rules: Sequence[Rule]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a rule found."""

    service: str
    tenant: str
    id: str
    rule: str
    words: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was looked at and what was found. `unlisted`: faults beyond FINDINGS_MOST of a rule."""

    service: str
    looked_at: Mapping[str, int]
    checks: Sequence[str]
    findings: Sequence[Finding]
    information: Sequence[Finding] = ()
    unlisted: int = 0

    @property
    def faults(self) -> int:
        """All of them."""
        return len(self.findings) + self.unlisted


def asked(sql: str) -> Look:
    """A rule in SQL; its rows come by a cursor."""

    async def look(tx: Tx) -> AsyncIterator[Found]:
        async for row in rows(tx, sql):
            yield row[0], row[1], row[2]

    return look


async def rows(tx: Tx, sql: str, *values: object) -> AsyncIterator[Row]:
    """The rows of a query, a few hundred at a time."""
    async for row in tx.raw.cursor(sql, *values, prefetch=_AT_ONCE):
        yield row


async def examine(database: Database, checks: Checks, rule_done: Callable[[], None] = lambda: None) -> Verdict:
    """Asks everything over one snapshot. Raises what the database raises."""
    async with database.transaction(read_snapshot=True) as tx:
        return await examine_in(tx, checks, rule_done)


async def examine_in(tx: Tx, checks: Checks, rule_done: Callable[[], None] = lambda: None) -> Verdict:
    """As `examine`, in the caller's transaction."""
    findings: list[Finding] = []
    information: list[Finding] = []
    unlisted = 0
    await tx.raw.execute(_PATIENT)
    looked_at = {name: int(await tx.raw.fetchval(sql)) for name, sql in checks.counts.items()}
    for rule in checks.rules:
        found = 0
        async for tenant, subject, words in rule.look(tx):
            found += 1
            if found <= FINDINGS_MOST:
                into = information if rule.information else findings
                into.append(Finding(checks.service, tenant, subject, rule.name, words))
            elif not rule.information:
                unlisted += 1
        rule_done()
    says = [rule.says for rule in checks.rules if not rule.information]
    return Verdict(checks.service, looked_at, says, findings, information, unlisted)


UNSENT_FACTS: Final = Rule(
    "unsent-facts",
    "facts are sent within a minute",
    asked("""
        SELECT tenant, scope, count(*) || ' facts of type ' || type || ' wait since ' || min(created_at)
        FROM outbox WHERE sent_seq IS NULL AND created_at < now() - interval '1 minute'
        GROUP BY tenant, scope, type
    """),
    information=True,
)
"""Of every service that has an outbox."""
