"""Workspaces, steps, documents, turns with what they kept, branches; the inbox of others' facts."""

from alembic import op

from services.kernel.ddl_inbox import INBOX_V1

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_STATEMENTS = (
    # All sessions that branched from one another; what they keep is kept once. Locked by whoever relies on what is
    # kept (shared) and by whoever sweeps it out (alone).
    """
    CREATE TABLE families (
        tenant text NOT NULL,
        id text NOT NULL,
        PRIMARY KEY (tenant, id)
    )
    """,
    """
    CREATE TABLE workspaces (
        tenant text NOT NULL,
        session_id text NOT NULL,
        family text NOT NULL,
        making text NOT NULL CHECK (making IN ('forking', 'opening', 'ready')),
        objective text NOT NULL DEFAULT '' CHECK (char_length(objective) <= 500),
        objective_version bigint NOT NULL DEFAULT 0,
        objective_by text NOT NULL DEFAULT '' CHECK (objective_by IN ('', 'agent', 'user')),
        objective_at timestamptz,
        objective_turn integer NOT NULL DEFAULT 0,
        plan_version bigint NOT NULL DEFAULT 0,
        turn integer NOT NULL DEFAULT 0,
        turn_id text NOT NULL DEFAULT '',
        running boolean NOT NULL DEFAULT false,
        parent_id text NOT NULL DEFAULT '',
        fork_turn integer NOT NULL DEFAULT 0,
        created_at timestamptz NOT NULL,
        updated_at timestamptz NOT NULL,
        PRIMARY KEY (tenant, session_id),
        FOREIGN KEY (tenant, family) REFERENCES families (tenant, id)
    )
    """,
    "CREATE INDEX workspaces_family ON workspaces (tenant, family)",
    # A deleted session's workspace does not come again by a late fact or call.
    """
    CREATE TABLE deleted_workspaces (
        tenant text NOT NULL,
        session_id text NOT NULL,
        deleted_at timestamptz NOT NULL,
        PRIMARY KEY (tenant, session_id)
    )
    """,
    "CREATE INDEX deleted_workspaces_age ON deleted_workspaces (deleted_at)",
    """
    CREATE TABLE steps (
        tenant text NOT NULL,
        session_id text NOT NULL,
        id text NOT NULL,
        origin_id text NOT NULL,
        position integer NOT NULL CHECK (position BETWEEN 0 AND 199),
        depth integer NOT NULL CHECK (depth BETWEEN 0 AND 32),
        text text NOT NULL CHECK (char_length(text) BETWEEN 1 AND 500),
        done boolean NOT NULL,
        PRIMARY KEY (tenant, session_id, id),
        -- One place a step and one step a place, at the end of the transaction: shifting may pass through (PUB13).
        UNIQUE (tenant, session_id, position) DEFERRABLE INITIALLY DEFERRED,
        UNIQUE (tenant, session_id, origin_id) DEFERRABLE INITIALLY DEFERRED,
        FOREIGN KEY (tenant, session_id) REFERENCES workspaces (tenant, session_id) ON DELETE CASCADE
    )
    """,
    """
    CREATE TABLE documents (
        tenant text NOT NULL,
        session_id text NOT NULL,
        key text NOT NULL,
        position integer NOT NULL,
        content text NOT NULL CHECK (octet_length(content) <= 262144),
        size integer NOT NULL,
        sha256 text NOT NULL,
        locked boolean NOT NULL DEFAULT false,
        version bigint NOT NULL DEFAULT 1,
        updated_by text NOT NULL CHECK (updated_by IN ('agent', 'user')),
        updated_at timestamptz NOT NULL,
        PRIMARY KEY (tenant, session_id, key),
        UNIQUE (tenant, session_id, position),
        FOREIGN KEY (tenant, session_id) REFERENCES workspaces (tenant, session_id) ON DELETE CASCADE
    )
    """,
    # Immutable, by the SHA-256 of the data: an objective, a plan, a list of documents, a document (P.2).
    """
    CREATE TABLE blobs (
        tenant text NOT NULL,
        family text NOT NULL,
        sha256 text NOT NULL,
        data bytea NOT NULL,
        PRIMARY KEY (tenant, family, sha256),
        FOREIGN KEY (tenant, family) REFERENCES families (tenant, id) ON DELETE CASCADE
    )
    """,
    # A turn of the line of one session, and what the workspace was when it began: committed together (P.1). The
    # digests are written once and never changed; kept = false: a turn from before there were snapshots.
    """
    CREATE TABLE turns (
        tenant text NOT NULL,
        line text NOT NULL,
        number integer NOT NULL CHECK (number > 0),
        turn_id text NOT NULL,
        family text NOT NULL,
        running boolean NOT NULL,
        outcome text NOT NULL DEFAULT '',
        kept boolean NOT NULL,
        objective text NOT NULL DEFAULT '',
        plan text NOT NULL DEFAULT '',
        documents text NOT NULL DEFAULT '',
        leaves integer NOT NULL DEFAULT 0,
        done_leaves integer NOT NULL DEFAULT 0,
        begun_at timestamptz NOT NULL,
        ended_at timestamptz,
        PRIMARY KEY (tenant, line, number),
        UNIQUE (tenant, turn_id),
        CHECK (running = (ended_at IS NULL)),
        FOREIGN KEY (tenant, family) REFERENCES families (tenant, id)
    )
    """,
    # One turn under way a session, whoever asks.
    "CREATE UNIQUE INDEX turns_running ON turns (tenant, line) WHERE running",
    "CREATE INDEX turns_family ON turns (tenant, family, begun_at, turn_id)",
    # Which turns a session has: its own line's, and up to the fork those of its ancestors, which are shared because
    # they never change.
    """
    CREATE TABLE stretches (
        tenant text NOT NULL,
        session_id text NOT NULL,
        line text NOT NULL,
        low integer NOT NULL,
        high integer NOT NULL CHECK (high > low),
        family text NOT NULL,
        PRIMARY KEY (tenant, session_id, line),
        FOREIGN KEY (tenant, session_id) REFERENCES workspaces (tenant, session_id) ON DELETE CASCADE
    )
    """,
    "CREATE INDEX stretches_line ON stretches (tenant, line)",
    "CREATE INDEX stretches_family ON stretches (tenant, family)",
    # Turns whose end was heard of before their beginning.
    """
    CREATE TABLE ended_turns (
        tenant text NOT NULL,
        session_id text NOT NULL,
        turn_id text NOT NULL,
        ended_at timestamptz NOT NULL,
        PRIMARY KEY (tenant, session_id, turn_id)
    )
    """,
    "CREATE INDEX ended_turns_age ON ended_turns (ended_at)",
    # The saga of a branch (P.3): who drives it has it until due_at.
    """
    CREATE TABLE branches (
        tenant text NOT NULL,
        session_id text NOT NULL,
        origin_id text NOT NULL,
        turn integer NOT NULL,
        origin_turn_id text NOT NULL,
        state text NOT NULL CHECK (state IN ('forking', 'opening', 'ready', 'abandoning', 'failed')),
        reason text NOT NULL DEFAULT '',
        title text NOT NULL,
        asked_by text NOT NULL,
        attempts integer NOT NULL DEFAULT 0,
        due_at timestamptz NOT NULL,
        created_at timestamptz NOT NULL,
        PRIMARY KEY (tenant, session_id)
    )
    """,
    "CREATE INDEX branches_origin ON branches (tenant, origin_id, created_at, session_id)",
    "CREATE INDEX branches_due ON branches (due_at) WHERE state IN ('forking', 'opening', 'abandoning')",
)


def upgrade() -> None:
    """Expand only."""
    for statement in (*INBOX_V1, *_STATEMENTS):
        op.execute(statement)


def downgrade() -> None:
    """Migrations go forward only."""
