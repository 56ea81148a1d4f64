"""What agents were told of objective and plan, with their turns: the text is a blob, held by the turn that names it."""

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_STATEMENTS = (
    # told null: nothing was. The key keeps code that sweeps blobs and does not know of this from taking it away.
    """
    ALTER TABLE turns
        ADD COLUMN told text,
        ADD COLUMN told_version bigint,
        ADD COLUMN told_at timestamptz,
        ADD CONSTRAINT turns_told CHECK (
            (told IS NULL) = (told_version IS NULL) AND (told IS NULL) = (told_at IS NULL)
        ),
        ADD CONSTRAINT turns_told_blob FOREIGN KEY (tenant, family, told) REFERENCES blobs (tenant, family, sha256)
    """,
    "CREATE INDEX turns_told_blob ON turns (tenant, family, told) WHERE told IS NOT NULL",
)


def upgrade() -> None:
    """Expand only."""
    for statement in _STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    """Migrations go forward only."""
