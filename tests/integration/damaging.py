"""Damage behind a service's back, seen by its checks inside a transaction that never commits."""

from __future__ import annotations

from collections.abc import Mapping

from services.kernel.postgres import Database, Tx
from services.kernel.verifying import Checks, Verdict, examine, examine_in

UNSENT_FACT = """
    INSERT INTO outbox (tenant, scope, service, type, event_id, payload, created_at)
    VALUES ('default', 's', 'x', 'y', 'evt_unsent', '{}', now() - interval '1 hour')
"""


async def assert_sound(database: Database, checks: Checks) -> Verdict:
    """Nothing is found, and there was something to find it in."""
    verdict = await examine(database, checks)
    assert (list(verdict.findings), list(verdict.information)) == ([], [])
    assert all(verdict.looked_at.values()), verdict.looked_at
    return verdict


async def assert_each_is_seen(database: Database, checks: Checks, damages: Mapping[str, str]) -> None:
    """Every rule has its damage, which this rule and no other one finds; one for information is no fault."""
    assert set(damages) == {rule.name for rule in checks.rules}
    wrong = {}
    for rule in checks.rules:
        async with database.connection() as tx:
            verdict = await _damaged(tx, checks, damages[rule.name])
        faults = {one.rule for one in verdict.findings}
        told = {one.rule for one in verdict.information}
        if not (faults == {rule.name} or (rule.information and not faults and rule.name in told)):
            wrong[rule.name] = [(one.rule, one.id, one.words) for one in (*verdict.findings, *verdict.information)]
        for one in (*verdict.findings, *verdict.information):
            assert one.tenant, one
            assert one.id, one
            assert one.words, one
    assert wrong == {}, wrong


async def _damaged(tx: Tx, checks: Checks, damage: str) -> Verdict:
    transaction = tx.raw.transaction()
    await transaction.start()
    try:
        tag = await tx.raw.execute(damage)
        assert not tag.endswith(" 0"), f"nothing was damaged by {damage}"
        return await examine_in(tx, checks)
    finally:
        await transaction.rollback()
