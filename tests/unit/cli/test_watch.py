"""`threads watch`: live, resuming by cursor, nothing shown twice."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from services.cli.exits import Exit
from tests.fakes.gateway import FakeGateway
from tests.unit.cli.conftest import Cli

THREAD = "thr_" + f"{1:032x}"


def frame(number: int, to: str = "", *, ago: int = 0, thread: str = THREAD) -> tuple[str, str, dict[str, Any]]:
    time = (datetime.now(UTC) - timedelta(seconds=ago)).isoformat()
    data = {"event_id": f"evt_{number}", "thread_id": thread, "kind": "state_transition", "from": "x", "to": to}
    return f"e-{number}", "thread", {**data, "trigger": "execute", "actor": "user:local", "time": time}


@pytest.fixture
def thread(cli: Cli) -> str:
    return str(cli("threads", "new", "Append x to notes.md", "--json").json["id"])


def test_shows_a_thread_until_it_is_there(cli: Cli, gateway: FakeGateway, thread: str) -> None:
    gateway.frames += [frame(1, "executing"), frame(2, "awaiting_confirmation")]

    told = cli("threads", "watch", thread, "--until", "awaiting_confirmation")
    assert told.code == Exit.OK
    assert told.out == "", "it is there already"

    gateway.cards[thread]["state"] = "executing"
    told = cli("threads", "watch", thread, "--until", "done", "--timeout", "0.5", "--json")
    assert told.code == Exit.UNAVAILABLE
    assert [line["to"] for line in told.lines] == ["executing", "awaiting_confirmation"]


def test_a_thread_that_ended_otherwise_is_exit_code_1(cli: Cli, gateway: FakeGateway, thread: str) -> None:
    gateway.cards[thread]["state"] = "dismissed"

    told = cli("threads", "watch", thread, "--until", "done")

    assert told.code == Exit.REFUSED
    assert "dismissed" in told.err


def test_comes_back_where_it_was_and_repeats_nothing(cli: Cli, gateway: FakeGateway, thread: str) -> None:
    gateway.frames += [frame(n, "executing") for n in range(1, 6)]
    gateway.cut_after = 2

    told = cli("threads", "watch", thread, "--timeout", "3", "--json")

    assert told.code == Exit.UNAVAILABLE
    assert [line["id"] for line in told.lines] == [f"e-{n}" for n in range(1, 6)]
    assert gateway.cursors[:3] == ["", "e-2", "e-4"]
    assert "connection lost" in told.err


def test_a_reset_is_told_and_what_was_shown_is_not_shown_again(cli: Cli, gateway: FakeGateway, thread: str) -> None:
    gateway.frames += [
        frame(1, "a"),
        ("", "reset", {"reason": "generation", "oldest_id": "f-1"}),
        frame(1, "a"),
        frame(2, "b"),
    ]

    told = cli("threads", "watch", thread, "--timeout", "0.5", "--json")

    assert [line["to"] for line in told.lines] == ["a", "b"]
    assert "starts anew (generation)" in told.err


def test_everything_starts_now_unless_all_is_wanted(cli: Cli, gateway: FakeGateway) -> None:
    gateway.frames += [frame(1, "old", ago=3600), frame(2, "new", ago=-1)]

    assert [line["to"] for line in cli("threads", "watch", "--timeout", "0.5", "--json").lines] == ["new"]
    assert len(cli("threads", "watch", "--all", "--timeout", "0.5", "--json").lines) == 2
    assert [line["to"] for line in cli("threads", "watch", "--since", "e-1", "--timeout", "0.5", "--json").lines] == [
        "new"
    ]


def test_for_people_a_line_says_what_moved_and_who_moved_it(cli: Cli, gateway: FakeGateway, thread: str) -> None:
    gateway.frames += [frame(1, "executing")]

    told = cli("threads", "watch", thread, "--timeout", "0.5").out

    assert "x → executing (execute)" in told
    assert "user:local" in told


def test_an_unknown_thread_and_a_wrong_use_are_told(cli: Cli) -> None:
    assert cli("threads", "watch", "thr_" + "e" * 32, "--timeout", "5").code == Exit.NOT_FOUND
    assert cli("threads", "watch", "--until", "done").code == Exit.USAGE
    assert Cli("http://127.0.0.1:1")("threads", "watch").code == Exit.UNAVAILABLE
