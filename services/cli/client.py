"""Treadle's REST interface as the commands use it. Knows paths, headers and problem documents; prints nothing."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import urlsplit

import httpx

from services.cli.exits import CommandFailed, Exit, exit_for_status

Json = dict[str, Any]
_TRIES: Final = 3
_TIMEOUT: Final = httpx.Timeout(30.0, connect=5.0)
_TOKENS_FAULT: Final = frozenset({"TOKEN_REQUIRED", "TOKEN_EXPIRED"})
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


def default_url() -> str:
    """TREADLE_URL, else this machine at TREADLE_PORT, else at 8080."""
    return os.environ.get("TREADLE_URL") or f"http://127.0.0.1:{os.environ.get('TREADLE_PORT') or '8080'}"


class Client:
    """A connection to one gateway. `async with` it. Every failure is a CommandFailed with an exit code."""

    def __init__(self, url: str | None = None, token: str | None = None) -> None:
        """`token`: a bearer token (default TREADLE_TOKEN)."""
        self.url = (url or default_url()).rstrip("/")
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise CommandFailed(Exit.USAGE, f"{self.url!r} is no http(s) URL: check --url and TREADLE_URL")
        token = token or os.environ.get("TREADLE_TOKEN")
        self._http = httpx.AsyncClient(
            base_url=self.url,
            headers={"authorization": f"Bearer {token}"} if token else {},
            timeout=_TIMEOUT,
            # A proxy of the environment must not stand between a person and this machine.
            trust_env=parts.hostname not in _LOOPBACK,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.aclose()

    @property
    def http(self) -> httpx.AsyncClient:
        """For streams."""
        return self._http

    async def get(self, path: str, **query: Any) -> Json:
        """The JSON answer; None and empty query values are left out."""
        params = {key: value for key, value in query.items() if value not in (None, "", [], ())}
        return _answer(await self._ask("GET", path, params=params))

    async def post(self, path: str, body: Json, key: str | None = None) -> Json:
        """The JSON answer. `key` is the Idempotency-Key (made when none is given), so that a repeat changes nothing."""
        return await self._send("POST", path, body, key)

    async def put(self, path: str, body: Json, key: str | None = None) -> Json:
        """As `post`."""
        return await self._send("PUT", path, body, key)

    async def delete(self, path: str, etag: str = "", key: str | None = None) -> Json:
        """As `post`. `etag`: refused where what is there has another."""
        headers = {"idempotency-key": key or str(uuid.uuid4()), **({"if-match": etag} if etag else {})}
        return _answer(await self._ask("DELETE", path, headers=headers))

    async def _send(self, verb: str, path: str, body: Json, key: str | None) -> Json:
        headers = {"idempotency-key": key or str(uuid.uuid4())}
        return _answer(await self._ask(verb, path, json=body, headers=headers))

    async def pages(self, path: str, list_name: str, limit: int | None = None, **query: Any) -> AsyncIterator[Json]:
        """Every entry of a paged list, up to `limit`."""
        token, seen = "", 0
        while True:
            size = 200 if limit is None else min(200, limit - seen)
            page = await self.get(path, page_size=size, page_token=token, **query)
            for entry in page.get(list_name, []):
                yield entry
                seen += 1
            token = page.get("next_page_token", "")
            if not token or (limit is not None and seen >= limit):
                return

    async def _ask(self, method: str, path: str, **request: Any) -> httpx.Response:
        """Asks again, a few times, only when the answer says that the service is away (503)."""
        for attempt in range(1, _TRIES + 1):
            try:
                response = await self._http.request(method, path, **request)
            except httpx.HTTPError as fault:
                raise unreachable(self.url, fault) from fault
            if response.status_code != 503 or attempt == _TRIES:
                break
            await asyncio.sleep(0.3 * attempt)
        return response


def unreachable(url: str, fault: Exception) -> CommandFailed:
    """What a person can do about a gateway that does not answer."""
    if isinstance(fault, httpx.TimeoutException):
        return CommandFailed(Exit.UNAVAILABLE, f"{url} did not answer in time")
    return CommandFailed(
        Exit.UNAVAILABLE,
        f"nothing answers at {url}\nStart Treadle with `treadle up`, or say where it is with --url or TREADLE_URL.",
    )


def failure(response: httpx.Response) -> CommandFailed:
    """The failure that a problem document tells."""
    try:
        problem = response.json()
    except ValueError:
        problem = None
    if not isinstance(problem, dict):
        problem = {"status": response.status_code, "detail": response.reason_phrase}
    sentence = _sentence(problem)
    if problem.get("reason") in _TOKENS_FAULT:
        sentence += (
            "\nPut a token into TREADLE_TOKEN. `treadle token NAME` makes one where TREADLE_AUTH_SECRET is known."
        )
    return CommandFailed(exit_for_status(response.status_code), sentence, problem)


def _answer(response: httpx.Response) -> Json:
    if not response.is_success:
        raise failure(response)
    try:
        answer = response.json()
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise CommandFailed(Exit.FAULT, f"{response.request.url} answered no JSON object: is it a Treadle gateway?")
    return answer


def _sentence(problem: Json) -> str:
    """`detail`, and behind it what it does not say itself: who decided and when, the state, the field, the reason."""
    detail = str(problem.get("detail") or problem.get("title") or "refused")
    metadata = problem.get("metadata") or {}
    facts = {
        "decided by": metadata.get("decided_by"),
        "at": metadata.get("decided_time"),
        "state": problem.get("state"),
        "field": metadata.get("field"),
        "reason": problem.get("reason"),
    }
    told = ", ".join(f"{name} {fact}" for name, fact in facts.items() if fact and str(fact) not in detail)
    return f"{detail} ({told})" if told else detail
