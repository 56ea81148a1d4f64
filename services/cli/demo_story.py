"""A small true story, told through the public API: six matters, each in another state, each by what really happened,
and a conversation with workers (demo_team.py).

Told twice it is the same story: a matter is known by its context item `demo:…`, every call has an Idempotency-Key, and
a step is taken only when no person has taken it (the thread's log says so).
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Any, Final

from services.cli import demo_team
from services.cli.client import Client, Json
from services.cli.exits import CommandFailed, Exit

_BUSY: Final = frozenset(
    {"proposed", "awaiting_inference", "inferring_intent", "inferring_context", "inferring_action", "executing"}
)
_SETTLE_SECONDS: Final = 60.0
_LOOK_SECONDS: Final = 0.05
_LOOKED_AT: Final = 2_000


@dataclass(frozen=True, slots=True)
class Step:
    """What a person does in the story: `verb` is the REST call; `cite` the standing proposal with it."""

    verb: str
    body: Json
    cite: bool = True


@dataclass(frozen=True, slots=True)
class Matter:
    """One thread of the story. `hint`: a directive for the scripted provider, kept out of the title."""

    slug: str
    title: str
    description: str
    steps: tuple[Step, ...] = ()
    hint: str = ""


STORY: Final = (
    Matter(
        "opening-hours",
        "Append the new opening hours to hours.md",
        "Monday to Friday 9–17\nSaturday 10–14",
    ),
    Matter(
        "warp-decision",
        "Note the decision about the next warp in decisions.md",
        "The next warp is linen: it keeps its length when it is washed.",
        (Step("accept", {}),),
    ),
    Matter(
        "workshop-room",
        "Book a room for the autumn workshop",
        "Two days, with space for six looms.",
        hint="[[clarify: Which weekend in October, and who pays for the room?]]",
    ),
    Matter(
        "cleaning-rota",
        "Tell everybody that the cleaning rota has changed",
        "From Monday on the kitchen is cleaned on Tuesdays and Fridays.",
        (Step("redirect_action", {"feedback": "Nobody reads the task list. Append it to rota.md instead."}),),
    ),
    Matter(
        "newsletter",
        "Unsubscribe from the thread supplier's newsletter",
        "It comes twice a week.",
        (Step("dismiss", {"reason": "We still want the price lists."}),),
    ),
    Matter(
        "delivery-date",
        "Check https://example.com/ for the delivery date",
        "Outside hosts are not allowed by default (TREADLE_HTTP_ALLOW), so the action fails and asks what to do.",
        (Step("accept", {}),),
    ),
)


async def fill(
    url: str | None = None, token: str | None = None, *, settle_seconds: float = _SETTLE_SECONDS
) -> list[Json]:
    """Tells the story; answers its cards as they stand. CommandFailed when nothing answers, or when no runner has
    settled a matter within `settle_seconds`."""
    async with Client(url, token) as client:
        known = await _known(client)
        # All are opened before the first is waited for, so that they appear together.
        ids = [known.get(_mark(matter)) or await _open(client, matter) for matter in STORY]
        cards = [await _play(client, matter, found, settle_seconds) for matter, found in zip(STORY, ids, strict=True)]
        await demo_team.tell(client, settle_seconds)
        return cards


async def fill_if_empty(url: str | None = None, token: str | None = None) -> bool:
    """Tells the story where there is no thread at all; answers whether it did."""
    async with Client(url, token) as client:
        if (await client.get("/api/threads", page_size=1)).get("threads"):
            return False
    await fill(url, token)
    return True


async def _known(client: Client) -> dict[str, str]:
    """Context item id → thread id, of the matters that were told before."""
    return {
        item["id"]: card["id"]
        async for card in client.pages("/api/threads", "threads", _LOOKED_AT)
        for item in card.get("context_items") or []
        if item.get("source") == "demo"
    }


async def _open(client: Client, matter: Matter) -> str:
    item: dict[str, Any] = {"id": _mark(matter), "source": "demo", "type": "note", "label": "From the demo story"}
    if matter.hint:
        item |= {"label": "A hint for the scripted provider", "payload": {"text": matter.hint}}
    body = {"title": matter.title, "description": matter.description, "context_items": [item]}
    card = await client.post("/api/threads", body, key=f"demo-1-{matter.slug}")
    return str(card["id"])


async def _play(client: Client, matter: Matter, thread: str, patience: float) -> Json:
    card = await _settled(client, thread, patience)
    taken = await _decisions(client, thread)
    for number, step in enumerate(matter.steps[taken:], start=taken):
        body = {**step.body, **(_citation(card) if step.cite else {})}
        try:
            await client.post(f"/api/threads/{thread}/{step.verb}", body, key=f"demo-1-{matter.slug}-{number}")
        except CommandFailed as failed:
            # Somebody was faster: then the story goes on as they wanted.
            if failed.exit is not Exit.REFUSED:
                raise
        card = await _settled(client, thread, patience)
    return card


async def _settled(client: Client, thread: str, patience: float) -> Json:
    """The card, once it is a person's turn or the thread has ended."""
    give_up_at = time.monotonic() + patience
    while (card := await client.get(f"/api/threads/{thread}"))["state"] in _BUSY:
        if time.monotonic() > give_up_at:
            raise CommandFailed(
                Exit.UNAVAILABLE,
                f"{card['title']!r} is still {card['state']} after {patience:g} s: is a runner at work? "
                "Ask `treadle doctor`.",
            )
        await asyncio.sleep(_LOOK_SECONDS)
    return card


async def _decisions(client: Client, thread: str) -> int:
    """How many decisions are in the thread's log (design/threads.md §0.3)."""
    log = client.pages(f"/api/threads/{thread}/events", "events")
    return sum([1 async for event in log if (event.get("data") or {}).get("decision") is not None])


def _citation(card: Json) -> Json:
    return {
        key: action[key]
        for action in (card.get("actions") or [])[:1]
        for key in ("proposal_id", "proposal_digest")
        if action.get(key)
    }


def _mark(matter: Matter) -> str:
    return f"demo:{matter.slug}"
