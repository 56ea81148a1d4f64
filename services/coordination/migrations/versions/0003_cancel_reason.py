"""Why a worker was cancelled, in the words of whoever asked for it."""

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Expand only; code of before writes workers without it."""
    op.execute("ALTER TABLE workers ADD COLUMN cancel_reason text NOT NULL DEFAULT ''")


def downgrade() -> None:
    """Migrations go forward only."""
