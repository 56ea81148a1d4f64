"""The command `doctor`: runs the checks and says what to do about what is wrong."""

from __future__ import annotations

from typing import Final

from rich.text import Text

from services.cli import output
from services.cli.client import Client
from services.cli.exits import Exit
from services.cli.health_checks import Check, Verdict, folders, local_checks, remote_checks
from services.cli.plain import plain

_MARKS: Final = {Verdict.OK: ("ok", "green"), Verdict.WARN: ("warn", "yellow"), Verdict.FAIL: ("FAIL", "bold red")}


async def doctor(url: str | None, as_json: bool) -> Exit:
    """0: nothing failed (there may be warnings); 4: nothing answers; 1: something else failed."""
    checks = list(local_checks(*folders()))
    async with Client(url) as client:
        checks += [check async for check in remote_checks(client)]
    if as_json:
        output.as_json({"checks": [_as_dict(check) for check in checks]})
    else:
        output.console().print(output.table(["", "check", "found"], map(_row, checks), flexible=["found"]))
        for check in checks:
            if check.hint:
                output.console().print(Text.assemble((f"{check.name}: ", "bold"), plain(check.hint)))
    failed = [check.name for check in checks if check.verdict is Verdict.FAIL]
    if not failed:
        return Exit.OK
    return Exit.UNAVAILABLE if failed == ["gateway"] else Exit.REFUSED


def _row(check: Check) -> tuple[Text, Text, Text]:
    mark, style = _MARKS[check.verdict]
    return Text(mark, style=style), plain(check.name), plain(check.detail)


def _as_dict(check: Check) -> dict[str, str]:
    return {"check": check.name, "verdict": check.verdict, "detail": check.detail, "hint": check.hint}
