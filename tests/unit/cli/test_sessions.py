"""`treadle sessions`: what is shown, what scripts get, and a tail that is cut and comes back by its cursor."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fakes.gateway import serving
from tests.fakes.session_gateway import SessionGateway
from tests.unit.cli.conftest import Cli

TURN = [
    ("activity_delta", {"delta": "let me ", "block": 1}),
    ("activity_delta", {"delta": "see", "block": 1}),
    ("tool", {"call_id": "c", "name": "bash", "status": "running"}),
    ("gate", {"gate_id": "gat_1", "kind": "choice", "state": "open", "proposal": {"question": "Which?"}}),
    ("text_delta", {"delta": "\x1b[31mGood ", "block": 2}),
    ("text_delta", {"delta": "day", "block": 2}),
    ("turn", {"state": "idle", "outcome": "ok"}),
]


@pytest.fixture
def sessions() -> Iterator[SessionGateway]:
    gateway = SessionGateway(turn=list(TURN))
    with serving(gateway):  # type: ignore[arg-type]
        yield gateway


@pytest.fixture
def cli(sessions: SessionGateway) -> Cli:
    return Cli(sessions.url)


def test_new_prints_the_id_alone(cli: Cli, sessions: SessionGateway) -> None:
    made = cli("sessions", "new", "A talk", "--adapter", "pi", "--thinking", "high")
    assert made.out.strip() in sessions.sessions
    assert sessions.asked == [("create", {"title": "A talk", "adapter": "pi", "thinking": "high"})]


def test_a_turn_is_prompted_and_followed_to_its_end(cli: Cli, sessions: SessionGateway) -> None:
    session = sessions.open()
    followed = cli("sessions", "prompt", session, "Hello", "--follow")
    assert followed.code == 0
    assert followed.out.splitlines() == [
        "— running",
        "let me see",
        "* bash running",
        "? choice open gat_1 Which?",
        "�[31mGood day",
        "— idle (ok)",
    ]


def test_a_turn_that_fails_is_exit_code_1(cli: Cli, sessions: SessionGateway) -> None:
    session = sessions.open()
    sessions.turn = [("turn", {"state": "failed", "code": "provider_error"})]
    followed = cli("sessions", "prompt", session[-8:], "Hello", "-f")
    assert (followed.code, "failed (provider_error)" in followed.out) == (1, True)
    assert "failed (provider_error)" in cli("sessions", "list").out


def test_a_tail_that_is_cut_comes_back_by_its_cursor_and_repeats_nothing(cli: Cli, sessions: SessionGateway) -> None:
    session = sessions.open()
    cli("sessions", "prompt", session, "Hello")
    sessions.cut_after = 3
    tailed = cli("sessions", "tail", session, "--until-settled", "--json")
    assert [line["id"] for line in tailed.lines] == [f"1-{number}" for number in range(1, 11)]
    assert sessions.cursors == ["", "1-3", "1-6", "1-9"]


def test_a_tail_says_how_to_go_on_and_goes_on_there(cli: Cli, sessions: SessionGateway) -> None:
    session = sessions.open()
    cli("sessions", "prompt", session, "Hello")
    tailed = cli("sessions", "tail", session, "--since", "1-8", "--until-settled")
    assert tailed.out.splitlines() == ["day", "— idle (ok)"]
    assert f"treadle sessions tail {session} --since 1-10" in tailed.err


def test_a_tail_of_older_turns_ends_with_the_newest(cli: Cli, sessions: SessionGateway) -> None:
    session = sessions.open()
    cli("sessions", "prompt", session, "one")
    cli("sessions", "prompt", session, "two")
    tailed = cli("sessions", "tail", session, "--until-settled", "--json")
    assert [line["text"] for line in tailed.lines if line["event"] == "prompt"] == ["one", "two"]


def test_a_deleted_session_ends_the_tail(cli: Cli, sessions: SessionGateway) -> None:
    session = sessions.open()
    sessions.events[session].append(("deleted", {}))
    assert cli("sessions", "tail", session).code == 0


def test_a_refused_steer_is_exit_code_1(cli: Cli, sessions: SessionGateway) -> None:
    refused = cli("sessions", "steer", sessions.open(), "hurry")
    assert (refused.code, "no turn is under way" in refused.err) == (1, True)


def test_a_resume_that_preserves_says_so(cli: Cli, sessions: SessionGateway) -> None:
    assert "left as it is" in cli("sessions", "resume", sessions.open(state="running")).out


@pytest.mark.parametrize(("given", "code"), [("nonsense!", 2), ("abcdef12", 3)])
def test_a_session_that_is_not_there(cli: Cli, given: str, code: int) -> None:
    assert cli("sessions", "tail", given).code == code
