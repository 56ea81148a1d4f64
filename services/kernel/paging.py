"""Pages: sizes and opaque tokens (AIP-158). A token is bound to its list and filter, and signed."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from typing import Any

import orjson

from services.kernel.errors import Invalid

_SIGNATURE_BYTES = 12


def page_size(requested: int, *, default: int, most: int) -> int:
    """The size to use: 0 means the default, more than `most` is lowered to it, negative is refused."""
    if requested < 0:
        raise Invalid("INVALID_PAGE_SIZE", "page_size must not be negative", field="page_size")
    return min(requested or default, most)


class PageTokens:
    """Writes and reads the tokens of one list. The key is of the deployment: a made-up token is refused."""

    def __init__(self, key: bytes, list_name: str) -> None:
        self._key = key
        self._list = list_name

    def encode(self, position: dict[str, Any], query: object) -> str:
        """A token for the rows after `position`, valid for the same query only."""
        body = orjson.dumps(position)
        return base64.urlsafe_b64encode(self._sign(body, query) + body).rstrip(b"=").decode("ascii")

    def decode(self, token: str, query: object) -> dict[str, Any] | None:
        """The position in a token; None for the first page. Invalid when it is not of this list and query."""
        if not token:
            return None
        try:
            raw = base64.b64decode(token.encode("ascii") + b"=" * (-len(token) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            raise _bad_token() from None
        signature, body = raw[:_SIGNATURE_BYTES], raw[_SIGNATURE_BYTES:]
        if not hmac.compare_digest(signature, self._sign(body, query)):
            raise _bad_token()
        position: dict[str, Any] = orjson.loads(body)
        return position

    def _sign(self, body: bytes, query: object) -> bytes:
        scope = orjson.dumps([self._list, query], option=orjson.OPT_SORT_KEYS)
        return hmac.new(self._key, scope + b"\0" + body, hashlib.sha256).digest()[:_SIGNATURE_BYTES]


def _bad_token() -> Invalid:
    return Invalid(
        "INVALID_PAGE_TOKEN",
        "page_token is not one of this list and filter: start again without it",
        field="page_token",
    )
