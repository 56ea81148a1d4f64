"""A process of its own that puts join sets into a session's ledger: `python -m … URL TENANT SESSION COUNT NAME`."""

from __future__ import annotations

import asyncio
import sys
from datetime import UTC, datetime

from services.kernel.ids import new_id
from services.kernel.postgres import Database
from services.streaming.adapters.work import PostgresWork
from services.streaming.application.ports import SessionKey
from services.streaming.domain.gates import Gate, GateKind, GateState


async def write(url: str, tenant: str, session_id: str, count: int, name: str) -> None:
    """Each set in a transaction of its own, inside the session's lock."""
    database = await Database.open(url, f"ledger {name}", max_size=4)
    try:
        lanes = asyncio.Semaphore(4)

        async def one(number: int) -> None:
            async with lanes, database.transaction() as tx:
                work = PostgresWork(tx)
                session = await work.lock(SessionKey(tenant, session_id))
                now = datetime.now(UTC)
                joins = {"joins": [{"left": name, "right": str(number), "type": "inner"}]}
                asked = f"{name}-{number}"
                gate = Gate(
                    new_id("gat"), "", asked, GateKind.JOIN_REVIEW, joins, GateState.OPEN, None, "", now, None, None
                )
                await work.accept_joins(session, gate, f"user:{name}", now)
                print(asked, flush=True)

        await asyncio.gather(*(one(number) for number in range(count)))
    finally:
        await database.close()


if __name__ == "__main__":
    url, tenant, session_id, count, name = sys.argv[1:]
    asyncio.run(write(url, tenant, session_id, int(count), name))
