"""Families as another person makes them: over REST, beside the browser under test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.browser.matters import Matters

Child = dict[str, Any]


def appending(title: str, path: str, text: str = "x") -> Child:
    """A child whose action waits for approval."""
    return {"title": title, "action": {"capability_name": "file_append", "parameters": {"path": path, "text": text}}}


def calling(title: str, url: str) -> Child:
    """A child that would call that address. Addresses outside of the loopback are refused when it is executed."""
    return {"title": title, "action": {"capability_name": "http_request", "parameters": {"url": url}}}


def holding(title: str, *labels: str, **more: Any) -> Child:
    """A group with these items; their ids are their labels."""
    items = [{"id": label, "source": "tab", "type": "tab", "label": label} for label in labels]
    return {**asking(title), "context_items": items, **more}


def asking(title: str) -> Child:
    """A child that asks what to do."""
    return {"title": title, "state": "awaiting_action_clarification", "question": "What should be done?"}


@dataclass(frozen=True)
class Families:
    """The REST side of a test with families."""

    matters: Matters

    async def create(self, relationship: str, title: str, *children: Child) -> tuple[str, list[str]]:
        """The umbrella's id and its children's, in order."""
        body = {"relationship": relationship, "title": title, "children": list(children)}
        answer = await self.matters.http.post("/api/families", json=body)
        assert answer.status_code == 200, answer.text
        umbrella = str(answer.json()["id"])
        return umbrella, await self.children(umbrella)

    async def decompose(self, thread_id: str, *children: Child) -> list[str]:
        """Breaks a thread down; its children's ids."""
        answer = await self.matters.decide(thread_id, "decompose", children=list(children))
        assert answer.status_code == 200, answer.text
        return await self.children(thread_id)

    async def children(self, thread_id: str) -> list[str]:
        """Ids of the direct children, in spawn order."""
        answer = await self.matters.http.get(f"/api/threads/{thread_id}/sub", params={"page_size": 200})
        assert answer.status_code == 200, answer.text
        return [str(thread["id"]) for thread in answer.json()["threads"]]

    async def items(self, thread_id: str) -> list[str]:
        """Labels of a group's items, as the service has them."""
        return [item["label"] for item in (await self.matters.card(thread_id)).get("context_items", [])]

    async def approve(self, thread_id: str) -> None:
        """Somebody else approves what stands."""
        [action] = (await self.matters.card(thread_id))["actions"]
        cited = {key: action[key] for key in ("proposal_id", "proposal_digest")}
        answer = await self.matters.decide(thread_id, "accept", **cited)
        assert answer.status_code == 200, answer.text
