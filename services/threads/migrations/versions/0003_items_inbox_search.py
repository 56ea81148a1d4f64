"""Items as rows with one owner; the inbox's rank; the words that a search finds; the end of a snooze."""

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

STATEMENTS = (
    # One owner an item: a move is one conditional update of this row (design/threads.md, section 0.11).
    """
    CREATE TABLE thread_items (
        tenant text NOT NULL,
        thread_id text NOT NULL,
        item_id text NOT NULL,
        position integer NOT NULL,
        source text NOT NULL,
        type text NOT NULL,
        label text NOT NULL,
        payload json,
        PRIMARY KEY (tenant, thread_id, item_id),
        FOREIGN KEY (tenant, thread_id) REFERENCES threads (tenant, id)
    )
    """,
    """
    INSERT INTO thread_items
    SELECT tenant, id, item ->> 'id', place, coalesce(item ->> 'source', ''), coalesce(item ->> 'type', ''),
        coalesce(item ->> 'label', ''), item -> 'payload'
    FROM threads, json_array_elements(doc -> 'context_items') WITH ORDINALITY AS listed (item, place)
    """,
    # The rank of section 0.12: the time since which it waits, an hour earlier for each open thread behind it.
    """
    ALTER TABLE threads ADD COLUMN inbox_at timestamp NOT NULL GENERATED ALWAYS AS (
        (since AT TIME ZONE 'UTC') - (cardinality(path) + open_children) * interval '1 hour'
    ) STORED
    """,
    """
    CREATE INDEX threads_inbox ON threads (tenant, inbox_at, id) WHERE state IN (
        'awaiting_intent_confirmation', 'awaiting_context_confirmation', 'awaiting_confirmation',
        'awaiting_intent_clarification', 'awaiting_context_clarification', 'awaiting_action_clarification',
        'awaiting_review', 'awaiting_redirect', 'done_cleanup_unsuccessful'
    )
    """,
    "DROP INDEX threads_waiting",
    "CREATE INDEX threads_snoozed ON threads (resurface_at) WHERE resurface_at IS NOT NULL",
    # Apart from the row, which changes with every event: words change with a title, an intent, a moved item.
    """
    CREATE TABLE thread_search (
        tenant text NOT NULL,
        thread_id text NOT NULL,
        words tsvector NOT NULL,
        PRIMARY KEY (tenant, thread_id),
        FOREIGN KEY (tenant, thread_id) REFERENCES threads (tenant, id)
    )
    """,
    """
    INSERT INTO thread_search
    SELECT tenant, id, array_to_tsvector(ARRAY(
        SELECT DISTINCT left(word, 48)
        FROM regexp_split_to_table(
            lower(left(concat_ws(' ', doc ->> 'title', doc ->> 'description', doc -> 'context_items'), 100000)),
            '[^[:alnum:]]+'
        ) AS word
        WHERE word <> ''
    ))
    FROM threads
    """,
    "CREATE INDEX thread_search_words ON thread_search USING gin (words)",
)


def upgrade() -> None:
    """Expand only; what the former code reads stays as it was."""
    for statement in STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    """Migrations go forward only."""
