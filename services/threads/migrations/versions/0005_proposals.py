"""Threads that an agent proposed in a session are found by it."""

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

STATEMENTS = (
    "ALTER TABLE threads ADD COLUMN session_id text",
    "CREATE INDEX threads_session ON threads (tenant, session_id, id) WHERE session_id IS NOT NULL",
    # Counted at each proposal: only what is open costs anything.
    """
    CREATE INDEX threads_open_in_session ON threads (tenant, session_id)
        WHERE session_id IS NOT NULL AND state NOT IN ('dismissed', 'done', 'done_cleanup_successful', 'handed_off')
    """,
)


def upgrade() -> None:
    """Expand only; what the former code writes was proposed in no session."""
    for statement in STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    """Migrations go forward only."""
