"""A thread's card, as a person reads it on a terminal."""

from __future__ import annotations

from typing import Any, Final

import orjson
from rich.console import Group, RenderableType
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from services.cli.output import age, table
from services.cli.plain import one_line, plain

Json = dict[str, Any]
STYLES: Final = {
    "done": "green",
    "done_cleanup_successful": "green",
    "dismissed": "dim",
    "handed_off": "dim",
    "executing": "cyan",
    "awaiting_redirect": "red",
    "done_cleanup_unsuccessful": "red",
}


_NEEDS: Final = {
    "awaiting_confirmation": "approve",
    "awaiting_intent_confirmation": "confirm",
    "awaiting_context_confirmation": "confirm",
    "awaiting_intent_clarification": "answer",
    "awaiting_context_clarification": "answer",
    "awaiting_action_clarification": "answer",
    "awaiting_review": "review",
    "awaiting_redirect": "redirect",
    "done_cleanup_unsuccessful": "clean up",
}


def short_id(thread_id: str) -> str:
    """The last eight digits: where ids differ (their front is the time). Commands take it in place of the whole id."""
    return thread_id[-8:]


def state_text(state: str) -> Text:
    """The state in its colour: yellow for what waits for a person."""
    style = STYLES.get(state, "yellow" if state.startswith("awaiting_") and state != "awaiting_inference" else "")
    return Text(state, style=style)


def needed(state: str) -> Text:
    """What a waiting thread needs from a person, in a word."""
    return Text(_NEEDS.get(state, state), style=state_text(state).style)


def listing(cards: list[Json]) -> Table:
    """One line a thread."""
    rows = ((plain(short_id(c["id"])), state_text(c["state"]), title(c), age(c.get("update_time"))) for c in cards)
    return table(["id", "state", "title", "age"], rows, flexible=["title"])


def inbox(cards: list[Json]) -> Table:
    """One line a thread: what it is about, and what a person is asked."""
    rows = (
        (plain(short_id(c["id"])), needed(c["state"]), title(c), question(c), age(c.get("update_time"))) for c in cards
    )
    return table(["id", "to do", "title", "what", "age"], rows, flexible=["title", "what"])


def title(card: Json) -> Text:
    """The title on one line."""
    return one_line(card.get("title") or "(no title)", 60)


def question(card: Json) -> Text:
    """What a person is asked: to approve a plan, to answer, to look at a failure."""
    action = proposal(card)
    failed = card.get("failure_context") or {}
    if failed.get("code"):
        return one_line(f"{failed.get('action') or 'it'} failed: {failed['code']}")
    if card.get("question"):
        return one_line(card["question"])
    if action:
        return one_line(action.get("plan_summary") or action.get("name"))
    return one_line((card.get("intent") or {}).get("text") or "")


def proposal(card: Json) -> Json | None:
    """The proposal that stands, if one does."""
    actions = card.get("actions") or []
    return actions[0] if actions else None


def whole(card: Json) -> RenderableType:
    """Everything that matters of one card."""
    rows = Table.grid(padding=(0, 2))
    rows.add_column(style="dim", no_wrap=True)
    rows.add_column(overflow="fold")
    for label, value in _facts(card):
        if value:
            rows.add_row(label, value if isinstance(value, Text) else plain(value))
    parts: list[RenderableType] = [Text.assemble(plain(card.get("title", "")), style="bold"), rows]
    if (action := proposal(card)) is not None:
        parts += [Rule(style="dim"), _action(action)]
    return Group(*parts)


def events(entries: list[Json]) -> Table:
    """A thread's log."""
    rows = (
        (
            str(entry.get("seq", "")),
            plain(entry.get("event_time", "")[:19].replace("T", " ")),
            plain(entry.get("kind", "")),
            _moved(entry.get("data") or {}),
            plain(_actor(entry.get("actor") or {})),
        )
        for entry in entries
    )
    return table(["seq", "time", "kind", "what", "who"], rows, flexible=["what"])


def _facts(card: Json) -> list[tuple[str, str | Text | None]]:
    failed, items = card.get("failure_context") or {}, card.get("context_items") or []
    return [
        ("id", card.get("id")),
        ("state", state_text(card.get("state", ""))),
        ("description", card.get("description")),
        ("intent", (card.get("intent") or {}).get("text")),
        ("context", (card.get("context") or {}).get("text")),
        ("came with", "\n".join(str(item.get("label") or item.get("id")) for item in items)),
        ("asks", card.get("question")),
        ("failed", f"{failed.get('action') or ''} {failed['code']}".strip() if failed.get("code") else None),
        ("hidden until", card.get("resurface_at")),
        ("opened", f"{age(card.get('create_time'))} ago"),
        ("changed", f"{age(card.get('update_time'))} ago"),
    ]


def _action(action: Json) -> RenderableType:
    rows = Table.grid(padding=(0, 2))
    rows.add_column(style="dim", no_wrap=True)
    rows.add_column(overflow="fold")
    confidence = action.get("confidence")
    risk = action.get("irreversibility")
    for label, value in [
        ("proposal", action.get("name")),
        ("would", action.get("plan_summary")),
        ("with", orjson.dumps(action.get("parameters") or {}, option=orjson.OPT_INDENT_2).decode()),
        ("because", action.get("rationale")),
        ("risk", risk),
        ("confidence", None if confidence is None else f"{confidence:.0%} ({action.get('model_used') or '?'})"),
    ]:
        if value:
            rows.add_row(label, plain(value))
    return rows


def _moved(data: Json) -> Text:
    if data.get("to"):
        trigger = data.get("trigger") or data.get("reason") or ""
        return one_line(f"{data.get('from') or '-'} → {data['to']}" + (f" ({trigger})" if trigger else ""))
    said = data.get("feedback") or data.get("text") or data.get("reason") or data.get("code") or ""
    payload = data.get("payload") or {}
    return one_line(said or payload.get("plan_summary") or payload.get("intent") or payload.get("context") or "")


def _actor(actor: Json) -> str:
    return ":".join(part for part in (actor.get("kind", ""), actor.get("subject", "")) if part)
