"""`treadle doctor`: what it finds, what it advises, how it ends."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from services.cli.exits import Exit
from tests.fakes.gateway import FakeGateway
from tests.unit.cli.conftest import Cli


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("TREADLE_FILES", raising=False)


def verdicts(cli: Cli) -> dict[str, str]:
    return {check["check"]: check["verdict"] for check in cli("doctor", "--json").json["checks"]}


def test_all_is_well(cli: Cli) -> None:
    told = cli("doctor")

    assert told.code == Exit.OK
    assert "FAIL" not in told.out
    assert {"gateway", "services", "console", "inbox", "runner", "live stream", "data folder"} <= verdicts(cli).keys()


def test_nothing_answers() -> None:
    told = Cli("http://127.0.0.1:1")("doctor")

    assert told.code == Exit.UNAVAILABLE
    assert "treadle up" in told.out


def test_a_service_that_is_away(cli: Cli, gateway: FakeGateway) -> None:
    gateway.down = True

    assert cli("doctor").code == Exit.REFUSED
    assert verdicts(cli)["services"] == "fail"


def test_work_that_nobody_takes(cli: Cli, gateway: FakeGateway) -> None:
    gateway.idle = True
    thread = cli("threads", "new", "x", "--json").json["id"]
    gateway.cards[thread]["update_time"] = (datetime.now(UTC) - timedelta(minutes=5)).isoformat()

    told = cli("doctor")

    assert told.code == Exit.OK
    assert verdicts(cli)["runner"] == "warn"
    assert "treadle serve runner" in told.out


def test_a_folder_that_cannot_be_written(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TREADLE_HOME", str(tmp_path / "file" / "home"))

    assert verdicts(cli)["data folder"] == "fail"
