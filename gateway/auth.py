"""Who is asking: the bearer token is verified here and again by the service, to which it travels on."""

from __future__ import annotations

from gateway.browser_session import token_of
from gateway.http import REQUEST_ID, Scope, header
from gateway.limits import Limits
from services.kernel import request
from services.kernel.clock import Clock
from services.kernel.principal import Authenticator, Principal


class Door:
    """Lets a request in: principal, rate, and the context that the call to the service takes along."""

    def __init__(self, authenticator: Authenticator, limits: Limits, clock: Clock) -> None:
        self._authenticator = authenticator
        self._clock = clock
        self.limits = limits

    def enter(self, scope: Scope, *, cookies: bool = False) -> Principal:
        """The verified principal; Unauthenticated or TooManyRequests otherwise. `cookies`: the token may also come in
        the cookie of a browser (gateway.browser_session); a header wins over it."""
        authorization = header(scope, b"authorization")
        if cookies and authorization is None and not self._authenticator.open:
            token = token_of(scope)
            authorization = None if token is None else f"Bearer {token}"
        principal = self._authenticator.authenticate(authorization)
        self.limits.spend(principal)
        request.enter(request.RequestContext(scope[REQUEST_ID], principal, authorization))
        return principal

    def good_for(self) -> float | None:
        """Seconds until the token of the request that was let in expires; None where it showed none."""
        token = self.token()
        if token is None:
            return None
        return (self._authenticator.expires(token) - self._clock.now()).total_seconds()

    @staticmethod
    def token() -> str | None:
        """The verified token of the request that was let in; None where there was none (no secret is configured)."""
        entered = request.current()
        authorization = entered.authorization if entered is not None else None
        scheme, _, token = (authorization or "").strip().partition(" ")
        return token.strip() if scheme.lower() == "bearer" else None
