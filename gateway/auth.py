"""Who is asking: the bearer token is verified here and again by the service, to which it travels on."""

from __future__ import annotations

from gateway.http import REQUEST_ID, Scope, header
from gateway.limits import Limits
from gateway.origin import is_loopback
from services.kernel import request
from services.kernel.principal import Authenticator, Principal


class OpenToTheWorld(Exception):
    """No secret is configured and the gateway was to listen where others can reach it."""


def check_bind(host: str, authenticator: Authenticator) -> None:
    """Without a secret everybody is the local user, so only this machine may connect."""
    if authenticator.open and not is_loopback(host):
        raise OpenToTheWorld(
            f"TREADLE_GATEWAY_LISTEN is {host}, which is not a loopback address, and there is no TREADLE_AUTH_SECRET: "
            "set a secret, or listen on 127.0.0.1"
        )


class Door:
    """Lets a request in: principal, rate, and the context that the call to the service takes along."""

    def __init__(self, authenticator: Authenticator, limits: Limits) -> None:
        self._authenticator = authenticator
        self.limits = limits

    def enter(self, scope: Scope) -> Principal:
        """The verified principal; Unauthenticated or TooManyRequests otherwise."""
        authorization = header(scope, b"authorization")
        principal = self._authenticator.authenticate(authorization)
        self.limits.spend(principal)
        kept = None if self._authenticator.open else authorization
        request.enter(request.RequestContext(scope[REQUEST_ID], principal, kept))
        return principal
