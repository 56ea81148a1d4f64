"""The log as JSON: others' loggers are in it, whole and legible."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from services.kernel import telemetry


@pytest.fixture
def out() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    before, configured = (root.handlers[:], root.level), structlog.get_config()
    stream = io.StringIO()
    telemetry.configure_logging(stream=stream)
    yield stream
    root.handlers[:], root.level = before
    structlog.configure(**configured)


def _lines(out: io.StringIO) -> list[dict[str, str]]:
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_a_librarys_traceback_is_text(out: io.StringIO) -> None:
    try:
        raise ValueError("no such thing")
    except ValueError:
        logging.getLogger("some.library").warning("it failed", exc_info=True)
    [line] = _lines(out)
    assert (line["event"], line["level"]) == ("it failed", "warning")
    assert line["exception"].endswith("ValueError: no such thing")
    assert "exc_info" not in line


def test_a_pools_tries_to_connect_again_are_not_told_each(out: io.StringIO) -> None:
    logging.getLogger("asyncpg.pool").warning("retrying")
    logging.getLogger("asyncpg.pool").error("given up")
    assert [line["event"] for line in _lines(out)] == ["given up"]
