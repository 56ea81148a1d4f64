"""The commands that look: inbox, threads list, show, why."""

from __future__ import annotations

from rich.text import Text

from services.cli import cards, output
from services.cli.client import Client
from services.cli.finding import thread_id
from services.cli.plain import plain


async def inbox(url: str | None, limit: int, as_json: bool) -> None:
    """What waits for a person, oldest first."""
    async with Client(url) as client:
        found = [card async for card in client.pages("/api/inbox", "threads", limit)]
        total = int((await client.get("/api/inbox", page_size=1)).get("total_size", len(found)))
    if as_json:
        output.as_json({"threads": found, "total_size": total})
        return
    out = output.console()
    if not found:
        out.print("Nothing waits for you.")
        return
    out.print(cards.inbox(found))
    more = f", the oldest {len(found)} are shown" if total > len(found) else ""
    out.print(f"\n{total} waiting{more}. Look at one with `treadle threads show ID`.", style="dim")


async def listing(url: str | None, states: list[str], parent: str | None, limit: int, as_json: bool) -> None:
    """Threads, newest first."""
    async with Client(url) as client:
        parent_id = await thread_id(client, parent) if parent else None
        query = {"state": states, "parent_id": parent_id}
        found = [card async for card in client.pages("/api/threads", "threads", limit, **query)]
    if as_json:
        output.as_json({"threads": found})
    elif found:
        output.console().print(cards.listing(found))
    else:
        output.console().print("There are no such threads." if states or parent else "There are no threads yet.")


async def show(url: str | None, given: str, with_events: bool, as_json: bool) -> None:
    """One card, and its log if asked for."""
    async with Client(url) as client:
        found = await thread_id(client, given)
        card = await client.get(f"/api/threads/{found}")
        log = [e async for e in client.pages(f"/api/threads/{found}/events", "events")] if with_events else []
    if as_json:
        output.as_json({**card, "events": log} if with_events else card)
        return
    out = output.console()
    out.print(cards.whole(card))
    if log:
        out.print()
        out.print(cards.events(log))


async def why(url: str | None, given: str, as_json: bool) -> None:
    """What a thread waits for, on whom, since when, and what would move it."""
    async with Client(url) as client:
        found = await thread_id(client, given)
        answer = await client.get(f"/api/threads/{found}/explain")
    if as_json:
        output.as_json(answer)
        return
    out = output.console()
    out.print(plain(answer.get("summary", "")))
    waits = answer.get("waits_on", "nothing")
    if waits != "nothing":
        out.print(
            Text.assemble(("waits on ", "dim"), plain(waits), (f" for {output.age(answer.get('since_time'))}", "dim"))
        )
    if answer.get("timer_time"):
        out.print(f"a timer moves it in {output.until(answer['timer_time'])}", style="dim")
    if moves := answer.get("moves"):
        out.print(Text.assemble(("would move it: ", "dim"), plain(", ".join(moves))))
