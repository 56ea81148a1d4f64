"""`treadle demo`."""

from __future__ import annotations

from typing import Annotated

import typer

from services.cli.commands.options import AsJson, Url


def demo(
    open_browser: Annotated[bool, typer.Option("--open-browser/--no-open-browser", help="Open the console.")] = True,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Fills a small story: six matters in six states, and a conversation with workers. Told twice it is the same."""
    from services.cli.demo import demo as tell
    from services.cli.running import run

    run(tell(url, open_browser, as_json), as_json=as_json)
