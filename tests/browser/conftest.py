"""One Treadle and one Chromium for all browser tests; a fresh browser context, watched for faults, for each."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, async_playwright

from tests.browser import chromium
from tests.browser.console import Console, Windows
from tests.browser.families import Families
from tests.browser.matters import Matters
from tests.stack import Stack, running_stack


@pytest.fixture(scope="session")
async def console_stack(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stack]:
    """`treadle up` on a folder of its own."""
    async with running_stack(tmp_path_factory.mktemp("console")) as stack:
        yield stack


@pytest.fixture(scope="session")
async def browser() -> AsyncIterator[Browser]:
    """Debian's Chromium."""
    path = chromium.executable()
    async with async_playwright() as playwright:
        running = await playwright.chromium.launch(executable_path=path, args=list(chromium.ARGUMENTS))
        yield running
        await running.close()


@pytest.fixture
async def windows(browser: Browser, console_stack: Stack) -> AsyncIterator[Windows]:
    """Opens consoles; at the end no page may have had a script error or a CSP violation."""
    opened = Windows(browser, console_stack.url)
    yield opened
    await opened.close()


@pytest.fixture
async def console(windows: Windows) -> Console:
    """A console on a desk: wide and light."""
    return await windows.open()


@pytest.fixture
async def matters(console_stack: Stack) -> AsyncIterator[Matters]:
    """Everybody else."""
    async with console_stack.client() as client:
        yield Matters(client)


@pytest.fixture(scope="session")
def shots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where screenshots go: BROWSER_SHOTS, else the test run's folder."""
    told = os.environ.get("BROWSER_SHOTS")
    folder = Path(told) if told else tmp_path_factory.mktemp("shots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture
def families(matters: Matters) -> Families:
    """Everybody else's families."""
    return Families(matters)
