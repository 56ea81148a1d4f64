"""${message}."""

from alembic import op

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Expand only: old code runs on the new schema (design/style.md, rule 12)."""
    ${upgrades if upgrades else 'op.execute("SELECT 1")'}


def downgrade() -> None:
    """Migrations go forward only: a rollback of code needs none, a rollback of data is a restore."""
