"""Families: what tells how far up a command locks, and the indexes that a cascade and a hoist read by."""

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

STATEMENTS = (
    # Whether the parent may close while children are open, and whether it has what it needs (section 0.5).
    "ALTER TABLE threads ADD COLUMN ends_early boolean NOT NULL DEFAULT false",
    "ALTER TABLE threads ADD COLUMN policy_met boolean NOT NULL DEFAULT false",
    # Live children only: the cost of an end does not grow with the siblings that have ended.
    """
    CREATE INDEX threads_open_children ON threads (tenant, parent_id, id)
        WHERE parent_id IS NOT NULL AND state NOT IN ('dismissed', 'done', 'done_cleanup_successful', 'handed_off')
    """,
    # A whole family in one query, however deep (section 0.7).
    "CREATE INDEX threads_family ON threads (tenant, root_id) WHERE parent_id IS NOT NULL",
)


def upgrade() -> None:
    """Expand only; what the former code writes has the defaults, which are right for it."""
    for statement in STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    """Migrations go forward only."""
