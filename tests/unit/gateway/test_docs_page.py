"""`/docs` in a browser: every operation is there, types unfold, and streams tell their events."""

from __future__ import annotations

from playwright.async_api import async_playwright, expect

from tests.browser.chromium import ARGUMENTS, executable
from tests.fakes.running_gateway import Gateway

PATIENCE = 60_000
"""Milliseconds."""


async def test_types_unfold_and_streams_tell_their_events(gateway: Gateway) -> None:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=executable(), args=list(ARGUMENTS))
        try:
            page = await browser.new_page()
            page.set_default_timeout(PATIENCE)
            faults: list[str] = []
            page.on("pageerror", lambda fault: faults.append(str(fault)))
            await page.goto(f"http://{gateway.address}/docs", timeout=PATIENCE)
            document = (await gateway.http.get("/openapi.json")).json()
            operations = sum(len(verbs) for verbs in document["paths"].values())
            await expect(page.locator("#operations details[id]")).to_have_count(operations, timeout=PATIENCE)

            spawning = page.locator("#CoordinationService_SpawnWorkers")
            await spawning.locator("> summary").click()
            nested = spawning.locator("details.type", has_text="coordination.WorkerSpec").first
            await nested.locator("> summary").click()
            await expect(nested.locator("> table")).to_contain_text(
                "self-contained: 1..4,000 code points", timeout=PATIENCE
            )
            await nested.locator("> summary").click()
            await nested.locator("> summary").click()
            await expect(nested.locator("> table")).to_have_count(1, timeout=PATIENCE)

            stream = page.locator("#FeedService_SubscribeSession")
            await stream.locator("> summary").click()
            await expect(stream).to_contain_text("worker_result", timeout=PATIENCE)
            delta = stream.locator("details.type", has_text="streaming.TextDelta").first
            await delta.locator("> summary").click()
            await expect(delta.locator("> table")).to_contain_text("The piece.", timeout=PATIENCE)
            await expect(stream).to_contain_text("text_delta", timeout=PATIENCE)
            assert faults == []
        finally:
            await browser.close()
