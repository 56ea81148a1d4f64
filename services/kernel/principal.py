"""Who is asking: a verified principal. Every caller has one; with no secret configured and no token it is LOCAL."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal

import jwt

from services.kernel.clock import Clock
from services.kernel.errors import Denied, Unauthenticated

Kind = Literal["user", "agent", "service"]
ROLES: Final = frozenset({"viewer", "reviewer", "agent", "runner", "admin"})
TENANT: Final = re.compile(r"[a-z0-9_-]{1,63}")
_SUBJECT_MOST: Final = 256
_LAST_SECOND: Final = 253_402_300_799
"""The end of the year 9999."""
_ALGORITHM: Final = "HS256"
OPEN_KEY: Final = "treadle: no secret is configured, so this key is public"
"""Signs tokens where no secret is configured. Everybody knows it: such a token only narrows what LOCAL may do anyway,
so that an agent acts for its own session there too."""


@dataclass(frozen=True, slots=True)
class Principal:
    """A verified caller. `tenant` bounds everything it can see; roles say what it may do there."""

    tenant: str
    subject: str
    kind: Kind = "user"
    roles: frozenset[str] = field(default_factory=frozenset)

    def has(self, role: str) -> bool:
        """Whether it has the role; admin has them all."""
        return role in self.roles or "admin" in self.roles


LOCAL: Final = Principal("default", "local", "user", ROLES)
"""The caller where no secret is configured: this machine's own user (loopback only)."""


def require(principal: Principal, role: str) -> None:
    """Refuses (Denied) a principal without the role."""
    if not principal.has(role):
        raise Denied("ROLE_REQUIRED", f"this needs the role {role}", role=role)


class Authenticator:
    """Verifies bearer tokens (JWT, HS256, claims tenant, sub, kind, roles, exp); mints them for our own parts."""

    def __init__(self, secret: str | None, clock: Clock) -> None:
        """ValueError where the secret is the public key of the open mode."""
        if secret == OPEN_KEY:
            raise ValueError("this secret is public: it signs tokens where no secret is configured")
        self._key = OPEN_KEY if secret is None else secret
        self._open = secret is None
        self._clock = clock

    @property
    def open(self) -> bool:
        """Whether no secret is configured, so that a caller without a token is LOCAL."""
        return self._open

    def authenticate(self, authorization: str | None) -> Principal:
        """The principal of an `authorization` value (`Bearer …`); Unauthenticated when it does not verify. A token that
        is shown must verify in the open mode too, and be of LOCAL's tenant."""
        scheme, _, token = (authorization or "").strip().partition(" ")
        if scheme.lower() != "bearer":
            if self._open:
                return LOCAL
            raise Unauthenticated("TOKEN_REQUIRED", "a bearer token is needed")
        if not token.strip():
            raise Unauthenticated("TOKEN_REQUIRED", "a bearer token is needed")
        principal = _principal(self._claims(token.strip()))
        if self._open and principal.tenant != LOCAL.tenant:
            raise Unauthenticated("TOKEN_INVALID", "without a secret there is one tenant, and the token is of another")
        return principal

    def expires(self, token: str) -> datetime:
        """When a token stops being good; Unauthenticated when it does not verify."""
        return datetime.fromtimestamp(min(int(self._claims(token)["exp"]), _LAST_SECOND), UTC)

    def _claims(self, token: str) -> dict[str, Any]:
        try:
            return jwt.decode(token, self._key, algorithms=[_ALGORITHM], options={"require": ["exp"]})
        except jwt.ExpiredSignatureError:
            raise Unauthenticated("TOKEN_EXPIRED", "the token has expired") from None
        except jwt.InvalidTokenError:
            raise Unauthenticated("TOKEN_INVALID", "the token does not verify") from None

    def mint(self, principal: Principal, lifetime: timedelta) -> str:
        """A token for the principal."""
        claims = {
            "tenant": principal.tenant,
            "sub": principal.subject,
            "kind": principal.kind,
            "roles": sorted(principal.roles),
            "exp": self._clock.now() + lifetime,
        }
        return jwt.encode(claims, self._key, algorithm=_ALGORITHM)


def _principal(claims: dict[str, Any]) -> Principal:
    tenant, subject, kind, roles = (claims.get(key) for key in ("tenant", "sub", "kind", "roles"))
    if not isinstance(tenant, str) or TENANT.fullmatch(tenant) is None:
        raise Unauthenticated("TOKEN_INVALID", "the token's tenant must match [a-z0-9_-]{1,63}")
    if not isinstance(subject, str) or not 0 < len(subject) <= _SUBJECT_MOST or not subject.isprintable():
        raise Unauthenticated("TOKEN_INVALID", f"the token's sub must be 1..{_SUBJECT_MOST} printable characters")
    if kind not in ("user", "agent", "service"):
        raise Unauthenticated("TOKEN_INVALID", "the token's kind must be user, agent or service")
    if not isinstance(roles, list) or not ROLES.issuperset(r for r in roles if isinstance(r, str)):
        raise Unauthenticated("TOKEN_INVALID", f"the token's roles must be among {', '.join(sorted(ROLES))}")
    return Principal(tenant, subject, kind, frozenset(str(role) for role in roles))
