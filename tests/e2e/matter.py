"""One matter of work as a client of the REST API sees it."""

from __future__ import annotations

import asyncio
import itertools
import uuid
from dataclasses import dataclass
from typing import Any

import httpx

Card = dict[str, Any]
WAIT_SECONDS = 60.0


@dataclass
class Matters:
    """Creates threads, waits for their states, decides on them."""

    client: httpx.AsyncClient

    async def create(self, title: str, description: str = "", **more: Any) -> Card:
        """POST /api/threads."""
        return await self._ok("/api/threads", {"title": title, "description": description, **more})

    async def card(self, thread_id: str) -> Card:
        """GET one."""
        answer = await self.client.get(f"/api/threads/{thread_id}")
        answer.raise_for_status()
        card: Card = answer.json()
        return card

    async def events(self, thread_id: str) -> list[dict[str, Any]]:
        """The whole log, over all pages."""
        events: list[dict[str, Any]] = []
        token = ""
        while True:
            answer = await self.client.get(
                f"/api/threads/{thread_id}/events", params={"page_token": token} if token else {}
            )
            answer.raise_for_status()
            page = answer.json()
            events += page["events"]
            token = page["next_page_token"]
            if not token:
                return events

    async def wait(self, thread_id: str, *states: str, seconds: float = WAIT_SECONDS) -> Card:
        """Waits until it is in one of the states."""
        card: Card = {}
        try:
            async with asyncio.timeout(seconds):
                while True:
                    card = await self.card(thread_id)
                    if card["state"] in states:
                        return card
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise AssertionError(f"{thread_id} is {card.get('state')}, not {states}: {card}") from None

    async def decide(self, thread_id: str, verb: str, body: dict[str, Any] | None = None) -> httpx.Response:
        """POST a decision, whatever it answers."""
        return await self.client.post(
            f"/api/threads/{thread_id}/{verb}", json=body or {}, headers={"Idempotency-Key": uuid.uuid4().hex}
        )

    async def approve(self, card: Card) -> httpx.Response:
        """Accepts the card's proposal, citing it."""
        return await self.decide(card["id"], "accept", cited(card))

    async def finished(self, title: str, description: str = "") -> Card:
        """A whole matter: create, approve, done."""
        created = await self.create(title, description)
        card = await self.wait(created["id"], "awaiting_confirmation")
        answer = await self.approve(card)
        assert answer.status_code == 200, answer.text
        return await self.wait(created["id"], "done")

    async def _ok(self, path: str, body: dict[str, Any]) -> Card:
        answer = await self.client.post(path, json=body, headers={"Idempotency-Key": uuid.uuid4().hex})
        assert answer.status_code == 200, answer.text
        card: Card = answer.json()
        return card


def cited(card: Card) -> dict[str, str]:
    """What a decision cites of the proposal that stands."""
    action = card["actions"][0]
    return {"proposal_id": action["proposal_id"], "proposal_digest": action["proposal_digest"]}


def transitions(events: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """(from, trigger, to) of each transition."""
    return [
        (event["data"]["from"], event["data"].get("trigger", ""), event["data"]["to"])
        for event in events
        if event["kind"] == "state_transition"
    ]


def assert_log_is_whole(events: list[dict[str, Any]], card: Card) -> None:
    """I3, I7 and the log's own promises: seq is dense, transitions chain, nothing follows a terminal state."""
    assert [int(event["seq"]) for event in events] == list(range(1, len(events) + 1))
    terminal = {"done", "dismissed", "handed_off", "done_cleanup_successful"}
    chain = transitions(events)
    for (_, _, before), (after, _, _) in itertools.pairwise(chain):
        assert before == after
        assert before not in terminal
    assert chain[-1][2] == card["state"]
    assert sum(trigger == "execute" for _, trigger, _ in chain) <= 1 + sum(
        trigger in ("redirected", "provided") for _, trigger, _ in chain
    )
