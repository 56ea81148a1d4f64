"""The command `sessions tail`: a session's stream on a terminal, thinking and answer told apart; JSON for scripts."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any, Final

from rich.console import Console

from services.cli import output
from services.cli.client import Client
from services.cli.exits import CommandFailed, Exit
from services.cli.feed import Feed, FeedEvent
from services.cli.finding import session_id
from services.cli.plain import one_line, plain

_SETTLED: Final = frozenset({"idle", "failed"})


async def tail(
    url: str | None, given: str, since: str, until_settled: bool, timeout: float | None, as_json: bool
) -> Exit:
    """Until Ctrl-C, or the session is deleted; with `until_settled`, until no turn is under way."""
    async with Client(url) as client:
        session = await session_id(client, given)
        shown = _Shown(as_json)
        feed = Feed(client, f"/api/sessions/{session}/stream", since)
        try:
            async with asyncio.timeout(timeout), aclosing(feed.events()) as events:
                async for event in events:
                    shown.show(event)
                    if event.name == "deleted":
                        return Exit.OK
                    if until_settled and _settles(event) and await _is_newest(client, session, event):
                        return shown.verdict
        except TimeoutError:
            raise CommandFailed(Exit.UNAVAILABLE, f"not within {timeout} s") from None
        finally:
            shown.end(session)
    return Exit.OK


async def follow_turn(client: Client, session: str, start: Callable[[], Awaitable[str]], as_json: bool) -> Exit:
    """Starts a turn and shows that turn to its end: 0 when it ends well, 1 when it fails."""
    shown = _Shown(as_json)
    turn = await start()
    ours = False
    try:
        async with aclosing(Feed(client, f"/api/sessions/{session}/stream").events()) as events:
            async for event in events:
                ours = ours or event.data.get("turn_id") == turn
                if ours or event.name in ("connected", "disconnected"):
                    shown.show(event)
                if ours and _settles(event):
                    return shown.verdict
    finally:
        shown.end(session)
    return Exit.OK


def _settles(event: FeedEvent) -> bool:
    return event.name == "turn" and event.data.get("state") in _SETTLED


async def _is_newest(client: Client, session: str, event: FeedEvent) -> bool:
    """The stream may hold older turns: which one is the newest, the session says."""
    newest = (await client.get(f"/api/sessions/{session}")).get("turn_id", "")
    return bool(event.data.get("turn_id", "") == newest)


class _Shown:
    """What was shown so far: deltas of one block go on on their line."""

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json
        self._out = output.console()
        self._notes = Console(stderr=True, highlight=False, soft_wrap=True)
        self._open: tuple[str, Any] | None = None
        self._cursor = ""
        self.verdict = Exit.OK

    def show(self, event: FeedEvent) -> None:
        """One event."""
        self._cursor = event.id or self._cursor
        if event.name == "turn":
            self.verdict = Exit.REFUSED if event.data.get("state") == "failed" else Exit.OK
        if event.name in ("connected", "disconnected"):
            self._break()
            self._notes.print("… back" if event.name == "connected" else "connection lost: coming back …", style="dim")
        elif self._as_json:
            output.json_line({"id": event.id, "event": event.name, **event.data})
        elif event.name in ("text_delta", "activity_delta"):
            self._piece(event)
        else:
            self._break()
            self._out.print(
                plain(_line(event)), style="dim" if event.name in ("status", "turn") else "", soft_wrap=True
            )

    def end(self, session: str) -> None:
        """How to go on from here."""
        self._break()
        if self._cursor and not self._as_json:
            self._notes.print(f"go on: treadle sessions tail {session} --since {self._cursor}", style="dim")

    def _piece(self, event: FeedEvent) -> None:
        block = (event.name, event.data.get("block"))
        if self._open != block:
            self._break()
            self._open = block
        style = "dim italic" if event.name == "activity_delta" else ""
        self._out.print(plain(event.data.get("delta", "")), style=style, end="", soft_wrap=True)
        sys.stdout.flush()

    def _break(self) -> None:
        if self._open is not None:
            self._open = None
            self._out.print()


def _line(event: FeedEvent) -> str:
    data = event.data
    match event.name:
        case "turn":
            ended = data.get("outcome") or data.get("code")
            return f"— {data.get('state')}{f' ({ended})' if ended else ''}"
        case "prompt":
            return f"> {one_line(data.get('text', ''), 400).plain}"
        case "tool":
            return f"* {data.get('name')} {data.get('status')}"
        case "gate":
            return f"? {data.get('kind')} {data.get('state')} {data.get('gate_id', '')} {_asked(data.get('proposal'))}"
        case "worker_result":
            reason = data.get("reason")
            why = f" ({reason})" if reason not in ("", "completed", data.get("status")) else ""
            late = ", late" if data.get("late") else ""
            return f"+ worker {data.get('name')} {data.get('status')}{why}{late}"
        case "text_reset":
            return "~ what was answered so far in this block is void"
        case "reset":
            return f"~ what follows starts anew ({data.get('reason')})"
        case "status":
            return f"· {data.get('text') or data.get('code')}"
        case name:
            return f"· {name}"


def _asked(proposal: Any) -> str:
    if not isinstance(proposal, dict):
        return ""
    asked = proposal.get("question") or proposal.get("title") or proposal.get("summary") or ""
    options = [o.get("id") if isinstance(o, dict) else o for o in proposal.get("options") or []]
    joins = [f"{j.get('left')} {j.get('type')} {j.get('right')}" for j in proposal.get("joins") or []]
    return one_line(" ".join(map(str, [asked, *(f"[{choice}]" for choice in [*options, *joins])])), 200).plain
