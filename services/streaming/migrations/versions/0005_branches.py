"""Where a branch's turns happened; sessions whose workspace planning has still to be told of."""

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_STATEMENTS = (
    "ALTER TABLE turns ADD COLUMN origin_turn_id text NOT NULL DEFAULT ''",
    "ALTER TABLE sessions ADD COLUMN workspace_wanted boolean NOT NULL DEFAULT false",
    "CREATE INDEX sessions_workspaces ON sessions (created_at) WHERE workspace_wanted",
)


def upgrade() -> None:
    """Expand only."""
    for statement in _STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    """Migrations go forward only."""
