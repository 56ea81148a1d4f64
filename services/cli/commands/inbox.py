"""`treadle inbox`."""

from __future__ import annotations

from services.cli.commands.options import AsJson, Limit, Url


def inbox(limit: Limit = 50, url: Url = None, as_json: AsJson = False) -> None:
    """Shows what waits for a person, oldest first."""
    from services.cli import reading
    from services.cli.running import run

    run(reading.inbox(url, limit, as_json), as_json=as_json)
