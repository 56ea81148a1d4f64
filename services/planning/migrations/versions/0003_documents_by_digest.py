"""A document without a content of its own has that of the blob of its digest: branches begin with it, uncopied."""

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Expand only."""
    op.execute("ALTER TABLE documents ALTER COLUMN content DROP NOT NULL")


def downgrade() -> None:
    """Migrations go forward only."""
