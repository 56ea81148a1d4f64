"""The part of the demo story that is a conversation: a coordinator whose three workers have delivered, and its plan.

It is known by its title: told twice it is one session, and a step that was taken is not taken again.
"""

from __future__ import annotations

import asyncio
import time
from typing import Final

from services.cli.client import Client, Json
from services.cli.exits import CommandFailed, Exit

TITLE: Final = "Compare three table looms"
_KEY: Final = "demo-1-looms"
_OBJECTIVE: Final = "Choose the table loom that the workshop buys"
_STEPS: Final = ("Compare the three that fit the room", "Ask two weavers who have one", "Order it")
_PROMPT: Final = """Compare the Glimåkra, the Louet and the Ashford for us, in parallel:
- prices
- delivery times
- weaving widths"""
_LOOKED_AT: Final = 2_000
_LOOK_SECONDS: Final = 0.1
_BUSY: Final = frozenset({"running", "waiting"})


async def tell(client: Client, patience: float) -> Json:
    """The session as it stands when its turn is over. CommandFailed when no runner ends it within `patience`."""
    session = await _known(client) or await _open(client)
    if session.get("turn_id"):
        return session
    path = f"/api/sessions/{session['id']}"
    await client.post("/api/coordination/flag", {"session_id": session["id"], "enabled": True}, key=f"{_KEY}-flag")
    await client.put(f"{path}/objective", {"text": _OBJECTIVE}, key=f"{_KEY}-objective")
    await client.post(f"{path}/plan/add", {"items": list(_STEPS)}, key=f"{_KEY}-steps")
    await client.post(f"{path}/prompt", {"text": _PROMPT}, key=f"{_KEY}-prompt")
    session = await _settled(client, path, patience)
    await client.post(f"{path}/plan/toggle", {"indices": [1], "done": True}, key=f"{_KEY}-done")
    return session


async def _known(client: Client) -> Json | None:
    sessions = client.pages("/api/sessions", "sessions", _LOOKED_AT)
    return next(iter([session async for session in sessions if session["title"] == TITLE]), None)


async def _open(client: Client) -> Json:
    return await client.post("/api/sessions", {"adapter": "scripted", "title": TITLE}, key=_KEY)


async def _settled(client: Client, path: str, patience: float) -> Json:
    give_up_at = time.monotonic() + patience
    while (session := await client.get(path))["state"] in _BUSY:
        if time.monotonic() > give_up_at:
            told = f"{TITLE!r} is still {session['state']} after {patience:g} s: is a runner at work? "
            raise CommandFailed(Exit.UNAVAILABLE, f"{told}Ask `treadle doctor`.")
        await asyncio.sleep(_LOOK_SECONDS)
    return session
