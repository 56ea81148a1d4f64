"""nats-server as an engine: JetStream on file, a token for whoever connects, loopback only."""

import asyncio
import json
import os
import signal
import time
from pathlib import Path

from services.engines import orphans, ports
from services.engines.child import Child, ChildPlan, clean_environment
from services.engines.errors import EngineNotStarted, HomeFull
from services.engines.home import require_room
from services.engines.nats_probe import jetstream_answers
from services.engines.place import Place
from services.engines.private_files import make_private_folder, secret, write_private
from services.engines.settings import EngineSettings

MAX_PAYLOAD = 1 << 20
_LADDER = ((signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0))
_POLL_SECONDS = 0.004
_ROOM = 32 << 20


class Nats:
    """`start` may be called again after the child has died; port and token stay."""

    name = "nats"

    def __init__(self, place: Place, program: Path, settings: EngineSettings, last_port: int | None) -> None:
        self._place, self._program, self._settings = place, program, settings
        self._folder = place.data / "nats"
        self._log = place.logs / "nats.log"
        # A new token costs nothing: it protects the door, not the data.
        self._token = secret(place.home, "nats", place.owner, must_exist=False)
        self._told, self._last = settings.nats_port, last_port
        self.port = 0

    @property
    def url(self) -> str:
        return f"nats://{self._token}@{ports.LOOPBACK}:{self.port}"

    async def start(self) -> Child:
        """A server that answers with JetStream on. Raises EngineError."""
        account = self._place.account
        make_private_folder(self._folder, (account.uid, account.gid))
        await orphans.clear("nats-server", (self._folder,), account, _LADDER)
        require_room(self._place.home, self._folder, _ROOM)
        fixed = self.port or self._told
        for last_try in (False, False, False, True):
            self.port = ports.pick(self.name, fixed, self._last)
            write_private(self._folder / "nats.conf", self._configuration(), (account.uid, account.gid))
            child = Child(self._plan())
            try:
                await self._ready(child)
                return child
            except EngineNotStarted as failure:
                await child.stop()
                if last_try or fixed or "address already in use" not in failure.tail:
                    self.port = fixed or 0
                    raise
            except BaseException:
                await child.stop()
                raise
        raise AssertionError("the last try returns or raises")

    def _configuration(self) -> str:
        """Its folder is its working folder, so no path has to be quoted. JSON is valid NATS configuration."""
        return json.dumps(
            {
                "server_name": "treadle",
                "listen": f"{ports.LOOPBACK}:{self.port}",
                "max_payload": MAX_PAYLOAD,
                "authorization": {"token": self._token},
                "jetstream": {
                    "store_dir": ".",
                    "sync_interval": self._settings.nats_sync_interval,
                    "max_memory_store": 64 << 20,
                    # Not a share of what happens to be free today: that could refuse tomorrow's start.
                    "max_file_store": 1 << 40,
                },
            },
            indent=1,
        )

    def _plan(self) -> ChildPlan:
        return ChildPlan(
            command=(str(self._program), "-c", "nats.conf"),
            cwd=self._folder,
            account=self._place.account,
            log=self._log,
            log_owner=self._place.owner,
            death_signal=signal.SIGTERM,
            ladder=_LADDER,
            environment=clean_environment() | {"GOMEMLIMIT": "128MiB"},
        )

    async def _ready(self, child: Child) -> None:
        end = time.monotonic() + self._settings.start_seconds
        while time.monotonic() < end:
            if child.exit_code is not None:
                raise self._failure(child, f"it ended with {child.exit_code}")
            if await jetstream_answers(self.port, self._token):
                return
            await asyncio.sleep(_POLL_SECONDS)
        raise self._failure(child, f"it was not ready within {self._settings.start_seconds:g} s")

    def _failure(self, child: Child, detail: str) -> EngineNotStarted | HomeFull:
        tail = child.output()
        if os.strerror(28).lower() in tail:
            return HomeFull(self._place.home)
        return EngineNotStarted("nats-server", self._log, detail, tail)
