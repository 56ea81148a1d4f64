"""PostgreSQL as an engine: made once, started on its folder, ready when it says so itself."""

import asyncio
import contextlib
import os
import shutil
import signal
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

import asyncpg

from services.engines import orphans, ports
from services.engines.binaries import PostgresBinaries
from services.engines.child import Child, ChildPlan, clean_environment
from services.engines.databases import ADMIN, ROLE, ensure_databases
from services.engines.errors import EngineNotStarted, HomeFull
from services.engines.home import require_room
from services.engines.place import Place
from services.engines.postgres_options import initdb_options, server_options
from services.engines.private_files import give, secret, sync_folder, write_private
from services.engines.settings import EngineSettings
from services.engines.sockets import socket_folder

# SIGINT ends sessions and writes a checkpoint, SIGQUIT leaves recovery to the next start.
_LADDER = ((signal.SIGINT, 10.0), (signal.SIGQUIT, 5.0), (signal.SIGKILL, 5.0))
_POLL_SECONDS = 0.004
_ROOM_NEW = 192 << 20
_ROOM_AGAIN = 32 << 20
_DRAFT = "postgres.new-"


class Postgres:
    """`start` may be called again after the child has died; port and passwords stay."""

    name = "postgres"

    def __init__(
        self, place: Place, binaries: PostgresBinaries, settings: EngineSettings, last_port: int | None
    ) -> None:
        self._place, self._binaries, self._settings = place, binaries, settings
        self._data = place.data / "postgres"
        self._log = place.logs / "postgres.log"
        made = self._data.exists()
        self._password = secret(place.home, "postgres", place.owner, must_exist=made)
        self._admin_password = secret(place.home, "postgres-admin", place.owner, must_exist=made)
        self._told, self._last = settings.postgres_port, last_port
        self._sockets: Path | None = None
        self.port = 0

    async def start(self) -> Child:
        """A server that takes connections and has every database. Raises EngineError."""
        account = self._place.account
        await orphans.clear("postgres", (self._data,), account, _LADDER)
        if self._data.exists():
            require_room(self._place.home, self._place.data, _ROOM_AGAIN)
        else:
            require_room(self._place.home, self._place.data, _ROOM_NEW)
            await self._make()
        # Nobody works here (seen above), so this file is stale; its number may be anybody's by now.
        (self._data / "postmaster.pid").unlink(missing_ok=True)
        self._sockets = socket_folder(self._place.data, account)
        return await self._serve()

    def url(self, database: str, *, tcp: bool = False) -> str:
        return self._url(ROLE, self._password, database, tcp)

    def admin_url(self, database: str = "postgres", *, tcp: bool = False) -> str:
        return self._url(ADMIN, self._admin_password, database, tcp)

    def _url(self, user: str, password: str, database: str, tcp: bool) -> str:
        if tcp or self._sockets is None:
            return f"postgresql://{user}:{password}@{ports.LOOPBACK}:{self.port}/{quote(database)}"
        host = quote(str(self._sockets), safe="")
        return f"postgresql://{user}:{password}@/{quote(database)}?host={host}&port={self.port}"

    async def _make(self) -> None:
        """A new data folder, complete or absent: made beside its place, then renamed.

        Under a new name each time, because an initdb that outlived its supervisor may still be clearing up its own.
        """
        account = (self._place.account.uid, self._place.account.gid)
        for left in self._place.data.glob(f"{_DRAFT}*"):
            shutil.rmtree(left, ignore_errors=True)
        draft = Path(tempfile.mkdtemp(prefix=_DRAFT, dir=self._place.data))
        give(draft, account)
        password_file = self._place.data / "postgres.pw"
        write_private(password_file, self._admin_password, account)
        try:
            options = initdb_options(draft, password_file, self._binaries.major)
            await self._run_to_end((str(self._binaries.initdb), *options))
        finally:
            password_file.unlink(missing_ok=True)
        self._adopt(draft)

    def _adopt(self, draft: Path) -> None:
        draft.rename(self._data)
        sync_folder(self._place.data)

    async def _run_to_end(self, command: tuple[str, ...]) -> None:
        child = Child(self._plan(command, signal.SIGTERM))
        try:
            code = await asyncio.wait_for(child.wait(), self._settings.start_seconds)
        except TimeoutError:
            await child.stop()
            raise self._failure(child, f"initdb took longer than {self._settings.start_seconds:g} s") from None
        except BaseException:
            await child.stop()
            raise
        if code != 0:
            raise self._failure(child, f"initdb ended with {code}")

    async def _serve(self) -> Child:
        """Another program may take the free port before PostgreSQL does; then the next one is tried."""
        fixed = self.port or self._told
        for last_try in (False, False, False, True):
            self.port = ports.pick(self.name, fixed, self._last)
            child = Child(self._plan(self._command(), signal.SIGINT))
            try:
                await self._ready(child)
                await self._furnish(child)
                return child
            except EngineNotStarted as failure:
                await child.stop()
                if last_try or fixed or "Address already in use" not in failure.tail:
                    self.port = fixed or 0
                    raise
            except BaseException:
                await child.stop()
                raise
        raise AssertionError("the last try returns or raises")

    async def _furnish(self, child: Child) -> None:
        try:
            await ensure_databases(self.admin_url(), self._password, self._settings.databases)
        except asyncpg.DiskFullError as error:
            raise HomeFull(self._place.home) from error
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
            raise self._failure(child, f"its databases could not be made ({error})") from error

    def _command(self) -> tuple[str, ...]:
        options = server_options(self._settings, self.port, self._sockets, self._binaries.major)
        flags = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        return (str(self._binaries.postgres), "-D", str(self._data), *flags)

    def _plan(self, command: tuple[str, ...], death_signal: signal.Signals) -> ChildPlan:
        return ChildPlan(
            command=command,
            cwd=self._place.data,
            account=self._place.account,
            log=self._log,
            log_owner=self._place.owner,
            death_signal=death_signal,
            ladder=_LADDER,
            environment=clean_environment(),
        )

    async def _ready(self, child: Child) -> None:
        """Line eight of its pid file says `ready` (pg_ctl looks there too), and line one names our child."""
        end = time.monotonic() + self._settings.start_seconds
        while time.monotonic() < end:
            if child.exit_code is not None:
                raise self._failure(child, f"it ended with {child.exit_code}")
            with contextlib.suppress(OSError, IndexError):
                lines = (self._data / "postmaster.pid").read_text().splitlines()
                if lines[0].strip() == str(child.pid) and lines[7].strip() == "ready":
                    return
            await asyncio.sleep(_POLL_SECONDS)
        raise self._failure(child, f"it was not ready within {self._settings.start_seconds:g} s")

    def _failure(self, child: Child, detail: str) -> EngineNotStarted | HomeFull:
        tail = child.output()
        if os.strerror(28) in tail:
            return HomeFull(self._place.home)
        return EngineNotStarted("PostgreSQL", self._log, detail, tail)
