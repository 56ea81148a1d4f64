"""Postgres: SQLAlchemy Core statements compiled once, run on an asyncpg pool (design/quality.md has the figures)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import asyncpg
import orjson
from sqlalchemy.dialects.postgresql import asyncpg as dialect
from sqlalchemy.sql import ClauseElement
from sqlalchemy.sql.compiler import SQLCompiler

from services.kernel import telemetry
from services.kernel.errors import Conflict, Refusal, Unavailable

_log = telemetry.get_logger("postgres")
_DIALECT: Final = dialect.dialect()  # type: ignore[no-untyped-call]
_LOCK_TIMEOUT: Final = "2s"
_STATEMENT_TIMEOUT: Final = "20s"

Row = asyncpg.Record

_AWAY: Final = (
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.TooManyConnectionsError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.DiskFullError,
    # A connection whose server has said good-bye and not hung up yet: asyncpg takes no more words for it.
    asyncpg.InternalClientError,
    ConnectionError,
    OSError,
)
_TELL_EVERY: Final = 5.0
"""Seconds between two words to the log that the server is away."""
_OPEN_AGAIN: Final = 0.5
_COLLISION: Final = (
    asyncpg.LockNotAvailableError,
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
)


class Statement:
    """A statement's text and the order of its arguments; made once, at import."""

    __slots__ = ("_fixed", "_order", "text")

    def __init__(self, compiled: SQLCompiler) -> None:
        self.text = str(compiled)
        self._order = tuple(compiled.positiontup or ())
        self._fixed = {key: bind.value for key, bind in compiled.binds.items() if not bind.required}

    def arguments(self, values: Mapping[str, Any]) -> list[Any]:
        """The arguments in order; KeyError when one is missing (a bug)."""
        fixed = self._fixed
        return [values[name] if name in values else fixed[name] for name in self._order]


def compiled(statement: ClauseElement) -> Statement:
    """Compiles a Core statement for asyncpg. Bind parameters are given by name at each run."""
    result = statement.compile(dialect=_DIALECT)
    assert isinstance(result, SQLCompiler)
    # An IN list is expanded at each run, which is what is saved here: say `== any_(bindparam(…, type_=ARRAY(Text)))`.
    assert "POSTCOMPILE" not in str(result), "no in_() in a statement that is compiled once"
    return Statement(result)


class Tx:
    """A connection to run compiled statements on, inside a transaction or not."""

    __slots__ = ("raw",)

    def __init__(self, raw: asyncpg.pool.PoolConnectionProxy[Row] | asyncpg.Connection[Row]) -> None:
        self.raw = raw

    async def fetch(self, statement: Statement, **values: Any) -> list[Row]:
        """All rows."""
        return await self.raw.fetch(statement.text, *statement.arguments(values))

    async def fetchrow(self, statement: Statement, **values: Any) -> Row | None:
        """The first row, or None."""
        return await self.raw.fetchrow(statement.text, *statement.arguments(values))

    async def fetchval(self, statement: Statement, **values: Any) -> Any:
        """The first column of the first row, or None."""
        return await self.raw.fetchval(statement.text, *statement.arguments(values))

    async def execute(self, statement: Statement, **values: Any) -> int:
        """Runs it; answers how many rows it touched."""
        tag = await self.raw.execute(statement.text, *statement.arguments(values))
        count = tag.rsplit(" ", 1)[-1]
        return int(count) if count.isdigit() else 0

    async def executemany(self, statement: Statement, rows: Iterable[Mapping[str, Any]]) -> None:
        """Runs it once a row, pipelined."""
        await self.raw.executemany(statement.text, [statement.arguments(row) for row in rows])


class Database:
    """A pool of one database. Server trouble leaves as Unavailable, lost races as Conflict; neither has details."""

    def __init__(self, pool: asyncpg.Pool[Row]) -> None:
        self._pool = pool
        self._translated = _Translated()

    @classmethod
    async def open(
        cls, url: str, name: str, *, min_size: int = 1, max_size: int = 10, patience: float = 0.0
    ) -> Database:
        """Connects. `name` shows in pg_stat_activity. A server that is away is waited for, `patience` seconds; then,
        and at once where it is not that, what asyncpg raises."""
        begin, told = time.monotonic(), False
        while True:
            try:
                return cls(await _pool(url, name, min_size, max_size))
            except asyncpg.exceptions.ClientConfigurationError:
                raise
            except (*_AWAY, TimeoutError) as fault:
                if time.monotonic() - begin >= patience:
                    raise
                if not told:
                    told = True
                    _log.warning("postgres.waits", error=repr(fault), at_most=patience)
            await asyncio.sleep(_OPEN_AGAIN)

    async def close(self) -> None:
        """Waits for connections in use, then closes the pool; gives up after ten seconds."""
        try:
            async with asyncio.timeout(10):
                await self._pool.close()
        except TimeoutError:
            self._pool.terminate()

    @property
    def in_use(self) -> int:
        """How many connections are checked out."""
        return self._pool.get_size() - self._pool.get_idle_size()

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Tx]:
        """A connection for reads of one statement each."""
        with self._translated:
            async with self._pool.acquire(timeout=10) as raw:
                yield Tx(raw)

    @asynccontextmanager
    async def transaction(self, *, read_snapshot: bool = False) -> AsyncIterator[Tx]:
        """One transaction, read committed; `read_snapshot`: read-only over one snapshot."""
        with self._translated:
            async with (
                self._pool.acquire(timeout=10) as raw,
                raw.transaction(
                    isolation="repeatable_read" if read_snapshot else "read_committed", readonly=read_snapshot
                ),
            ):
                yield Tx(raw)


class _Translated:
    """Turns server trouble into refusals; anything else is a bug and passes. May be entered many times at once."""

    def __init__(self) -> None:
        self._told = -_TELL_EVERY

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if error is None or isinstance(error, Refusal):
            return
        if isinstance(error, _COLLISION):
            raise Conflict("CONTENDED", "others are changing the same thing right now: read and try again") from error
        if isinstance(error, _AWAY) or (
            isinstance(error, TimeoutError | asyncpg.QueryCanceledError) and kind is not None
        ):
            now = time.monotonic()
            if now - self._told >= _TELL_EVERY:  # whoever asks meanwhile is refused for the same reason
                self._told = now
                _log.warning("postgres.unavailable", error=repr(error))
            raise Unavailable("DATABASE_UNAVAILABLE", "the database cannot be reached right now") from error


async def _pool(url: str, name: str, min_size: int, max_size: int) -> asyncpg.Pool[Row]:
    return await asyncpg.create_pool(
        url,
        min_size=min_size,
        max_size=max_size,
        init=_prepare_connection,
        reset=_nothing_to_reset,
        timeout=10,
        max_inactive_connection_lifetime=60,
        server_settings={
            "application_name": f"treadle {name}",
            "timezone": "UTC",
            "lock_timeout": _LOCK_TIMEOUT,
            "statement_timeout": _STATEMENT_TIMEOUT,
            "idle_in_transaction_session_timeout": "60s",
            "jit": "off",
        },
    )


async def _nothing_to_reset(_: object) -> None:
    """asyncpg has rolled back by now. Its default also unlistens, unlocks and resets settings, which nobody here
    changes: a round trip after every transaction."""


async def _prepare_connection(raw: asyncpg.Connection[Row]) -> None:
    # The binary form of jsonb is a version byte and the text: no detour over str.
    await raw.set_type_codec(
        "jsonb",
        schema="pg_catalog",
        format="binary",
        encoder=lambda value: b"\x01" + orjson.dumps(value),
        decoder=lambda data: orjson.loads(data[1:]),
    )
