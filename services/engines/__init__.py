"""PostgreSQL and nats-server as children of this process, on one data folder. Never looks into the data.

    async with engines(Path("~/.treadle")) as running:
        running.database_url("threads"), running.nats_url

Requirements: design/quality.md, rows "embedded Postgres" and "embedded NATS".
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path

from services.engines.binaries import Binaries, find_binaries
from services.engines.discard import discard
from services.engines.errors import (
    AccountNotFound,
    BinaryNotFound,
    EngineError,
    EngineNotStarted,
    HomeFull,
    HomeInUse,
    HomeNotUsable,
    HomeNotWritable,
    OrphanStays,
    PortTaken,
    SecretMissing,
)
from services.engines.home import hold, refusals, resolve_home, rotate
from services.engines.keeping import EngineDied, EngineEvent, EngineRestarted, Keeping, RestartFailed, Watch
from services.engines.nats import Nats
from services.engines.place import Place, find_place
from services.engines.ports import load_last, save_last
from services.engines.postgres import Postgres
from services.engines.settings import EngineSettings
from services.engines.sockets import forget_sockets

__all__ = [
    "AccountNotFound",
    "BinaryNotFound",
    "EngineDied",
    "EngineError",
    "EngineEvent",
    "EngineNotStarted",
    "EngineRestarted",
    "EngineSettings",
    "Engines",
    "HomeFull",
    "HomeInUse",
    "HomeNotUsable",
    "HomeNotWritable",
    "OrphanStays",
    "PortTaken",
    "RestartFailed",
    "SecretMissing",
    "Watch",
    "discard",
    "engines",
    "resolve_home",
]


class Engines:
    """The two servers while they run. URLs hold passwords and outlive a restart of a server."""

    def __init__(self, place: Place, postgres: Postgres, nats: Nats, keeping: Keeping) -> None:
        self._postgres, self._nats, self._keeping = postgres, nats, keeping
        self.home, self.data, self.logs = place.home, place.data, place.logs

    def database_url(self, database: str, *, tcp: bool = False) -> str:
        """For asyncpg and libpq: over the unix socket where there is one, or `tcp` on loopback."""
        return self._postgres.url(database, tcp=tcp)

    def admin_url(self, database: str = "postgres", *, tcp: bool = False) -> str:
        """The same as the server's administrator, for maintenance; no service needs it."""
        return self._postgres.admin_url(database, tcp=tcp)

    @property
    def nats_url(self) -> str:
        return self._nats.url

    def watch(self) -> Watch:
        """What happens to the servers from now on: deaths, restarts, restarts that failed."""
        return self._keeping.watch()

    def pid(self, engine: str) -> int:
        """Of `postgres` or `nats`, as it runs now."""
        return self._keeping.pid(engine)


@contextlib.asynccontextmanager
async def engines(
    home: Path | str | None = None,
    settings: EngineSettings | None = None,
    *,
    binaries: Binaries | None = None,
) -> AsyncIterator[Engines]:
    """Both servers, from ready to stopped. Enter it on the main thread. Raises EngineError when entered.

    Leaving it stops the children, also when cancelled; should this process be killed, the kernel tells them.
    """
    settings = settings or EngineSettings()
    folder = resolve_home(home)
    with contextlib.ExitStack() as held:
        held.enter_context(hold(folder))
        with refusals(folder):
            place = find_place(folder, settings.account)
            if place.data != folder:
                held.enter_context(hold(place.data))
            found = binaries or find_binaries(place.account, _made_by(place.data / "postgres"))
            for log in ("postgres.log", "nats.log"):
                rotate(place.logs / log)
            last = load_last(folder / "ports.json")
            postgres = Postgres(place, found.postgres, settings, last.get("postgres"))
            nats = Nats(place, found.nats, settings, last.get("nats"))
        keeping = Keeping()
        try:
            with refusals(folder):
                await keeping.start(postgres, nats)
                save_last(folder / "ports.json", {"postgres": postgres.port, "nats": nats.port}, place.owner)
            yield Engines(place, postgres, nats, keeping)
        finally:
            await _to_the_end(keeping.stop())
            forget_sockets(place.data)


def _made_by(data: Path) -> int | None:
    """The PostgreSQL version that made existing data."""
    with contextlib.suppress(FileNotFoundError):
        return int((data / "PG_VERSION").read_text().strip())
    return None


async def _to_the_end(stopping: Coroutine[None, None, None]) -> None:
    """Runs it to its end even when this task is cancelled meanwhile; the ladders bound that time."""
    task = asyncio.ensure_future(stopping)
    cancelled = False
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        raise asyncio.CancelledError
