"""`/auth/session`: a person gives the browser its token (POST), asks who it is (GET), and takes it away (DELETE).

Not an RPC: it is about this gateway's cookie and nothing else. The token itself is made elsewhere.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

import orjson

from gateway.auth import Door
from gateway.browser_session import clear_cookies, made_here, set_cookie
from gateway.edge import ROUTE
from gateway.http import Receive, Scope, Send, answer, header, read_body
from gateway.refusals import WrongMethod
from gateway.transcode.json_read import bad_field, quoted, read_object
from gateway.unary import check_media_type
from services.kernel.clock import Clock
from services.kernel.errors import Denied, Invalid
from services.kernel.principal import Authenticator, Principal

PATH: Final = "/auth/session"
_BODY_MOST: Final = 16 * 1024
_TOKEN_MOST: Final = 3_500
"""Bytes. Browsers drop cookies over 4,096, silently."""


class LoginEndpoint:
    """One path. Answers `{open, tenant, subject, kind, roles, expire_time}`; `open`: no secret is configured, nobody
    needs to log in."""

    def __init__(self, authenticator: Authenticator, door: Door, clock: Clock, body_seconds: float) -> None:
        self._authenticator = authenticator
        self._door = door
        self._clock = clock
        self._body_seconds = body_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        scope[ROUTE] = PATH
        match scope["method"]:
            case "POST":
                await self._log_in(scope, receive, send)
            case "GET" | "HEAD":
                principal = self._door.enter(scope, cookies=True)
                await answer(send, 200, self._told(principal, self._door.token()))
            case "DELETE":
                if not made_here(scope):
                    raise Denied("ORIGIN_NOT_ALLOWED", "only a page of this host can log out")
                await answer(send, 200, b"{}", headers=clear_cookies())
            case _:
                raise WrongMethod(
                    "METHOD_NOT_ALLOWED", "this path allows DELETE, GET, POST", {"allow": "DELETE, GET, POST"}
                )

    async def _log_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Verifies the body's token and sets the cookie for as long as the token is good."""
        if not made_here(scope):
            raise Denied("ORIGIN_NOT_ALLOWED", "only a page of this host can log in")
        check_media_type(header(scope, b"content-type"))
        body = read_object(await read_body(scope, receive, _BODY_MOST, self._body_seconds))
        for name in body:
            if name != "token":
                raise Invalid("UNKNOWN_FIELD", f"unknown field {quoted(name)}", field=quoted(name))
        token = body.get("token")
        if not isinstance(token, str) or not token.isascii() or not 0 < len(token) <= _TOKEN_MOST:
            raise bad_field("token", f"must be a token of 1..{_TOKEN_MOST} characters")
        principal = self._authenticator.authenticate(f"Bearer {token}")
        if principal.kind != "user":
            raise Denied("PERSON_REQUIRED", "this token is not a person's: agents and services send it as a bearer")
        until = self._authenticator.expires(token)
        headers = set_cookie(scope, token, max(0, int((until - self._clock.now()).total_seconds())))
        await answer(send, 200, self._told(principal, token), headers=headers)

    def _told(self, principal: Principal, token: str | None) -> bytes:
        told: dict[str, Any] = {
            "open": self._authenticator.open,
            "tenant": principal.tenant,
            "subject": principal.subject,
            "kind": principal.kind,
            "roles": sorted(principal.roles),
        }
        if token is not None:
            told["expire_time"] = _shown(self._authenticator.expires(token))
        return orjson.dumps(told)


def _shown(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
