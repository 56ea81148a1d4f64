"""A person's browser with a secret configured: the token in a cookie that no script reads and no other site can use."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import httpx
import pytest

from services.kernel.clock import SystemClock
from services.kernel.principal import Authenticator, Principal
from tests.fakes.running_gateway import SECRET, Gateway, Start

ANN = Principal("acme", "ann", "user", frozenset({"reviewer", "viewer"}))
LIFETIME = timedelta(hours=1)


def _token(principal: Principal = ANN, lifetime: timedelta = LIFETIME) -> str:
    return Authenticator(SECRET, SystemClock()).mint(principal, lifetime)


def _own(gateway: Gateway, scheme: str = "http") -> dict[str, str]:
    return {"origin": f"{scheme}://127.0.0.1:{gateway.port}", "sec-fetch-site": "same-origin"}


async def _log_in(gateway: Gateway, token: str, **headers: str) -> httpx.Response:
    return await gateway.http.post("/auth/session", json={"token": token}, headers=_own(gateway) | headers)


def _cookie(response: httpx.Response) -> dict[str, str]:
    """The cookie header that a browser would send back."""
    return {"cookie": response.headers["set-cookie"].partition(";")[0]}


async def test_a_page_logs_in_reads_streams_decides_and_logs_out(start: Start) -> None:
    gateway = await start(auth_secret=SECRET)
    assert (await gateway.http.get("/auth/session")).status_code == 401
    token = _token()
    given = await _log_in(gateway, token)
    assert given.status_code == 200, given.text
    told = given.json()
    assert told.pop("expire_time").endswith("Z")
    person = {"tenant": "acme", "subject": "ann", "kind": "user", "roles": ["reviewer", "viewer"]}
    assert told == {"open": False, **person}
    set_cookie = given.headers["set-cookie"]
    attributes = {part.strip().lower() for part in set_cookie.split(";")[1:]}
    assert {"httponly", "samesite=strict", "path=/"} < attributes
    assert "secure" not in attributes  # a page over plain http would lose it
    seconds = int(next(part for part in attributes if part.startswith("max-age=")).partition("=")[2])
    assert 3_000 < seconds <= 3_600
    assert given.headers["cache-control"] == "no-store"
    assert token not in given.text

    cookie = _cookie(given) | {"sec-fetch-site": "same-origin"}
    gateway.http.cookies.clear()
    assert (await gateway.http.get("/auth/session", headers=cookie)).json()["subject"] == "ann"
    assert (await gateway.http.get("/api/threads", headers=cookie)).status_code == 200
    assert (await gateway.http.post("/api/threads", json={"title": "x"}, headers=cookie)).status_code == 200
    assert gateway.script.callers == [ANN, ANN]  # the services verified it again
    gateway.services.log("tenant").append(b"{}", event="thread")
    async with gateway.http.stream("GET", "/api/stream", headers=cookie) as stream:
        assert stream.status_code == 200
        async for line in stream.aiter_lines():
            if line == "event: thread":
                break

    gone = await gateway.http.delete("/auth/session", headers=cookie)
    assert gone.status_code == 200
    for name in ("treadle", "__Host-treadle"):
        [header] = [value for value in gone.headers.get_list("set-cookie") if value.startswith(f"{name}=;")]
        assert "Max-Age=0" in header


async def test_over_https_the_cookie_is_for_this_host_and_for_https_alone(start: Start) -> None:
    gateway = await start(auth_secret=SECRET)
    given = await gateway.http.post("/auth/session", json={"token": _token()}, headers=_own(gateway, "https"))
    header = given.headers["set-cookie"]
    assert header.startswith("__Host-treadle=")
    assert {"Secure", "Path=/"} < {part.strip() for part in header.split(";")}
    assert "Domain" not in header
    gateway.http.cookies.clear()
    assert (await gateway.http.get("/api/threads", headers=_cookie(given))).status_code == 200


@pytest.mark.parametrize(
    "witness",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site", "origin": "http://other.127.0.0.1"},
        {"sec-fetch-site": "none"},
        {},
    ],
    ids=str,
)
async def test_pages_of_others_change_nothing_with_the_cookie(start: Start, witness: dict[str, str]) -> None:
    gateway = await start(auth_secret=SECRET)
    cookie = _cookie(await _log_in(gateway, _token()))
    gateway.http.cookies.clear()
    for method, path in (("POST", "/api/threads"), ("DELETE", "/auth/session")):
        refused = await gateway.http.request(method, path, headers=cookie | witness)
        assert (refused.status_code, refused.json()["reason"]) == (403, "ORIGIN_NOT_ALLOWED")
    again = await gateway.http.post("/auth/session", json={"token": _token()}, headers=witness)
    assert (again.status_code, again.json()["reason"]) == (403, "ORIGIN_NOT_ALLOWED")
    assert gateway.script.asked == []


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_pages_of_others_read_nothing_with_the_cookie(start: Start, site: str) -> None:
    gateway = await start(auth_secret=SECRET, gateway_cors_origins="https://console.example")
    cookie = _cookie(await _log_in(gateway, _token()))
    gateway.http.cookies.clear()
    refused = await gateway.http.get(
        "/api/threads", headers=cookie | {"sec-fetch-site": site, "origin": "https://console.example"}
    )
    assert refused.status_code == 403
    assert "access-control-allow-credentials" not in refused.headers


async def test_a_header_wins_over_the_cookie_and_tools_take_no_cookie(start: Start) -> None:
    gateway = await start(auth_secret=SECRET)
    cookie = _cookie(await _log_in(gateway, _token())) | {"sec-fetch-site": "same-origin"}
    gateway.http.cookies.clear()
    bob = {"authorization": f"Bearer {_token(Principal('acme', 'bob', 'user', frozenset({'viewer'})))}"}
    assert (await gateway.http.get("/auth/session", headers=cookie | bob)).json()["subject"] == "bob"
    refused = await gateway.http.get("/auth/session", headers=cookie | {"authorization": "Bearer x.y.z"})
    assert refused.status_code == 401
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert (await gateway.http.post("/mcp", json=ping, headers=cookie)).status_code == 401


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({}, 400, "token"),
        ({"token": ""}, 400, "token"),
        ({"token": 7}, 400, "token"),
        ({"token": "é"}, 400, "token"),
        ({"token": "x" * 3_501}, 400, "token"),
        ({"token": "x", "next": "/"}, 400, "next"),
        ({"token": "x.y.z"}, 401, None),
        ({"token": "x; Domain=evil.example"}, 401, None),
        ({"token": "x" * 20_000}, 413, "body"),
    ],
)
async def test_what_is_no_token_sets_no_cookie(
    start: Start, body: dict[str, Any], status: int, field: str | None
) -> None:
    gateway = await start(auth_secret=SECRET)
    refused = await gateway.http.post("/auth/session", json=body, headers=_own(gateway))
    assert refused.status_code == status
    assert refused.json()["metadata"].get("field") == field
    assert "set-cookie" not in refused.headers


async def test_only_people_log_in_and_only_as_long_as_their_token_is_good(start: Start) -> None:
    gateway = await start(auth_secret=SECRET)
    agent = Principal("acme", "ses_1", "agent", frozenset({"agent"}))
    refused = await _log_in(gateway, _token(agent))
    assert (refused.status_code, refused.json()["reason"]) == (403, "PERSON_REQUIRED")
    refused = await _log_in(gateway, _token(lifetime=timedelta(seconds=-1)))
    assert (refused.status_code, refused.json()["reason"]) == (401, "TOKEN_EXPIRED")
    wrong = await gateway.http.put("/auth/session", json={}, headers=_own(gateway))
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "DELETE, GET, POST")
    form = await gateway.http.post("/auth/session", data={"token": _token()}, headers=_own(gateway))
    assert form.status_code == 415
    for_ever = await _log_in(gateway, _token(lifetime=timedelta(days=365 * 5_000)))
    assert for_ever.status_code == 200


async def test_without_a_secret_nobody_needs_to_log_in_and_an_old_cookie_is_not_looked_at(gateway: Gateway) -> None:
    stale = {"cookie": f"other=1; treadle={_token()}"}
    told = await gateway.http.get("/auth/session", headers=stale)
    assert told.status_code == 200
    assert told.json() == {
        "open": True,
        "tenant": "default",
        "subject": "local",
        "kind": "user",
        "roles": ["admin", "agent", "reviewer", "runner", "viewer"],
    }
    assert (await gateway.http.get("/api/threads", headers=stale)).status_code == 200


async def test_neither_token_nor_cookie_reaches_a_log(start: Start, capsys: pytest.CaptureFixture[str]) -> None:
    gateway = await start(auth_secret=SECRET)
    token = _token()
    cookie = _cookie(await _log_in(gateway, token))
    await gateway.http.get("/api/nope", headers=cookie)
    await gateway.http.post("/api/threads", json={"title": "x"}, headers=cookie)
    out, err = capsys.readouterr()
    assert token not in out + err


async def test_a_stream_ends_when_its_token_does_and_is_not_let_in_again(start: Start) -> None:
    gateway = await start(auth_secret=SECRET)
    given = await _log_in(gateway, _token(lifetime=timedelta(seconds=3)))
    cookie = _cookie(given) | {"sec-fetch-site": "same-origin"}
    lasting = {"authorization": f"Bearer {_token()}"}
    gateway.http.cookies.clear()
    gateway.services.log("tenant").append(b"{}", event="thread")
    async with (
        gateway.http.stream("GET", "/api/stream", headers=lasting) as other,
        gateway.http.stream("GET", "/api/stream", headers=cookie) as stream,
    ):
        assert stream.status_code == 200
        text = "".join([piece async for piece in stream.aiter_text()])
        assert "event: thread" in text
        assert text.endswith(": closed expired\n\n")
        gateway.services.log("tenant").append(b"{}", event="session")
        async for line in other.aiter_lines():  # whose token is good goes on
            if line == "event: session":
                break
    refused = await gateway.http.get("/api/stream", headers=cookie)
    assert (refused.status_code, refused.json()["reason"]) == (401, "TOKEN_EXPIRED")
