"""A transaction that answers the repeat of a request as it answered the request (PUB08). What is done in it is its
heirs' business."""

from __future__ import annotations

from services.kernel import idempotency
from services.kernel.postgres import Tx
from services.kernel.principal import Principal


class KeyedWork:
    """Remembers one request at most."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self._key: idempotency.Key | None = None

    async def remember(self, caller: Principal, method: str, request_id: str, digest: bytes) -> bytes | None:
        """The key is inserted first: two at once cannot both go on. Answers and refusals as idempotency.remember."""
        self._key = idempotency.key_for(caller, method, request_id)
        return await idempotency.remember(self._tx, self._key, digest)

    async def store(self, answer: bytes) -> None:
        """For repeats of what was remembered last."""
        await idempotency.store(self._tx, self._key, answer)
