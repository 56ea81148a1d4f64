"""Which thread or session a person means: a whole id, a resource name, or the last digits that lists show."""

from __future__ import annotations

import re
from typing import Final

from services.cli.client import Client
from services.cli.exits import CommandFailed, Exit

_WHOLE: Final = re.compile(r"(?:threads/)?(thr_[0-9a-f]{32})")
_WHOLE_SESSION: Final = re.compile(r"(?:sessions/)?(ses_[0-9a-f]{32})")
_TAIL: Final = re.compile(r"[0-9a-f]{4,31}")
_LOOKED_AT: Final = 2_000
"""How many of the newest root threads, and of the inbox, are searched for a short id."""


async def thread_id(client: Client, given: str) -> str:
    """The whole id. Short ones are looked up among the newest threads; none or several is a failure."""
    text = given.strip()
    if match := _WHOLE.fullmatch(text):
        return match[1]
    tail = text.lower().removeprefix("thr_").removeprefix("…")
    if not _TAIL.fullmatch(tail):
        raise CommandFailed(
            Exit.USAGE, f"{given!r} is no thread id: give thr_… or the last digits that `treadle inbox` shows"
        )
    found: set[str] = set()
    for path in ("/api/inbox", "/api/threads"):
        async for card in client.pages(path, "threads", _LOOKED_AT):
            if card["id"].endswith(tail):
                found.add(card["id"])
    if len(found) > 1:
        raise CommandFailed(Exit.USAGE, f"{given!r} fits several threads: {', '.join(sorted(found))}")
    if not found:
        raise CommandFailed(Exit.NOT_FOUND, f"no thread among the newest ends in {given!r}")
    return found.pop()


async def session_id(client: Client, given: str) -> str:
    """The whole id. Short ones are looked up among the newest sessions; none or several is a failure."""
    text = given.strip()
    if match := _WHOLE_SESSION.fullmatch(text):
        return match[1]
    tail = text.lower().removeprefix("ses_").removeprefix("…")
    if not _TAIL.fullmatch(tail):
        raise CommandFailed(
            Exit.USAGE, f"{given!r} is no session id: give ses_… or the last digits that `treadle sessions list` shows"
        )
    cards = client.pages("/api/sessions", "sessions", _LOOKED_AT)
    found: set[str] = {card["id"] async for card in cards if card["id"].endswith(tail)}
    if len(found) > 1:
        raise CommandFailed(Exit.USAGE, f"{given!r} fits several sessions: {', '.join(sorted(found))}")
    if not found:
        raise CommandFailed(Exit.NOT_FOUND, f"no session among the newest ends in {given!r}")
    return found.pop()
