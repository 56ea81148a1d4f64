"""http_request against a real server on loopback, and the rule of the hosts that it may reach."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from ipaddress import ip_address
from typing import Any

import pytest

from services.runner.actions.hosts import AllowedHosts
from services.runner.actions.http_request import MOST_ANSWER, HttpRequest
from services.runner.domain.failure import Code, Failed
from tests.unit.runner.tasks import execute

LOOPBACK = AllowedHosts.parse(["loopback"])


class Site:
    """A hand-written HTTP/1.1 server: answers by path, keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, str], bytes]] = []
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {k.lower(): v for k, _, v in (line.partition(": ") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        self.asked.append((head[0], headers, body))
        path = head[0].split()[1]
        if path == "/drip":
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
            while not writer.is_closing():
                writer.write(b".")
                await asyncio.sleep(0.02)
                if reader.at_eof():
                    break
        else:
            writer.write(self._answer(path))
        await self._close(writer)

    def _answer(self, path: str) -> bytes:
        if path == "/large":
            return b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + b"x" * (MOST_ANSWER * 3)
        if path.startswith("/to="):
            return f"HTTP/1.1 307 Go\r\nLocation: {path[4:]}\r\nContent-Length: 0\r\n\r\n".encode()
        if path == "/fault":
            return b"HTTP/1.1 503 No\r\nContent-Length: 6\r\n\r\nsecret"
        return b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\n\xffok"

    async def _close(self, writer: asyncio.StreamWriter) -> None:
        try:
            await writer.drain()
            writer.close()
            await writer.wait_closed()
        except OSError:
            return


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    site = Site()
    server = await asyncio.start_server(site.serve, "127.0.0.1", 0)
    site.port = server.sockets[0].getsockname()[1]
    async with server:
        yield site


async def request(url: str, allowed: AllowedHosts = LOOPBACK, timeout: float = 5, **more: Any) -> dict[str, Any]:
    return dict(await HttpRequest(allowed, timeout).execute(execute("http_request", {"url": url, **more})))


async def failure(url: str, allowed: AllowedHosts = LOOPBACK, timeout: float = 5, **more: Any) -> Failed:
    with pytest.raises(Failed) as failed:
        await request(url, allowed, timeout, **more)
    return failed.value


async def test_sends_what_was_approved(site: Site) -> None:
    url = f"http://localhost:{site.port}/x?y=1"

    answer = await request(url, method="POST", headers={"X-A": "b"}, body="ü")

    line, headers, body = site.asked[0]
    assert (line, headers["x-a"], body.decode()) == ("POST /x?y=1 HTTP/1.1", "b", "ü")
    assert headers["host"] == f"localhost:{site.port}"
    assert headers["idempotency-key"] == "key-1"
    assert answer == {"status": 200, "url": url, "content_type": "text/plain", "body": "�ok", "truncated": False}


async def test_a_get_carries_no_idempotency_key(site: Site) -> None:
    await request(f"http://127.0.0.1:{site.port}/")

    assert "idempotency-key" not in site.asked[0][1]


async def test_an_error_status_is_a_failure(site: Site) -> None:
    failed = await failure(f"http://127.0.0.1:{site.port}/fault")

    assert (failed.code, "503" in failed.detail) == (Code.HTTP_STATUS, True)


async def test_a_large_answer_is_capped_and_says_so(site: Site) -> None:
    answer = await request(f"http://127.0.0.1:{site.port}/large")

    assert (len(answer["body"]), answer["truncated"]) == (MOST_ANSWER, True)


async def test_a_dripping_answer_ends_in_time(site: Site) -> None:
    assert (await failure(f"http://127.0.0.1:{site.port}/drip", timeout=0.3)).code is Code.TIMEOUT


async def test_redirects_stay_on_the_host_and_port(site: Site) -> None:
    here = f"http://127.0.0.1:{site.port}"

    assert (await request(f"{here}/to=/x"))["url"] == f"{here}/x"
    for elsewhere in ("http://127.0.0.1:1/", f"http://localhost:{site.port}/", "http://10.0.0.1/"):
        assert (await failure(f"{here}/to={elsewhere}")).code is Code.REDIRECT_REFUSED
    assert (await failure(f"{here}/to=/to=/to=/to=/to=/to=/to=/x")).code is Code.REDIRECT_REFUSED


async def test_a_host_that_does_not_listen_is_unreachable() -> None:
    assert (await failure("http://127.0.0.1:1/")).code is Code.UNREACHABLE


@pytest.mark.parametrize(
    "url",
    ["http://192.0.2.1/", "http://10.0.0.1/", "http://169.254.169.254/meta", "http://[fe80::1]/", "http://0.0.0.0/"],
)
async def test_other_hosts_are_refused_by_default_without_a_connection(url: str) -> None:
    assert (await failure(url)).code is Code.HOST_NOT_ALLOWED


@pytest.mark.parametrize(
    "url", ["ftp://127.0.0.1/", "file:///etc/passwd", "http://", "nonsense", "http://[::1", "http://a b/"]
)
async def test_what_is_no_http_url_is_refused(url: str) -> None:
    assert (await failure(url)).code in (Code.INVALID_PARAMETERS, Code.HOST_NOT_ALLOWED)


async def test_a_name_without_an_address_is_refused_unless_it_is_listed() -> None:
    assert (await failure("http://nowhere.invalid/")).code is Code.HOST_NOT_ALLOWED
    listed = AllowedHosts.parse(["nowhere.invalid"])
    assert (await failure("http://nowhere.invalid/", listed)).code is Code.UNREACHABLE


async def test_a_listed_name_that_leads_to_this_machine_is_refused(site: Site) -> None:
    """DNS rebinding: the name is allowed, the address that it leads to is not."""
    failed = await failure(f"http://localhost:{site.port}/", AllowedHosts.parse(["localhost"]))

    assert failed.code is Code.HOST_NOT_ALLOWED
    assert site.asked == []


async def test_a_proxy_of_the_environment_is_not_used(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")

    assert (await request(f"http://127.0.0.1:{site.port}/"))["status"] == 200


@pytest.mark.parametrize(
    ("words", "host", "address", "allowed"),
    [
        (["loopback"], "localhost", "127.0.0.1", True),
        (["loopback"], "x", "127.9.9.9", True),
        (["loopback"], "x", "::1", True),
        (["loopback"], "x", "::ffff:127.0.0.1", True),
        (["loopback"], "x", "::ffff:10.0.0.1", False),
        (["loopback"], "x", "192.0.2.7", False),
        (["10.1.0.0/16"], "x", "10.1.2.3", True),
        (["10.1.0.0/16"], "x", "10.2.2.3", False),
        (["crm.example"], "CRM.example.", "198.51.100.1", True),
        (["crm.example"], "www.crm.example", "198.51.100.1", False),
        (["*.crm.example"], "www.crm.example", "198.51.100.1", True),
        (["*.crm.example"], "evilcrm.example", "198.51.100.1", False),
        (["crm.example"], "crm.example", "169.254.169.254", False),
        (["crm.example"], "crm.example", "127.0.0.1", False),
        (["crm.example", "loopback"], "crm.example", "127.0.0.1", True),
        ([], "localhost", "127.0.0.1", False),
    ],
)  # fmt: skip
def test_the_allow_list(words: list[str], host: str, address: str, allowed: bool) -> None:
    assert AllowedHosts.parse(words).allows(host, ip_address(address)) is allowed


@pytest.mark.parametrize("word", ["*", "a b", "http://x", "x/y", "-", "*.*.x"])
def test_a_word_that_is_no_host_is_a_fault_of_the_settings(word: str) -> None:
    with pytest.raises(ValueError, match="is no host"):
        AllowedHosts.parse([word])
