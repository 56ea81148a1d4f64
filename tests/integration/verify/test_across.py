"""What the services say of one another: each rule finds its damage, and what heals between two looks is not told."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack

import pytest

from services.cli.verifying.crossing import across, twice
from services.kernel.postgres import Database
from tests.conftest import MakeDatabase
from tests.integration.verify.houses import furnish

NAMES = ("coordination", "planning", "streaming")
SOON = 0.01


@pytest.fixture
async def house(make_database: MakeDatabase) -> AsyncIterator[dict[str, Database]]:
    """Furnished."""
    async with AsyncExitStack() as stack:
        databases = {}
        for name in NAMES:
            databases[name] = await Database.open(await make_database(name), "test", max_size=3)
            stack.push_async_callback(databases[name].close)
        await furnish(databases)
        yield databases


async def test_what_agrees_is_sound(house: dict[str, Database]) -> None:
    verdict = await across(house, SOON)
    assert verdict is not None
    assert verdict.findings == []
    assert verdict.looked_at == {
        "workspaces": 2,
        "branches under way": 1,
        "coordinators and workers that began": 2,
    }
    assert await across({"planning": house["planning"]}, SOON) is None


@pytest.mark.parametrize(
    ("service", "damage", "rule", "subject"),
    [
        ("streaming", "DELETE FROM sessions WHERE id = 'ses_b'", "workspace-session", "ses_b"),
        ("streaming", "UPDATE sessions SET turn_number = 1 WHERE id = 'ses_a'", "turn-unknown", "ses_a"),
        (
            "planning",
            "UPDATE workspaces SET turn = 1, turn_id = 'trn_1' WHERE session_id = 'ses_a'",
            "turn-unkept",
            "ses_a",
        ),
        ("planning", "UPDATE workspaces SET turn_id = 'trn_x' WHERE session_id = 'ses_a'", "turn-id", "ses_a"),
        ("planning", "UPDATE branches SET state = 'failed' WHERE session_id = 'ses_c'", "half-branch", "ses_c"),
        ("planning", "DELETE FROM branches WHERE session_id = 'ses_c'", "half-branch", "ses_c"),
        ("streaming", "DELETE FROM sessions WHERE id = 'ses_w'", "started-session", "ses_w"),
    ],
)
async def test_each_rule_finds_its_damage(
    house: dict[str, Database], service: str, damage: str, rule: str, subject: str
) -> None:
    async with house[service].connection() as tx:
        await tx.raw.execute(damage)
    verdict = await across(house, SOON)
    assert verdict is not None
    assert [(one.tenant, one.id, one.rule) for one in verdict.findings] == [("default", subject, rule)]


@pytest.mark.parametrize(
    ("service", "change"),
    [
        ("streaming", "UPDATE sessions SET deleted_at = now(), turn_number = 0"),
        ("streaming", "UPDATE sessions SET turn_number = 3 WHERE id = 'ses_a'"),  # a start that failed, or goes on
        ("planning", "UPDATE workspaces SET turn = 0, turn_id = ''"),  # older than planning
        ("coordination", "UPDATE workers SET session_id = 'ses_none', said = false"),
        (
            "coordination",
            "INSERT INTO deleted_sessions VALUES ('default', 'ses_x', now()); UPDATE workers SET session_id = 'ses_x'",
        ),
        (
            "coordination",
            "UPDATE workers SET session_id = 'ses_none', created_at = now() - interval '40 days'",
        ),
    ],
)
async def test_what_may_be_is_no_fault(house: dict[str, Database], service: str, change: str) -> None:
    async with house[service].connection() as tx:
        await tx.raw.execute(change)
    verdict = await across(house, SOON)
    assert verdict is not None
    assert verdict.findings == []


class Fleeting:
    """Looks wrong in one way that stays, in one that heals, and in one that is only seen the second time."""

    name = "fleeting"
    says: Sequence[str] = ()
    compared = 0

    def __init__(self) -> None:
        self.asked: list[object] = []

    async def look(self, keys: Sequence[tuple[str, str]] | None = None) -> AsyncIterator[tuple[str, str, str, str]]:
        self.asked.append(keys)
        yield "default", "one", "stays", f"look {len(self.asked)}"
        yield "default", "one", "heals" if keys is None else "comes", ""


async def test_what_is_wrong_once_is_not_told() -> None:
    fleeting = Fleeting()
    found, unlisted = await twice(fleeting, SOON)
    assert [(one.id, one.rule, one.words) for one in found] == [("one", "stays", "look 2")]
    assert unlisted == 0
    assert fleeting.asked == [None, [("default", "one")]]
