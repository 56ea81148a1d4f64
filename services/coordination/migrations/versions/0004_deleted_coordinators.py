"""Finds the coordinators whose sessions are deleted, once an hour, without reading all."""

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Expand only."""
    op.execute("CREATE INDEX coordinators_deleted ON coordinators (tenant, session_id) WHERE deleted")


def downgrade() -> None:
    """Migrations go forward only."""
