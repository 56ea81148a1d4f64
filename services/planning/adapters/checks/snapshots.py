"""Snapshots (C2, C3, P.2): every turn has its own, whole, of blobs that are what their digests say."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Final

import orjson

from services.kernel.postgres import Tx
from services.kernel.verifying import Found, Rule, asked, rows
from services.planning.domain import limits
from services.planning.domain.numbering import numbers, progress_of
from services.planning.domain.snapshot import read_todos

# Lists of documents as our writer writes them; read by a pattern, so that one that is damaged stops no question.
_ENTRIES: Final = """
    SELECT DISTINCT t.tenant, t.family, t.documents, found.entry[1] AS sha256
    FROM (SELECT DISTINCT tenant, family, documents FROM turns WHERE kept AND documents <> '') t
    JOIN blobs b ON (b.tenant, b.family, b.sha256) = (t.tenant, t.family, t.documents)
    CROSS JOIN LATERAL
        regexp_matches(encode(b.data, 'escape'), '"sha256"\\s*:\\s*"([0-9a-f]{64})"', 'g') AS found(entry)
"""
_PARTS: Final = " UNION ALL ".join(
    f"SELECT tenant, family, line, number, '{part}' AS part, {part} AS sha256 FROM turns WHERE kept AND {part} <> ''"
    for part in ("objective", "plan", "documents")
)
_TOLD: Final = "SELECT tenant, family, told AS sha256 FROM turns WHERE told IS NOT NULL"
_PLANS: Final = """
    SELECT t.tenant, t.line, t.number, t.leaves, t.done_leaves, b.data
    FROM (
        SELECT tenant, family, plan, leaves, done_leaves, min(line) AS line, min(number) AS number
        FROM turns WHERE kept GROUP BY tenant, family, plan, leaves, done_leaves
    ) t JOIN blobs b ON (b.tenant, b.family, b.sha256) = (t.tenant, t.family, t.plan)
"""


async def _plans(tx: Tx) -> AsyncIterator[Found]:
    """Each plan that was kept, once; one at a time."""
    async for row in rows(tx, _PLANS):
        fault = plan_fault(row[5], row[3], row[4])
        if fault:
            yield str(row[0]), str(row[1]), f"the plan that turn {row[2]} keeps {fault}"


def plan_fault(data: Any, leaves: Any, done: Any) -> str:
    """What is wrong with a plan as a turn keeps it; empty: nothing."""
    try:
        steps = read_todos(data, lambda _: "")
    except (ValueError, UnicodeDecodeError, orjson.JSONDecodeError):
        return "cannot be read"
    if len(steps) > limits.STEPS_MOST or any(
        one.depth > limits.DEPTH_MOST or len(one.text) > limits.STEP_TEXT_MOST for one in steps
    ):
        return "is over a limit"
    if len(set(numbers([one.depth for one in steps]))) != len(steps):
        return "cannot be numbered"
    counted = progress_of([(one.depth, one.done) for one in steps])
    if (counted.leaves, counted.done) != (leaves, done):
        return f"has {counted.leaves} leaves, {counted.done} done; the turn says {leaves}, {done}"
    return ""


SNAPSHOTS: Final = (
    Rule(
        "turn-snapshot",
        "every turn has its snapshot, or is marked as having none",
        asked("""
            SELECT tenant, line, 'turn ' || number || CASE WHEN kept THEN ' has no plan or no list of documents'
                ELSE ' is marked as having no snapshot, and names one' END
            FROM turns
            WHERE (kept AND (plan = '' OR documents = '')) OR (NOT kept AND objective || plan || documents <> '')
        """),
    ),
    Rule(
        "snapshot-blobs",
        "a snapshot names only blobs that are there",
        asked(f"""
            SELECT p.tenant, p.line, 'turn ' || p.number || ' keeps as its ' || p.part
                || ' what is not there: ' || p.sha256
            FROM ({_PARTS}) p LEFT JOIN blobs b ON (b.tenant, b.family, b.sha256) = (p.tenant, p.family, p.sha256)
            WHERE b.sha256 IS NULL
        """),
    ),
    Rule(
        "snapshot-documents",
        "a list of documents names only contents that are there",
        asked(f"""
            SELECT e.tenant, e.family, 'the list of documents ' || e.documents
                || ' names what is not there: ' || e.sha256
            FROM ({_ENTRIES}) e LEFT JOIN blobs b ON (b.tenant, b.family, b.sha256) = (e.tenant, e.family, e.sha256)
            WHERE b.sha256 IS NULL
        """),
    ),
    Rule("snapshot-plans", "a plan that was kept can be read, numbered and counted", _plans),
    Rule(
        "blob-digest",
        "a blob's key is the SHA-256 of its data",
        asked("""
            SELECT tenant, family, 'blob ' || sha256 || ' is ' || encode(sha256(data), 'hex')
            FROM blobs WHERE sha256 <> encode(sha256(data), 'hex')
        """),
    ),
    Rule(
        "blob-orphans",
        "blobs that no snapshot, no document and no turn's context names go with their family",
        asked(f"""
            SELECT b.tenant, b.family, count(*) || ' blobs of ' || sum(octet_length(b.data)) || ' bytes are of no use'
            FROM blobs b
            LEFT JOIN (
                SELECT DISTINCT tenant, family, sha256 FROM ({_PARTS}) parts
                UNION SELECT tenant, family, sha256 FROM ({_ENTRIES}) entries
                UNION SELECT tenant, family, sha256 FROM ({_TOLD}) told
                UNION SELECT w.tenant, w.family, d.sha256 FROM documents d
                    JOIN workspaces w ON (w.tenant, w.session_id) = (d.tenant, d.session_id)
            ) u ON (u.tenant, u.family, u.sha256) = (b.tenant, b.family, b.sha256)
            WHERE u.sha256 IS NULL GROUP BY b.tenant, b.family
        """),
        information=True,
    ),
)
