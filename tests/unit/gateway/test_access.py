"""Who gets in: tokens, tenants, hosts, origins, rates, and where the gateway may listen."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from gateway.limits import Limits
from gateway.refusals import TooManyRequests
from services.kernel.clock import SystemClock
from services.kernel.principal import LOCAL, Authenticator, Principal
from services.kernel.settings import SettingsFault
from tests.fakes.running_gateway import SECRET, Gateway, Start, bearer

REVIEWER = frozenset({"reviewer"})


async def test_without_a_secret_everybody_who_shows_no_token_is_the_local_user(gateway: Gateway) -> None:
    for headers in ({}, {"authorization": ""}, {"authorization": "Basic YTpi"}):
        assert (await gateway.http.get("/api/threads", headers=headers)).status_code == 200
    assert gateway.script.callers == [LOCAL] * 3


async def test_without_a_secret_a_token_that_is_shown_must_verify_and_travels_on(gateway: Gateway) -> None:
    for token in ("whatever", "x", "x.y.z"):
        refused = await gateway.http.get("/api/threads", headers={"authorization": f"Bearer {token}"})
        assert refused.status_code == 401
    assert (await gateway.http.get("/api/threads", headers=bearer())).status_code == 401  # signed with a secret
    assert gateway.script.asked == []
    agent = Principal(LOCAL.tenant, "ses_1", "agent", frozenset({"agent"}))
    token = Authenticator(None, SystemClock()).mint(agent, timedelta(minutes=1))
    assert (await gateway.http.get("/api/threads", headers={"authorization": f"Bearer {token}"})).status_code == 200
    assert gateway.script.callers == [agent]


@pytest.mark.parametrize("listen", ["0.0.0.0:0", "[::]:0", "192.0.2.1:0", "example.com:0"])
async def test_without_a_secret_it_refuses_to_listen_to_others(start: Start, listen: str) -> None:
    with pytest.raises(SettingsFault, match=r"TREADLE_GATEWAY_LISTEN.*TREADLE_AUTH_SECRET"):
        await start(gateway_listen=listen)


async def test_with_a_secret_it_may_listen_anywhere(start: Start) -> None:
    gateway = await start(gateway_listen="0.0.0.0:0", auth_secret=SECRET)
    assert gateway.address.startswith("0.0.0.0:")


async def test_settings_that_are_wrong_are_all_told(start: Start) -> None:
    with pytest.raises(SettingsFault) as caught:
        await start(gateway_listen="nowhere", gateway_deadline_seconds=0)
    assert "TREADLE_GATEWAY_LISTEN" in str(caught.value)
    assert "TREADLE_GATEWAY_DEADLINE_SECONDS" in str(caught.value)


async def test_the_token_is_verified_here_and_again_by_the_service(start: Start) -> None:
    gateway = await start(auth_secret=SECRET)
    for headers in ({}, {"authorization": "Bearer x.y.z"}, {"authorization": "Basic YTpi"}):
        refused = await gateway.http.get("/api/threads", headers=headers)
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"] == "Bearer"
    assert gateway.script.asked == []
    response = await gateway.http.get("/api/threads", headers=bearer("acme", "ann", REVIEWER))
    assert response.status_code == 200
    assert gateway.script.callers == [Principal("acme", "ann", "user", REVIEWER)]
    assert (await gateway.http.get("/healthz")).status_code == 200


async def test_a_name_that_was_made_to_point_here_is_refused(gateway: Gateway) -> None:
    for host in (
        "evil.example",
        f"evil.example:{gateway.port}",
        "127.0.0.1.evil.example",
        "",
        "localhost.evil",
        "[::1",
    ):
        refused = await gateway.http.get("/api/threads", headers={"host": host})
        assert refused.status_code == 421
        assert refused.json()["reason"] == "HOST_NOT_ALLOWED"
        assert (await gateway.http.get("/", headers={"host": host})).status_code == 421
    for host in ("localhost", f"LOCALHOST:{gateway.port}", "127.0.0.1:80", "[::1]:8080"):
        assert (await gateway.http.get("/api/threads", headers={"host": host})).status_code == 200


async def test_pages_of_foreign_origins_cannot_change_anything(gateway: Gateway) -> None:
    path = "/api/threads/thr_1/dismiss"
    own = f"http://127.0.0.1:{gateway.port}"
    foreign = ["http://evil.example", "null", f"http://127.0.0.1:{gateway.port + 1}", f"ftp://127.0.0.1:{gateway.port}"]
    for origin in foreign:
        refused = await gateway.http.post(path, headers={"origin": origin})
        assert (refused.status_code, refused.json()["reason"]) == (403, "ORIGIN_NOT_ALLOWED")
    refused = await gateway.http.post(path, headers={"sec-fetch-site": "cross-site"})
    assert refused.status_code == 403
    assert gateway.script.asked == []
    for headers in ({"origin": own}, {}, {"sec-fetch-site": "same-origin"}):
        assert (await gateway.http.post(path, headers=headers)).status_code == 200


async def test_hosts_and_origins_can_be_allowed(start: Start) -> None:
    gateway = await start(gateway_allowed_hosts="box.lan", gateway_cors_origins="https://console.example")
    origin = {"origin": "https://console.example", "host": "box.lan"}
    preflight = await gateway.http.options("/api/threads", headers={**origin, "access-control-request-method": "POST"})
    assert preflight.status_code == 200
    assert preflight.headers["access-control-allow-origin"] == "https://console.example"
    response = await gateway.http.post("/api/threads", json={"title": "x"}, headers=origin)
    assert response.status_code == 200
    assert response.headers["access-control-allow-origin"] == "https://console.example"
    other = await gateway.http.get("/api/threads", headers={"origin": "https://evil.example"})
    assert "access-control-allow-origin" not in other.headers


async def test_too_many_requests_are_429_with_a_time_to_come_back(start: Start) -> None:
    gateway = await start(gateway_rate_per_second=2)
    statuses = [(await gateway.http.get("/api/threads")).status_code for _ in range(10)]
    assert statuses.count(200) >= 4
    assert 429 in statuses
    refused = await gateway.http.get("/api/threads")
    while refused.status_code == 200:
        refused = await gateway.http.get("/api/threads")
    assert int(refused.headers["retry-after"]) >= 1


def test_buckets_fill_again_and_are_each_principals_own() -> None:
    now = 0.0
    limits = Limits(per_second=1, open_streams=1, now=lambda: now)
    ann, bob = Principal("t", "ann"), Principal("t", "bob")
    for _ in range(2):
        limits.spend(ann)
    with pytest.raises(TooManyRequests):
        limits.spend(ann)
    limits.spend(bob)
    now = 1.0
    limits.spend(ann)
    with limits.stream(ann):
        with limits.stream(bob):
            pass
        with pytest.raises(TooManyRequests), limits.stream(ann):
            pass
    with limits.stream(ann):
        pass


async def test_answers_and_pages_carry_the_security_headers(gateway: Gateway) -> None:
    for path in ("/api/threads", "/api/nope", "/docs", "/healthz", "/"):
        headers = (await gateway.http.get(path)).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert "server" not in headers


async def test_secrets_never_reach_a_log(start: Start, capsys: pytest.CaptureFixture[str]) -> None:
    gateway = await start(auth_secret=SECRET)
    headers = bearer()
    await gateway.http.get("/api/threads?page_token=ZX-SECRET-7", headers=headers)
    await gateway.http.post("/api/threads", content=json.dumps({"x": "ZX-SECRET-7"}), headers=headers)
    out, err = capsys.readouterr()
    assert headers["authorization"][7:] not in out + err
    assert "ZX-SECRET-7" not in out + err
