"""The command line against a fake gateway over real HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson
import pytest
from typer.testing import CliRunner

from services.cli.main import app
from tests.fakes.gateway import FakeGateway, serving


@dataclass
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return orjson.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        return [orjson.loads(line) for line in self.out.splitlines()]


@dataclass
class Cli:
    """`cli("inbox", "--json")`."""

    url: str

    def __call__(self, *words: str, stdin: str | None = None) -> Ended:
        result = CliRunner().invoke(app, list(words), input=stdin, env={"TREADLE_URL": self.url, "COLUMNS": "140"})
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Ended(result.exit_code, result.stdout, result.stderr)


@pytest.fixture
def gateway() -> Iterator[FakeGateway]:
    gateway = FakeGateway()
    with serving(gateway):
        yield gateway


@pytest.fixture
def cli(gateway: FakeGateway) -> Cli:
    return Cli(gateway.url)
