"""`verify` of planning: silent after a busy run, and each rule finds its damage (C2–C6, P.1–P.3)."""

from __future__ import annotations

from typing import Any

import pytest

from services.kernel.postgres import Database
from services.planning.adapters.checks import CHECKS
from services.planning.adapters.checks.snapshots import plan_fault
from services.planning.adapters.work import PostgresWorkshop
from tests.integration.damaging import UNSENT_FACT, assert_each_is_seen, assert_sound
from tests.integration.planning.copies import House

ROOT, BRANCH, TWIG, OTHER = range(4)
STEPS: list[tuple[Any, ...]] = [
    ("turn", ROOT),
    ("aim", ROOT, "first"),
    ("add", ROOT, 0),
    ("add", ROOT, 1),
    ("put", ROOT, "x", "as it was first"),
    ("end", ROOT),
    ("turn", ROOT),
    ("aim", ROOT, "second"),
    ("toggle", ROOT, 2),
    ("put", ROOT, "x", "as it was then"),
    ("put", ROOT, "y", "another one"),
    ("lock", ROOT, "y", True),
    ("end", ROOT),
    ("turn", ROOT),
    ("put", ROOT, "x", "as it is now"),
    ("branch", ROOT, 1),
    ("put", BRANCH, "x", "of the branch"),
    ("turn", BRANCH),
    ("add", BRANCH, 0),
    ("end", BRANCH),
    ("turn", BRANCH),
    ("end", BRANCH),
    ("branch", BRANCH, 2),
    ("turn", TWIG),
    ("end", TWIG),
]
ROOTS = "WHERE parent_id = '' AND running"
OF_ROOT = f"(SELECT session_id FROM workspaces {ROOTS})"
OF_BRANCH = f"(SELECT session_id FROM workspaces WHERE parent_id = {OF_ROOT})"
OF_OTHER = "(SELECT session_id FROM workspaces WHERE parent_id = '' AND NOT running)"

DAMAGES = {
    "plan-positions": f"DELETE FROM steps WHERE position = 0 AND session_id = {OF_ROOT}",
    "plan-steps": f"UPDATE steps SET text = '  ' WHERE position = 0 AND session_id = {OF_ROOT}",
    "objective": f"UPDATE workspaces SET objective_by = '' {ROOTS}",
    "document-content": f"UPDATE documents SET size = size + 1 WHERE key = 'x' AND session_id = {OF_ROOT}",
    "document-lock": "UPDATE documents SET updated_by = 'agent' WHERE locked",
    "documents": f"UPDATE documents SET position = -1 - position WHERE session_id = {OF_ROOT}",
    "newest-turn": f"UPDATE workspaces SET turn_id = 'trn_other' {ROOTS}",
    "running-turn": f"UPDATE turns SET running = true, ended_at = NULL WHERE line = {OF_BRANCH} AND number = 2",
    "deleted-workspace": f"INSERT INTO deleted_workspaces SELECT tenant, session_id, now() FROM workspaces {ROOTS}",
    "turn-snapshot": f"UPDATE turns SET kept = false WHERE line = {OF_ROOT} AND number = 2",
    "snapshot-blobs": "DELETE FROM blobs WHERE sha256 IN (SELECT objective FROM turns)",
    "snapshot-documents": """
        DELETE FROM blobs b WHERE sha256 NOT IN (SELECT sha256 FROM documents)
            AND NOT EXISTS (SELECT FROM turns t WHERE b.sha256 IN (t.objective, t.plan, t.documents))
    """,
    "snapshot-plans": f"UPDATE turns SET leaves = leaves + 1 WHERE line = {OF_ROOT} AND number = 2",
    "blob-digest": "UPDATE blobs SET data = 'x' WHERE sha256 IN (SELECT objective FROM turns)",
    "blob-orphans": """
        INSERT INTO blobs SELECT tenant, id, encode(sha256('nobody''s'), 'hex'), 'nobody''s' FROM families
    """,
    "stretches": f"UPDATE stretches SET high = high - 1 WHERE line = session_id AND line = {OF_ROOT}",
    "branch-prefix": f"""
        UPDATE branches SET origin_id = {OF_OTHER} WHERE origin_id = {OF_ROOT};
        UPDATE workspaces SET parent_id = {OF_OTHER} WHERE parent_id = {OF_ROOT}
    """,
    "branch-fork": f"DELETE FROM turns WHERE line = {OF_ROOT} AND number = 1",
    "branch-state": "UPDATE branches SET state = 'failed'",
    "branch-saga": f"UPDATE workspaces SET making = 'opening' {ROOTS}",
    "branch-waits": "UPDATE branches SET state = 'abandoning', created_at = now() - interval '1 hour'",
    "turn-orphans": """
        INSERT INTO turns (tenant, line, number, turn_id, family, running, kept, begun_at, ended_at)
        SELECT tenant, 'ses_nobody', 1, 'trn_nobody', id, false, false, now(), now() FROM families LIMIT 1
    """,
    "unsent-facts": UNSENT_FACT,
}


@pytest.fixture
async def busy(database: Database, workshop: PostgresWorkshop) -> Database:
    """After turns, edits, branches of branches, a turn under way, and a session that was deleted."""
    house = House(database, workshop)
    await house.open()
    for op in STEPS:
        await house.do(op)
    await house.open()
    for op in [("turn", OTHER), ("end", OTHER), ("branch", OTHER, 1), ("turn", OTHER + 1), ("delete", OTHER + 1)]:
        await house.do(op)
    await house.check()
    return database


async def test_a_busy_database_is_sound(busy: Database) -> None:
    verdict = await assert_sound(busy, CHECKS)
    assert verdict.looked_at["workspaces"] == 4


async def test_each_rule_finds_its_damage_and_no_other_one_does(busy: Database) -> None:
    await assert_each_is_seen(busy, CHECKS, DAMAGES)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"\xff\xfe", "cannot be read"),
        (b"{", "cannot be read"),
        (b'[{"text": "a", "depth": 33}]', "over a limit"),
        (b'[{"text": "a"}]', "1 leaves"),
        (b"[]", ""),
    ],
)
def test_a_kept_plan_is_read_before_it_is_trusted(data: bytes, says: str) -> None:
    assert says in plan_fault(data, 0, 0)
