"""The raw limit of `treadle up`: the two engines and nothing else, in a process that imports nothing else.

    python -m tests.bench.engines_alone <home>

Says {"ready": true} once both answer; ends with its standard input.
"""

from __future__ import annotations

import asyncio
import sys

import orjson

from services.engines import engines


async def _main() -> None:
    async with engines(sys.argv[1]):
        sys.stdout.buffer.write(orjson.dumps({"ready": True}) + b"\n")
        sys.stdout.buffer.flush()
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_main())
