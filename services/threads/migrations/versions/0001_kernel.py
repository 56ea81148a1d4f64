"""The kernel's tables: jobs, idempotency, outbox, relay."""

from alembic import op

from services.kernel.ddl import KERNEL_V1

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Expand only."""
    for statement in KERNEL_V1:
        op.execute(statement)


def downgrade() -> None:
    """Migrations go forward only."""
