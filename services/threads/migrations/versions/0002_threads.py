"""Threads, their log and the action catalogue."""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

STATEMENTS = (
    # The row is what the log says, and nothing else: `doc` holds it whole, the other columns are for queries.
    # `json`, not `jsonb`: what was approved is kept byte for byte, numbers too.
    """
    CREATE TABLE threads (
        tenant text NOT NULL,
        id text NOT NULL,
        state text NOT NULL,
        seq bigint NOT NULL CHECK (seq > 0),
        parent_id text,
        root_id text NOT NULL,
        path text[] NOT NULL CHECK (cardinality(path) <= 32),
        ordinal integer NOT NULL,
        children integer NOT NULL DEFAULT 0,
        open_children integer NOT NULL CHECK (open_children BETWEEN 0 AND children),
        since timestamptz NOT NULL,
        resurface_at timestamptz,
        timer_at timestamptz,
        create_time timestamptz NOT NULL,
        update_time timestamptz NOT NULL,
        doc json NOT NULL,
        PRIMARY KEY (tenant, id),
        FOREIGN KEY (tenant, parent_id) REFERENCES threads (tenant, id),
        CHECK (parent_id IS NULL OR parent_id <> id),
        CHECK ((parent_id IS NULL) = (cardinality(path) = 0))
    )
    """,
    "CREATE INDEX threads_roots ON threads (tenant, id) WHERE parent_id IS NULL",
    "CREATE INDEX threads_children ON threads (tenant, parent_id, ordinal, id) WHERE parent_id IS NOT NULL",
    """
    CREATE INDEX threads_waiting ON threads (tenant, since, id) WHERE state IN (
        'awaiting_intent_confirmation', 'awaiting_context_confirmation', 'awaiting_confirmation',
        'awaiting_intent_clarification', 'awaiting_context_clarification', 'awaiting_action_clarification',
        'awaiting_review', 'awaiting_redirect', 'done_cleanup_unsuccessful'
    )
    """,
    "CREATE INDEX threads_timers ON threads (timer_at) WHERE timer_at IS NOT NULL",
    """
    CREATE TABLE thread_events (
        tenant text NOT NULL,
        thread_id text NOT NULL,
        seq bigint NOT NULL CHECK (seq > 0),
        id text NOT NULL UNIQUE,
        kind text NOT NULL,
        actor_kind text NOT NULL CHECK (actor_kind IN ('user', 'agent', 'service', 'fsm_engine')),
        actor_subject text NOT NULL,
        time timestamptz NOT NULL,
        data json NOT NULL,
        proposal_id text,
        cited_proposal_id text,
        PRIMARY KEY (tenant, thread_id, seq),
        FOREIGN KEY (tenant, thread_id) REFERENCES threads (tenant, id)
    )
    """,
    # The ledger: which decision settled a proposal.
    """
    CREATE INDEX thread_events_ledger ON thread_events (tenant, thread_id, proposal_id, cited_proposal_id)
        WHERE proposal_id IS NOT NULL OR cited_proposal_id IS NOT NULL
    """,
    """
    CREATE TABLE actions (
        tenant text NOT NULL,
        name text NOT NULL,
        doc json NOT NULL,
        PRIMARY KEY (tenant, name)
    )
    """,
)


def upgrade() -> None:
    """Expand only."""
    for statement in STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    """Migrations go forward only."""
