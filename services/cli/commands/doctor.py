"""`treadle doctor`."""

from __future__ import annotations

from services.cli.commands.options import AsJson, Url


def doctor(url: Url = None, as_json: AsJson = False) -> None:
    """Checks this machine and the running Treadle, and says what to do about what is wrong.

    Exit codes: 0 nothing failed, 4 nothing answers, 1 something else failed.
    """
    from services.cli.doctor import doctor as check
    from services.cli.running import run

    run(check(url, as_json), as_json=as_json)
