"""Chromium's own EventSource, in a page that came from the stream's origin and under the house's own CSP."""

from __future__ import annotations

from dataclasses import dataclass

from playwright.async_api import Page

from tests.clients.heard import LISTENED, Heard

_READ = """
([path, names, end]) => new Promise((resolve, reject) => {
  const heard = [];
  const source = new EventSource(path);
  const hear = (event) => {
    heard.push([event.lastEventId, event.type, event.data]);
    if (!event.data.includes(end)) return;
    source.close();
    resolve(heard);
  };
  for (const name of names) source.addEventListener(name, hear);
  source.onerror = () => {
    if (source.readyState === EventSource.CLOSED) reject(new Error(`given up after ${heard.length} events`));
  };
})
"""


@dataclass(frozen=True)
class ChromiumClient:
    """Implements heard.Client. The page has been loaded from the origin."""

    page: Page

    async def read(self, path: str, end: str) -> list[Heard]:
        """As heard.Client."""
        return [Heard(*one) for one in await self.page.evaluate(_READ, [path, LISTENED, end])]
