"""Rows of the session outbox that have served are found by their age."""

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Expand only."""
    op.execute("CREATE INDEX session_outbox_sent ON session_outbox (created_at) WHERE sent_seq IS NOT NULL")


def downgrade() -> None:
    """Migrations go forward only."""
