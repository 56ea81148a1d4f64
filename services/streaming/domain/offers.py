"""What the runners that are there can run, and whether that is enough for a session (S.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from services.kernel.errors import Unavailable
from services.streaming.domain.session import Session


@dataclass(frozen=True, slots=True)
class Offer:
    """An adapter of a runner, with the providers and models that it knows; none named: any."""

    adapter: str
    providers: tuple[str, ...] = ()
    models: tuple[str, ...] = ()


def check_offers(session: Session, offers: Sequence[Offer]) -> None:
    """Whether a runner could take the session now. Unavailable says what is missing."""
    able = [one for one in offers if one.adapter == session.adapter]
    if not able:
        raise Unavailable("ADAPTER_UNAVAILABLE", "no runner with this adapter is there", adapter=session.adapter)
    able = [one for one in able if not session.provider or not one.providers or session.provider in one.providers]
    if not able:
        raise Unavailable("MODEL_UNAVAILABLE", "no runner that is there knows this provider", field="provider")
    if not any(not session.model or not one.models or session.model in one.models for one in able):
        raise Unavailable("MODEL_UNAVAILABLE", "no runner that is there knows this model", field="model")
