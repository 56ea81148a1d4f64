"""The command `demo`: tells the story, shows where it stands, opens it."""

from __future__ import annotations

import os
import sys
import webbrowser

from services.cli import cards, output
from services.cli.client import Client
from services.cli.demo_story import fill


async def demo(url: str | None, open_browser: bool, as_json: bool) -> None:
    """Progress goes to standard error, so that `--json` stays JSON."""
    from rich.console import Console

    with Console(stderr=True).status("telling the story …"):
        told = await fill(url)
    where = f"{Client(url).url}/"
    if as_json:
        output.as_json({"url": where, "threads": told})
        return
    out = output.console()
    out.print(cards.listing(told))
    out.print(f"\nOpen {where} or ask `treadle inbox`; the conversation with workers is at {where}sessions.")
    if open_browser and sys.stdout.isatty() and os.environ.get("TREADLE_OPEN_BROWSER") != "0":
        webbrowser.open(where)
