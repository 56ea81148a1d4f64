"""The databases of a house in which one conversation took two turns, was branched, and spawned a worker; as rows."""

from __future__ import annotations

from collections.abc import Mapping

from services.kernel.postgres import Database

_SESSION = """
    INSERT INTO sessions (tenant, id, state, title, adapter, provider, model, thinking, turn_id, turn_number, outcome,
        forked_from, fork_turn, forking, created_at, updated_at)
    VALUES ('default', $1, 'idle', '', 'scripted', '', '', 'medium', $2, $3, $4, $5, $6, $7, now(), now())
"""
_TURN = """
    INSERT INTO turns (tenant, session_id, id, state, text, asked_by, outcome, after_seq, created_at, ended_at, number,
        origin_turn_id)
    VALUES ('default', $1, $2, 'idle', 'x', 'user:ann', 'aborted', 0, now(), now(), $3, $4)
"""
_WORKSPACE = """
    INSERT INTO workspaces (tenant, session_id, family, making, turn, turn_id, parent_id, fork_turn, created_at,
        updated_at)
    VALUES ('default', $1, 'ses_a', $2, $3, $4, $5, $6, now(), now())
"""
_STRETCH = "INSERT INTO stretches VALUES ('default', $1, $2, $3, $4, 'ses_a')"
_OPEN_END = 2**31 - 1


async def furnish(databases: Mapping[str, Database]) -> None:
    """Writes the rows."""
    await _streaming(databases["streaming"])
    await _planning(databases["planning"])
    await _coordination(databases["coordination"])


async def _streaming(database: Database) -> None:
    async with database.transaction() as tx:
        await tx.raw.execute(_SESSION, "ses_a", "trn_2", 2, "aborted", "", 0, False)
        await tx.raw.execute(_SESSION, "ses_b", "trn_b1", 1, "aborted", "ses_a", 1, False)
        await tx.raw.execute(_SESSION, "ses_c", "trn_c1", 1, "aborted", "ses_a", 1, True)
        await tx.raw.execute(_SESSION, "ses_w", "", 0, "", "", 0, False)
        for session, turn, number, origin in (
            ("ses_a", "trn_1", 1, ""),
            ("ses_a", "trn_2", 2, ""),
            ("ses_b", "trn_b1", 1, "trn_1"),
            ("ses_c", "trn_c1", 1, "trn_1"),
        ):
            await tx.raw.execute(_TURN, session, turn, number, origin)
            await tx.raw.execute(
                "INSERT INTO messages VALUES ('default', $1, $2, $3, 'user', 'x', false, now())", session, number, turn
            )


async def _planning(database: Database) -> None:
    async with database.transaction() as tx:
        await tx.raw.execute("INSERT INTO families VALUES ('default', 'ses_a')")
        for number, turn in ((1, "trn_1"), (2, "trn_2")):
            await tx.raw.execute(
                """INSERT INTO turns (tenant, line, number, turn_id, family, running, outcome, kept, begun_at, ended_at)
                VALUES ('default', 'ses_a', $1, $2, 'ses_a', false, 'aborted', false, now(), now())""",
                number,
                turn,
            )
        await tx.raw.execute(_WORKSPACE, "ses_a", "ready", 2, "trn_2", "", 0)
        await tx.raw.execute(_STRETCH, "ses_a", "ses_a", 0, _OPEN_END)
        for branch, making, state in (("ses_b", "ready", "ready"), ("ses_c", "opening", "opening")):
            await tx.raw.execute(_WORKSPACE, branch, making, 1, "trn_1", "ses_a", 1)
            await tx.raw.execute(_STRETCH, branch, "ses_a", 0, 1)
            await tx.raw.execute(_STRETCH, branch, branch, 1, _OPEN_END)
            await tx.raw.execute(
                """INSERT INTO branches (tenant, session_id, origin_id, turn, origin_turn_id, state, title, asked_by,
                    due_at, created_at)
                VALUES ('default', $1, 'ses_a', 1, 'trn_1', $2, '', 'user:ann', now(), now())""",
                branch,
                state,
            )


async def _coordination(database: Database) -> None:
    async with database.transaction() as tx:
        await tx.raw.execute(
            """INSERT INTO coordinators (tenant, session_id, enabled, created_at, updated_at)
            VALUES ('default', 'ses_a', true, now(), now())"""
        )
        await tx.raw.execute(
            """INSERT INTO workers (tenant, id, coordinator_id, name, kind, status, reason, brief, session_id,
                spawned_by, said, launches, created_at, updated_at, ended_at)
            VALUES ('default', 'wrk_1', 'ses_a', 'alpha', 'subagent', 'failed', 'failed', 'b', 'ses_w', 'x', true, 1,
                now(), now(), now())"""
        )
