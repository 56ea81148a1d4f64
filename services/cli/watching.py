"""The command `threads watch`: a live tail of one thread's family, or of everything."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any, Final

from rich.console import Console
from rich.text import Text

from services.cli import output
from services.cli.cards import short_id, state_text
from services.cli.client import Client
from services.cli.exits import CommandFailed, Exit
from services.cli.feed import Feed, FeedEvent
from services.cli.finding import thread_id
from services.cli.plain import one_line, plain

TERMINAL: Final = frozenset({"done", "dismissed", "handed_off", "done_cleanup_successful"})


async def watch(
    url: str | None,
    given: str | None,
    until: str | None,
    since: str,
    everything: bool,
    timeout: float | None,
    as_json: bool,
) -> Exit:
    """Until Ctrl-C; with `until`, until the thread is in that state (exit 0) or has ended in another one (exit 1)."""
    if until and not given:
        raise CommandFailed(Exit.USAGE, "--until needs a thread")
    async with Client(url) as client:
        found = await thread_id(client, given) if given else None
        path = f"/api/threads/{found}/stream" if found else "/api/stream"
        tail = _Tail(client, Feed(client, path, since), found, until, as_json)
        # A thread's history is short and wanted; the whole tenant's is not, unless a cursor or --all says so.
        tail.live_only = found is None and not everything and not since
        try:
            async with asyncio.timeout(timeout):
                return await tail.follow()
        except TimeoutError:
            raise CommandFailed(Exit.UNAVAILABLE, f"not within {timeout} s") from None


class _Tail:
    def __init__(self, client: Client, feed: Feed, thread: str | None, until: str | None, as_json: bool) -> None:
        self._client = client
        self._feed = feed
        self._thread = thread
        self._until = until
        self._as_json = as_json
        self._out = output.console()
        self._notes = Console(stderr=True, highlight=False, soft_wrap=True)
        self.live_only = False

    async def follow(self) -> Exit:
        if (verdict := await self._verdict()) is not None:
            return verdict
        async for event in self._feed.events():
            if event.name == "thread":
                self._show(event)
                if self._may_decide(event) and (verdict := await self._verdict()) is not None:
                    return verdict
            elif event.name == "disconnected":
                self._notes.print(plain(f"connection lost ({event.data['reason']}): coming back …"), style="dim")
            elif event.name == "connected":
                self._notes.print("… back", style="dim")
            elif event.name == "reset":
                self._notes.print(plain(f"what follows starts anew ({event.data.get('reason')})"), style="yellow")
        return Exit.OK

    def _show(self, event: FeedEvent) -> None:
        if self.live_only and self._is_old(event):
            return
        if self._as_json:
            output.json_line({"id": event.id, "event": event.name, **event.data})
        else:
            self._out.print(_line(event.data), no_wrap=True, overflow="ignore", crop=False)

    def _is_old(self, event: FeedEvent) -> bool:
        time = event.data.get("time")
        opened_at = self._feed.opened_at
        return bool(time and opened_at and datetime.fromisoformat(time) < opened_at)

    def _may_decide(self, event: FeedEvent) -> bool:
        to = event.data.get("to")
        return self._until is not None and event.data.get("thread_id") == self._thread and bool(to)

    async def _verdict(self) -> Exit | None:
        """Whether the thread is where it was waited for, now: an event may be history."""
        if self._until is None:
            return None
        state = (await self._client.get(f"/api/threads/{self._thread}"))["state"]
        if state == self._until:
            return Exit.OK
        if state in TERMINAL:
            raise CommandFailed(Exit.REFUSED, f"the thread has ended as {state}")
        return None


def _line(data: dict[str, Any]) -> Text:
    """`14:02:11  a1b2c3d4  awaiting_confirmation → executing (execute)  user:local`."""
    clock = datetime.fromisoformat(data["time"]).astimezone().strftime("%H:%M:%S") if data.get("time") else "--:--:--"
    what = plain(data.get("kind", ""))
    if data.get("to"):
        trigger = f"({data['trigger']})" if data.get("trigger") else ""
        what = Text.assemble(
            plain(data.get("from") or "-"), " → ", state_text(data["to"]), " ", (one_line(trigger).plain, "dim")
        )
    return Text.assemble(
        (clock, "dim"),
        "  ",
        plain(short_id(data.get("thread_id", ""))),
        "  ",
        what,
        "  ",
        (plain(data.get("actor", "").rstrip(":")).plain, "dim"),
    )
