"""Who is asking: the bearer token is verified here and again by the service, to which it travels on."""

from __future__ import annotations

from gateway.http import REQUEST_ID, Scope, header
from gateway.limits import Limits
from services.kernel import request
from services.kernel.principal import Authenticator, Principal


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
        request.enter(request.RequestContext(scope[REQUEST_ID], principal, authorization))
        return principal
