"""`treadle migrate [service…]`: brings databases to the newest schema. Safe to run twice, and by several at once."""

from __future__ import annotations

import asyncio
import importlib
from typing import Final

from services.kernel.migrations import current_revision, migrate
from services.kernel.settings import load

SERVICES: Final = ("threads", "coordination", "planning", "streaming")
_UNASKED: Final = {"streaming": {"planning_target": "none"}}
"""What a service must be told to start, and nobody needs to migrate its database."""


def migrate_services(names: tuple[str, ...]) -> dict[str, str]:
    """Migrates each (all when none is named); answers service → revision. Raises what the database raises."""
    return asyncio.run(_migrate(names or SERVICES))


async def _migrate(names: tuple[str, ...]) -> dict[str, str]:
    revisions = {}
    for name in names:
        kind = getattr(importlib.import_module(f"services.{name}.settings"), f"{name.capitalize()}Settings")
        url = getattr(load(kind, **_UNASKED.get(name, {})), f"{name}_database_url")
        await migrate(url, f"services.{name}.migrations")
        revisions[name] = await current_revision(url) or ""
    return revisions
