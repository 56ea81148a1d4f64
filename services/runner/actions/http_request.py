"""`http_request`: one HTTP request to an allowed host (design/threads.md §0.10).

No proxy, no cookies, no redirect to another host; the answer is read up to a cap and says so when it was longer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

import httpx

from services.runner.actions.hosts import AllowedHosts
from services.runner.actions.pinned_transport import PinnedTransport
from services.runner.domain.failure import Code, Failed
from services.runner.domain.task import ExecutionTask

NAME: Final = "http_request"
MOST_ANSWER: Final = 64 * 1024
"""Bytes of the answer's body that are kept."""
MOST_REDIRECTS: Final = 5
PARAMETERS: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "method": {"enum": ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"], "description": "Default GET."},
        "url": {
            "type": "string",
            "minLength": 1,
            "maxLength": 2048,
            "description": "http or https. The host must be on the allow list (default: this machine only).",
        },
        "headers": {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 50},
        "body": {"type": "string", "maxLength": 65_536, "description": "Sent as UTF-8."},
    },
    "required": ["url"],
    "additionalProperties": False,
}
_SAFE_METHODS: Final = frozenset({"GET", "HEAD"})


class HttpRequest:
    """Sends the request. An answer of 400 and above is a failure (http_status)."""

    name = NAME
    parameters = PARAMETERS

    def __init__(self, allowed: AllowedHosts, timeout: float = 30.0) -> None:
        """`timeout`: seconds for the whole of it, redirects included."""
        self._allowed = allowed
        self._timeout = timeout

    async def execute(self, task: ExecutionTask) -> Mapping[str, Any]:
        """Answers `{status, url, content_type, body, truncated}`; the body as text, undecodable bytes as U+FFFD."""
        transport = PinnedTransport(self._allowed, httpx.AsyncHTTPTransport(retries=0, trust_env=False))
        try:
            # The outer limit is for all of it: httpx's own is per read, and a host may drip for ever.
            async with asyncio.timeout(self._timeout), _client(transport, self._timeout) as client:
                return await _send(client, _request_of(client, task))
        except (TimeoutError, httpx.TimeoutException) as fault:
            raise Failed(Code.TIMEOUT, f"no whole answer within {self._timeout} s") from fault
        except httpx.NetworkError as fault:
            raise Failed(Code.UNREACHABLE, f"{type(fault).__name__}: {fault}") from fault
        except httpx.HTTPError as fault:
            raise Failed(Code.ACTION_FAILED, f"{type(fault).__name__}: {fault}") from fault


def _client(transport: PinnedTransport, timeout: float) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=transport, timeout=timeout, follow_redirects=False, trust_env=False)


def _request_of(client: httpx.AsyncClient, task: ExecutionTask) -> httpx.Request:
    """What was approved, plus an Idempotency-Key on unsafe methods (unless it was given)."""
    wanted = task.parameters
    method = wanted.get("method", "GET")
    headers = dict(wanted.get("headers", {}))
    if method not in _SAFE_METHODS and not any(name.lower() == "idempotency-key" for name in headers):
        headers["Idempotency-Key"] = task.idempotency_key
    body = wanted["body"].encode("utf-8", "replace") if "body" in wanted else None
    try:
        request = client.build_request(method, wanted["url"], headers=headers, content=body)
    except (httpx.InvalidURL, ValueError, TypeError) as fault:
        raise Failed(Code.INVALID_PARAMETERS, f"not a request: {fault}") from fault
    if request.url.scheme not in ("http", "https") or not request.url.host:
        raise Failed(Code.INVALID_PARAMETERS, "only http and https URLs with a host")
    return request


async def _send(client: httpx.AsyncClient, request: httpx.Request) -> Mapping[str, Any]:
    for _ in range(MOST_REDIRECTS + 1):
        response = await client.send(request, stream=True)
        try:
            if response.next_request is None:
                return await _answer(request, response)
            request = _same_host(request, response.next_request)
        finally:
            await response.aclose()
    raise Failed(Code.REDIRECT_REFUSED, f"more than {MOST_REDIRECTS} redirects")


def _same_host(request: httpx.Request, following: httpx.Request) -> httpx.Request:
    """Redirects stay on the approved host and port (or go from http to https there)."""
    old, new = request.url, following.url
    upgraded = (old.scheme, new.scheme) == ("http", "https") and (old.port, new.port) == (None, None)
    if old.host != new.host or not (upgraded or (old.scheme, old.port) == (new.scheme, new.port)):
        raise Failed(Code.REDIRECT_REFUSED, f"from {old.host}:{old.port} to {new.host}:{new.port}")
    return following


async def _answer(request: httpx.Request, response: httpx.Response) -> Mapping[str, Any]:
    kept = bytearray()
    async for piece in response.aiter_bytes():
        kept += piece
        if len(kept) > MOST_ANSWER:
            break
    body = bytes(kept[:MOST_ANSWER]).decode("utf-8", "replace")
    if response.status_code >= 400:
        raise Failed(Code.HTTP_STATUS, f"{response.status_code} from {request.url}: {body}")
    return {
        "status": response.status_code,
        "url": str(request.url),
        "content_type": response.headers.get("content-type", ""),
        "body": body,
        "truncated": len(kept) > MOST_ANSWER,
    }
