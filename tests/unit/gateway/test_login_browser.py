"""The cookie in a real browser: its EventSource is let in, its scripts cannot read it, another origin cannot use it."""

from __future__ import annotations

from datetime import timedelta

from playwright.async_api import async_playwright

from services.kernel.clock import SystemClock
from services.kernel.principal import Authenticator, Principal
from tests.browser.chromium import ARGUMENTS, executable
from tests.fakes.running_gateway import SECRET, Start

_LOG_IN = """async (token) => (await fetch('/auth/session', {
    method: 'POST', headers: {'content-type': 'application/json'}, body: JSON.stringify({token}),
})).status"""
_LISTEN = """() => new Promise((told) => {
    const source = new EventSource('/api/stream');
    source.addEventListener('thread', (event) => { source.close(); told(event.lastEventId); });
    source.onerror = () => { if (source.readyState === EventSource.CLOSED) told('closed'); };
})"""
_POST = """async (url) => {
    try {
        const answer = await fetch(url, {method: 'POST', credentials: 'include', mode: 'no-cors'});
        return answer.type;
    } catch { return 'failed'; }
}"""


async def test_a_page_logs_in_and_listens_and_a_page_of_another_port_can_do_nothing(start: Start) -> None:
    gateway = await start(auth_secret=SECRET)
    gateway.services.log("tenant").append(b"{}", event="thread")
    ann = Principal("acme", "ann", "user", frozenset({"reviewer"}))
    token = Authenticator(SECRET, SystemClock()).mint(ann, timedelta(hours=1))
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=executable(), args=list(ARGUMENTS))
        try:
            context = await browser.new_context()
            page = await context.new_page()
            page.set_default_timeout(60_000)
            await page.goto(f"http://{gateway.address}/docs")
            assert await page.evaluate(_LISTEN) == "closed"
            assert await page.evaluate(_LOG_IN, token) == 200
            assert await page.evaluate("document.cookie") == ""
            assert await page.evaluate(_LISTEN) == "1-1"
            assert await page.evaluate("fetch('/api/threads').then((answer) => answer.status)") == 200

            # Cookies know no ports: a page of another one on this host is of the same site, and sends it; POST without
            # a body needs no leave of ours.
            accept = f"http://{gateway.address}/api/threads/thr_1/accept"
            assert await page.evaluate(_POST, accept) == "basic"
            [(name, _)] = [one for one in gateway.script.asked if one[0] == "AcceptThread"]
            await context.route(
                "http://127.0.0.1:9/**", lambda route: route.fulfill(body="<p>", content_type="text/html")
            )
            await page.goto("http://127.0.0.1:9/")
            async with page.expect_request(accept) as made:
                assert await page.evaluate(_POST, accept) == "failed"  # it may not read the answer either
            sent = await (await made.value).all_headers()
            assert "treadle=" in sent["cookie"]
            assert [one for one, _ in gateway.script.asked].count(name) == 1

            await page.goto(f"http://{gateway.address}/docs")
            gone = "fetch('/auth/session', {method: 'DELETE'}).then((answer) => answer.status)"
            assert await page.evaluate(gone) == 200
            assert await page.evaluate("fetch('/api/threads').then((answer) => answer.status)") == 401
        finally:
            await browser.close()
