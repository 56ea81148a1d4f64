"""Run by path: holds the engines in a process of its own, so that tests can kill it or run it as somebody else.

One JSON line says what came of it, then it stays until its standard input ends.
Arguments: home, uid (-1 to stay), optionally the PostgreSQL folder, its major version and the NATS program.
"""

import asyncio
import json
import os
import sys
from pathlib import Path

from services.engines import EngineError, EngineSettings, engines
from services.engines.binaries import Binaries, PostgresBinaries


async def hold(home: str, binaries: Binaries | None) -> None:
    try:
        async with engines(home, EngineSettings(start_seconds=20), binaries=binaries) as running:
            report = {
                "postgres": running.database_url("threads"),
                "nats": running.nats_url,
                "data": str(running.data),
                "pids": {name: running.pid(name) for name in ("postgres", "nats")},
            }
            print(json.dumps(report), flush=True)
            await asyncio.to_thread(sys.stdin.read)
    except EngineError as error:
        print(json.dumps({"error": type(error).__name__, "text": str(error)}), flush=True)


def main(home: str, uid: str, *programs: str) -> None:
    if int(uid) >= 0:
        os.setgroups([])
        os.setgid(int(uid))
        os.setuid(int(uid))
        os.environ.pop("HOME", None)
    given = None
    if programs:
        given = Binaries(PostgresBinaries(Path(programs[0]), int(programs[1])), Path(programs[2]))
    asyncio.run(hold(home, given))


if __name__ == "__main__":
    main(*sys.argv[1:])
