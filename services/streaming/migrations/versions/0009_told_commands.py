"""Commands know whether any runner was ever told of them: a prompt that none was told of outlives a lost runner."""

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Expand only. Nobody knows it of commands of before, nor of those that code of before queues: it may be told."""
    op.execute("ALTER TABLE session_commands ADD COLUMN told boolean NOT NULL DEFAULT true")


def downgrade() -> None:
    """Migrations go forward only."""
