"""A stream DOMAIN of a round's own: a copied database must not find what another copy's relay has sent."""

from __future__ import annotations

from contextlib import suppress
from itertools import count

from services.kernel import jetstream, streams
from services.kernel.bus import Bus

_epochs = count(1)


async def fresh_domain(bus: Bus) -> None:
    """Makes DOMAIN anew, in a new epoch."""
    with suppress(jetstream.Refused):
        await jetstream.api(bus, f"STREAM.DELETE.{streams.DOMAIN}")

    async def next_epoch() -> int:
        return next(_epochs)

    await streams.ensure_domain(bus, next_epoch)
