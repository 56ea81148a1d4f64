"""A person's token in a browser: kept in a cookie that no script can read and that no other site can use.

EventSource sends no headers, so with a secret the console's streams need it; its other requests use it too. Where there
is no secret cookies are not looked at.
"""

from __future__ import annotations

from typing import Final

from gateway.http import Scope, header
from gateway.origin import SAFE, is_foreign
from services.kernel.errors import Denied

_PLAIN: Final = "treadle"
_SECURE: Final = "__Host-treadle"
"""Over https: a browser takes a cookie of that name from this very host alone, and sends it over https alone."""
_NAMES: Final = (_SECURE, _PLAIN)


def token_of(scope: Scope) -> str | None:
    """The token in the request's cookie. Denied where one is there and the request was not made by a page of ours."""
    given = _cookies(header(scope, b"cookie") or "")
    token = next((given[name] for name in _NAMES if given.get(name)), None)
    if token is not None and not made_here(scope):
        raise Denied("ORIGIN_NOT_ALLOWED", "a request with this cookie must come from a page of this host")
    return token


def made_here(scope: Scope) -> bool:
    """Whether a page of this very origin made the request, or a person did by its address. What changes something needs
    a witness (`Origin` or `Sec-Fetch-Site`, which every browser sends with it); what only reads must have no contrary
    one: SameSite keeps the cookie at home there."""
    if is_foreign(scope, frozenset()):
        return False
    site = header(scope, b"sec-fetch-site")
    if scope["method"] in SAFE:
        return site in (None, "same-origin", "none")
    return site == "same-origin" or (site is None and header(scope, b"origin") is not None)


def set_cookie(scope: Scope, token: str, seconds: int) -> list[tuple[str, str]]:
    """The headers that give a browser the token for so long; 0 takes it away."""
    secure = (header(scope, b"origin") or "").lower().startswith("https://")
    kept = f"{_SECURE if secure else _PLAIN}={token}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}"
    return [("set-cookie", f"{kept}; Secure" if secure else kept)]


def clear_cookies() -> list[tuple[str, str]]:
    """The headers that take the token away, whichever name it has."""
    gone = "; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"
    return [("set-cookie", f"{_PLAIN}={gone}"), ("set-cookie", f"{_SECURE}={gone}; Secure")]


def _cookies(text: str) -> dict[str, str]:
    pairs = (part.strip().partition("=") for part in text.split(";"))
    return {name: value for name, found, value in pairs if found}
