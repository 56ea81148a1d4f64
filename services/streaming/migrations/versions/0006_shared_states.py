"""Agents' states are found by their content: a branch's older turns use those of its origin."""

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_STATEMENTS = (
    "CREATE INDEX agent_states_content ON agent_states (tenant, digest)",
    "CREATE INDEX turns_states_used ON turns (tenant, agent_state) WHERE agent_state <> ''",
)


def upgrade() -> None:
    """Expand only."""
    for statement in _STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    """Migrations go forward only."""
