"""What the gateway serves besides the API: the console, the document and its page, health and metrics."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.running_gateway import Gateway, Start


@pytest.fixture
async def gateway(start: Start) -> Gateway:
    """A gateway with a folder of its own for the console."""
    return await start()


def build_console(folder: Path) -> None:
    """A built console, as small as can be."""
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>Treadle</title>")
    (folder / "assets" / "app-1a2b3c.js").write_text("console.log(1)")
    (folder / "treadle.svg").write_text("<svg/>")
    (folder.parent / "outside.txt").write_text("ZX-SECRET-7")


async def test_without_a_build_the_page_says_how_to_make_one(gateway: Gateway) -> None:
    response = await gateway.http.get("/")
    assert response.status_code == 503
    assert "make console" in response.text
    build_console(gateway.console)
    assert (await gateway.http.get("/")).status_code == 200  # no restart is needed


async def test_every_page_of_the_console_is_the_page(gateway: Gateway) -> None:
    build_console(gateway.console)
    for path in ("/", "/index.html", "/threads/thr_1", "/sessions/ses_1/plan"):
        response = await gateway.http.get(path)
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/html")
        assert response.headers["cache-control"] == "no-cache"
    assert (await gateway.http.get("/treadle.svg")).headers["cache-control"] == "no-cache"
    for path in ("/assets/gone.js", "/favicon.ico"):
        assert (await gateway.http.get(path)).status_code == 404
    assert (await gateway.http.post("/threads/thr_1")).status_code == 405


async def test_hashed_assets_are_kept_for_ever(gateway: Gateway) -> None:
    build_console(gateway.console)
    response = await gateway.http.get("/assets/app-1a2b3c.js")
    assert response.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert response.headers["content-type"].startswith("text/javascript")
    again = await gateway.http.get("/assets/app-1a2b3c.js", headers={"if-none-match": response.headers["etag"]})
    assert again.status_code == 304


@pytest.mark.parametrize(
    "path", ["/../outside.txt", "/%2e%2e/outside.txt", "/assets/..%2f..%2foutside.txt", "/..%5coutside.txt"]
)
async def test_nothing_outside_the_folder_is_served(gateway: Gateway, path: str) -> None:
    build_console(gateway.console)
    assert "ZX-SECRET-7" not in (await gateway.http.get(path)).text


async def test_the_documents_page_loads_nothing_from_elsewhere(gateway: Gateway) -> None:
    page = (await gateway.http.get("/docs")).text
    assert "http://" not in page
    assert "https://" not in page
    assert "<style" not in page
    for path, kind in (("/docs/docs.js", "text/javascript"), ("/docs/docs.css", "text/css")):
        assert path in page
        response = await gateway.http.get(path)
        assert response.headers["content-type"].startswith(kind)
        assert "http" not in response.text


async def test_metrics_count_requests_by_route_not_by_path(gateway: Gateway) -> None:
    await gateway.http.get("/api/threads/thr_of_one_person")
    text = (await gateway.http.get("/metrics")).text
    assert 'treadle_http_seconds_count{method="GET",route="/api/{name=threads/*}",status="200"}' in text
    assert "thr_of_one_person" not in text
