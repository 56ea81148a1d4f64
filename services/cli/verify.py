"""`treadle verify`: every invariant that the databases can tell (I1–I10). Reads only; safe while all runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from services.cli.verifying import threads
from services.cli.verifying.crossing import across
from services.cli.verifying.sources import SERVICES, sources
from services.coordination.adapters.checks import CHECKS as COORDINATION
from services.kernel.postgres import Database
from services.kernel.verifying import Finding, Verdict, examine
from services.planning.adapters.checks import CHECKS as PLANNING
from services.streaming.adapters.checks import CHECKS as STREAMING
from services.threads.adapters.stored import count_threads

_SHOWN: Final = 100
"""Findings of a service that are printed; --json has all that are kept."""
_CHECKS: Final = {checks.service: checks for checks in (COORDINATION, PLANNING, STREAMING)}


async def verify(named: Mapping[str, str], home: str | None, *, progress: bool) -> list[Verdict]:
    """Looks at the databases that are named (service to URL), else at all of the home; then at what they say of one
    another. Raises what a database or the engines raise."""
    async with AsyncExitStack() as stack:
        urls = await stack.enter_async_context(sources(named, home))
        databases: dict[str, Database] = {}
        for name in (one for one in SERVICES if one in urls):
            databases[name] = await Database.open(urls[name], "verify", max_size=2)
            stack.push_async_callback(databases[name].close)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        bar = Progress(*columns, console=Console(stderr=True), transient=True, disable=not progress)
        with bar:
            verdicts = [await _look(name, database, bar) for name, database in databases.items()]
        crossed = await across(databases)
        return verdicts if crossed is None else [*verdicts, crossed]


async def _look(name: str, database: Database, bar: Progress) -> Verdict:
    if name not in _CHECKS:
        task = bar.add_task(name, total=await count_threads(database))
        return await threads.look(database, lambda: bar.advance(task))
    task = bar.add_task(name, total=len(_CHECKS[name].rules))
    return await examine(database, _CHECKS[name], lambda: bar.advance(task))


def lines(verdicts: Sequence[Verdict]) -> list[str]:
    """For people: what was checked, then each finding."""
    return [line for verdict in verdicts for line in _lines(verdict)]


def _lines(verdict: Verdict) -> list[str]:
    looked = f"{verdict.service}: looked at {', '.join(f'{many} {what}' for what, many in verdict.looked_at.items())}"
    information = [f"  look  {_line(one)}" for one in verdict.information[:_SHOWN]]
    if not verdict.faults:
        return [f"{looked}.", *(f"  ok  {check}" for check in verdict.checks), *information]
    shown = [f"  {_line(one)}" for one in verdict.findings[:_SHOWN]]
    more = verdict.faults - len(shown)
    rest = [f"  and {more} more"] if more else []
    return [f"{looked}: {verdict.faults} faults.", *shown, *rest, *information]


def _line(finding: Finding) -> str:
    return f"{finding.tenant} {finding.id} [{finding.rule}] {finding.words}"
