"""Sessions that work for another one, and lists without them."""

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_STATEMENTS = (
    "ALTER TABLE sessions ADD COLUMN coordinator text NOT NULL DEFAULT ''",
    "CREATE INDEX sessions_top_level ON sessions (tenant, created_at DESC, id DESC) WHERE coordinator = ''",
)


def upgrade() -> None:
    """Expand only."""
    for statement in _STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    """Migrations go forward only."""
