"""Tokens by which a service calls another one for a tenant: kind `service`, role `reviewer`."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from services.kernel.clock import Clock
from services.kernel.principal import Authenticator, Principal
from services.kernel.request import AUTHORIZATION_KEY

_LIVES: Final = timedelta(hours=1)
_RENEWED: Final = timedelta(minutes=30)
_KEPT_MOST: Final = 10_000
"""Tenants whose token is kept at hand."""


class ServiceTokens:
    """One a tenant, minted anew in time. `service` is the subject that the other one sees."""

    def __init__(self, service: str, authenticator: Authenticator, clock: Clock) -> None:
        self._service = service
        self._authenticator = authenticator
        self._clock = clock
        self._minted: dict[str, tuple[datetime, str]] = {}

    def of(self, tenant: str) -> str:
        """One that is valid for another half an hour at least."""
        now = self._clock.now()
        at, token = self._minted.get(tenant, (now, ""))
        if not token or now - at >= _RENEWED:
            service = Principal(tenant, self._service, "service", frozenset({"reviewer"}))
            token = self._authenticator.mint(service, _LIVES)
            if len(self._minted) >= _KEPT_MOST:
                self._minted.clear()
            self._minted[tenant] = (now, token)
        return token

    def metadata(self, tenant: str) -> tuple[tuple[str, str], ...]:
        """The metadata of a call."""
        return ((AUTHORIZATION_KEY, f"Bearer {self.of(tenant)}"),)
