"""The log-in page where there is a secret: a person's token opens it, another one does not, and one leaves it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from services.kernel.clock import SystemClock
from services.kernel.principal import Authenticator, Principal
from tests.browser.axe import violations
from tests.browser.console import Console
from tests.stack import running_stack

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

SECRET = "a-secret-of-this-test-and-of-nobody-else"
PATIENT = 60_000


def token(kind: str = "user", lifetime: timedelta = timedelta(hours=1)) -> str:
    """Of a person who may look and decide."""
    principal = Principal("default", "ann", kind, frozenset({"viewer", "reviewer"}))  # type: ignore[arg-type]
    return Authenticator(SECRET, SystemClock()).mint(principal, lifetime)


async def test_a_person_logs_in_works_live_and_logs_out(browser: Browser, tmp_path: Path) -> None:
    async with running_stack(tmp_path, environment={"TREADLE_AUTH_SECRET": SECRET}) as stack:
        context = await browser.new_context(viewport={"width": 390, "height": 844})
        console = Console(await context.new_page(), stack.url)
        page = console.page
        await page.goto(f"{stack.url}/sessions")
        field = page.get_by_label("Token")
        await expect(field).to_be_focused(timeout=PATIENT)
        assert await violations(page, "log in") == []
        for wrong, why in (
            ("nonsense", "not known here"),
            (token(lifetime=timedelta(seconds=-60)), "its time is up"),
            (token("service"), "not a person's"),
        ):
            await field.fill(wrong)
            await console.press("Enter")
            await expect(page.get_by_role("alert")).to_contain_text(why)
        assert await violations(page, "refused") == []
        await field.fill(token())
        await console.press("Enter")
        await expect(page.locator("[data-live=live]")).to_be_visible(timeout=PATIENT)
        await expect(page).to_have_url(f"{stack.url}/sessions")
        await console.press("1", "n")
        dialog = page.get_by_role("dialog", name="New thread")
        await dialog.get_by_label("Title").fill("Opened by ann")
        await console.press("Control+Enter")
        await expect(page.get_by_role("heading", name="Opened by ann")).to_be_visible(timeout=PATIENT)
        await page.reload()
        await expect(page.get_by_role("heading", name="Opened by ann")).to_be_visible(timeout=PATIENT)
        assert await page.evaluate("document.cookie") == ""
        assert await console.overflow() == 0
        await page.get_by_role("button", name="ann: logged in").click()
        await page.get_by_role("menuitem", name="Log out").click()
        await expect(field).to_be_focused()
        await page.reload()
        await expect(field).to_be_visible(timeout=PATIENT)
        await context.clear_cookies()
        await context.close()
        assert console.faults == []


async def test_a_token_that_runs_out_leads_back_to_the_door(browser: Browser, tmp_path: Path) -> None:
    async with running_stack(tmp_path, environment={"TREADLE_AUTH_SECRET": SECRET}) as stack:
        context = await browser.new_context()
        console = Console(await context.new_page(), stack.url)
        page = console.page
        await page.goto(stack.url)
        await page.get_by_label("Token").fill(token())
        await console.press("Enter")
        await expect(page.locator("[data-live=live]")).to_be_visible(timeout=PATIENT)
        await context.clear_cookies()
        await console.press("g")
        await expect(page.get_by_label("Token")).to_be_focused(timeout=PATIENT)
        await context.close()
        assert console.faults == []
