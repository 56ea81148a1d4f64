"""The commands that change something: new, approve, redirect, dismiss, answer. Each cites what was looked at."""

from __future__ import annotations

import sys
from typing import Any

import orjson
import typer

from services.cli import cards, output
from services.cli.client import Client, Json
from services.cli.exits import CommandFailed, Exit
from services.cli.finding import thread_id
from services.cli.plain import plain


async def new(url: str | None, title: str, description: str, autonomy: str | None, as_json: bool) -> None:
    """Opens a thread."""
    body: Json = {"title": title}
    if description:
        body["description"] = description
    if autonomy:
        body["autonomy"] = value_of(autonomy)
    async with Client(url) as client:
        card = await client.post("/api/threads", body)
    if as_json:
        output.as_json(card)
    else:
        output.console().print(plain(f"{card['id']}  {card['state']}"))


async def approve(
    url: str | None, given: str, proposal: str | None, digest: str | None, changes: list[str], yes: bool, as_json: bool
) -> None:
    """Says yes to exactly the proposal that was shown (or cited): if another one stands by then, it is refused."""
    async with Client(url) as client:
        card = await _card(client, given)
        action = cards.proposal(card)
        _ask(card, "Approve this?", yes or as_json)
        body = _cited(action, proposal, digest)
        if changes:
            if action is None:
                raise CommandFailed(Exit.REFUSED, "there is no proposal whose parameters could be set")
            body["action_overrides"] = {action["id"]: dict(map(_pair, changes))}
        _tell(await client.post(f"/api/threads/{card['id']}/accept", body), as_json)


async def redirect(
    url: str | None, given: str, feedback: str, params: list[str], target: str | None, as_json: bool
) -> None:
    """Sends the proposal back with feedback; at intent and context the same guess is made again."""
    async with Client(url) as client:
        card = await _card(client, given)
        body = {"feedback": feedback, **_cited(cards.proposal(card), None, None)}
        guess = card["state"] in ("awaiting_intent_confirmation", "awaiting_context_confirmation")
        if guess and (params or target):
            raise CommandFailed(Exit.REFUSED, f"no action is proposed yet (state {card['state']}): give feedback only")
        if params:
            body["params"] = dict(map(_pair, params))
        if target:
            body["target_action"] = target
        verb = "redirect" if guess else "redirect_action"
        _tell(await client.post(f"/api/threads/{card['id']}/{verb}", body), as_json)


async def dismiss(url: str | None, given: str, reason: str, yes: bool, as_json: bool) -> None:
    """Closes the thread without doing anything."""
    async with Client(url) as client:
        card = await _card(client, given)
        _ask(card, "Dismiss this?", yes or as_json)
        body = _cited(cards.proposal(card), None, None) | ({"reason": reason} if reason else {})
        _tell(await client.post(f"/api/threads/{card['id']}/dismiss", body), as_json)


async def answer(url: str | None, given: str, text: str, as_json: bool) -> None:
    """Answers what the thread asks."""
    async with Client(url) as client:
        found = await thread_id(client, given)
        _tell(await client.post(f"/api/threads/{found}/provide", {"text": text}), as_json)


async def _card(client: Client, given: str) -> Json:
    return await client.get(f"/api/threads/{await thread_id(client, given)}")


def _cited(action: Json | None, proposal: str | None, digest: str | None) -> Json:
    """The proposal that the decision is about: the one that was named, else the one on the card."""
    shown = action or {}
    cited = {
        "proposal_id": proposal or shown.get("proposal_id"),
        "proposal_digest": digest or shown.get("proposal_digest"),
    }
    return {key: value for key, value in cited.items() if value}


def _ask(card: Json, sentence: str, sure: bool) -> None:
    """A person at a terminal sees the card and confirms; a script has decided already."""
    if sure or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return
    output.console().print(cards.whole(card))
    if not typer.confirm(sentence):
        raise CommandFailed(Exit.REFUSED, "nothing was done")


def _tell(decision: Json, as_json: bool) -> None:
    if as_json:
        output.as_json(decision)
    else:
        output.console().print(plain(f"{decision.get('prev_state') or '-'} → {decision.get('next_state') or '-'}"))


def _pair(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise CommandFailed(Exit.USAGE, f"{text!r} is not NAME=VALUE")
    return name, value_of(value)


def value_of(text: str) -> Any:
    """JSON where it is JSON, else the text itself: `3`, `true`, `{"a": 1}`, `plain words`."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
