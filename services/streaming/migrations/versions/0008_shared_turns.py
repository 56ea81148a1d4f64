"""Branches share their ancestors' turns and messages instead of copying them; what is shared outlives its session."""

from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_STATEMENTS = (
    # What a session shares: of `line` (an ancestor, deleted or not) the turns up to number `high`, with the first
    # `messages` messages of that line, which follow `messages_before` others. Its own turns have higher numbers.
    # Written with the branch, never changed; branches of before have copies of their own and no rows here.
    """
    CREATE TABLE stretches (
        tenant text NOT NULL,
        session_id text NOT NULL,
        line text NOT NULL CHECK (line <> session_id),
        high integer NOT NULL CHECK (high > 0),
        messages_before bigint NOT NULL CHECK (messages_before >= 0),
        messages bigint NOT NULL CHECK (messages >= 0),
        PRIMARY KEY (tenant, session_id, line),
        UNIQUE (tenant, session_id, high),
        FOREIGN KEY (tenant, session_id) REFERENCES sessions (tenant, id) ON DELETE CASCADE,
        FOREIGN KEY (tenant, line) REFERENCES sessions (tenant, id)
    )
    """,
    "CREATE INDEX stretches_line ON stretches (tenant, line, high)",
    # A session that is deleted and purged keeps its row, and of its turns what branches share.
    """
    ALTER TABLE sessions
        ADD COLUMN purged_at timestamptz,
        ADD CONSTRAINT sessions_purged CHECK (purged_at IS NULL OR deleted_at IS NOT NULL)
    """,
    "CREATE INDEX sessions_purgeable ON sessions (deleted_at) WHERE deleted_at IS NOT NULL AND purged_at IS NULL",
    "CREATE INDEX turns_with_states ON turns (tenant, session_id, number) WHERE agent_state <> ''",
    # Code of before copies turns, and would make a branch without what its origin shares: it is told to try again,
    # until code of now takes the fork.
    """
    CREATE FUNCTION refuse_half_a_past() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF EXISTS (
            SELECT FROM sessions s JOIN stretches p ON p.tenant = s.tenant AND p.session_id = s.forked_from
            WHERE s.tenant = NEW.tenant AND s.id = NEW.session_id
        ) THEN
            RAISE EXCEPTION 'the origin shares turns, which cannot be copied' USING ERRCODE = 'serialization_failure';
        END IF;
        RETURN NEW;
    END
    $$
    """,
    """
    CREATE TRIGGER turns_copied BEFORE INSERT ON turns FOR EACH ROW WHEN (NEW.origin_turn_id <> '')
    EXECUTE FUNCTION refuse_half_a_past()
    """,
)


def upgrade() -> None:
    """Expand only."""
    for statement in _STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    """Migrations go forward only."""
