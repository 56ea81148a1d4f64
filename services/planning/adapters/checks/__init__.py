"""What a database of planning can be asked by `verify`. What constraints and unique indexes hold is not asked again:
one step a place, one running turn a line, lengths of texts, depths."""

from __future__ import annotations

from typing import Final

from services.kernel.verifying import UNSENT_FACTS, Checks
from services.planning.adapters.checks.branches import BRANCHES
from services.planning.adapters.checks.snapshots import SNAPSHOTS
from services.planning.adapters.checks.workspaces import WORKSPACES

CHECKS: Final = Checks(
    "planning",
    {
        name: f"SELECT count(*) FROM {name}"
        for name in ("workspaces", "steps", "documents", "turns", "blobs", "branches")
    },
    (*WORKSPACES, *SNAPSHOTS, *BRANCHES, UNSENT_FACTS),
)
