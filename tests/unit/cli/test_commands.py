"""What a person and a script get from the commands: tables, JSON, exit codes, and exactly the calls that they mean."""

from __future__ import annotations

import pytest

from services.cli.exits import Exit
from tests.fakes.gateway import FakeGateway
from tests.unit.cli.conftest import Cli


def opened(cli: Cli, title: str = "Append x to notes.md", *more: str) -> str:
    return str(cli("threads", "new", title, *more, "--json").json["id"])


def test_help_names_every_command_and_exit_code(cli: Cli) -> None:
    told = cli("--help")

    assert told.code == Exit.OK
    for word in ("up", "demo", "inbox", "doctor", "serve", "migrate", "threads", "not found"):
        assert word in told.out
    for command in ("list", "show", "approve", "redirect", "dismiss", "why", "watch", "new", "answer"):
        assert command in cli("threads", "--help").out


def test_an_empty_inbox_says_so(cli: Cli) -> None:
    assert "Nothing waits" in cli("inbox").out
    assert cli("inbox", "--json").json == {"threads": [], "total_size": 0}


def test_the_inbox_shows_what_is_asked(cli: Cli) -> None:
    thread = opened(cli)

    told = cli("inbox")

    assert thread[-8:] in told.out
    assert "Append to notes.md" in told.out
    assert "1 waiting" in told.out


def test_lists_are_read_over_all_their_pages_up_to_the_limit(cli: Cli) -> None:
    for number in range(7):
        opened(cli, f"Matter {number}")

    assert len(cli("threads", "list", "--json").json["threads"]) == 7
    assert len(cli("threads", "list", "-n", "3", "--json").json["threads"]) == 3
    assert cli("threads", "list", "--state", "done", "--json").json == {"threads": []}


def test_show_and_why(cli: Cli) -> None:
    thread = opened(cli, "Append x to notes.md", "-d", "Because.")

    told = cli("threads", "show", thread, "--events")
    assert told.code == Exit.OK
    for word in ("awaiting_confirmation", "Because.", "file_append", '"path": "notes.md"', "90%"):
        assert word in told.out
    assert cli("threads", "show", thread, "--json").json["id"] == thread
    assert "accept, dismiss" in cli("threads", "why", thread).out
    assert cli("threads", "why", thread, "--json").json["waits_on"] == "person"


@pytest.mark.parametrize("form", ["{}", "threads/{}", " {} "])
def test_a_thread_is_named_by_its_id_or_its_last_digits(cli: Cli, form: str) -> None:
    thread = opened(cli)

    assert cli("threads", "show", form.format(thread), "--json").json["id"] == thread
    assert cli("threads", "show", thread[-8:], "--json").json["id"] == thread


def test_a_short_id_that_fits_none_or_several_is_told(cli: Cli) -> None:
    opened(cli)
    opened(cli)

    assert cli("threads", "show", "0000").code == Exit.NOT_FOUND
    assert cli("threads", "show", "ffffffff").code == Exit.NOT_FOUND
    assert cli("threads", "show", "nonsense").code == Exit.USAGE
    assert cli("threads", "show", "thr_" + "f" * 32).code == Exit.NOT_FOUND


def test_approve_cites_what_was_shown(cli: Cli, gateway: FakeGateway) -> None:
    thread = opened(cli)
    shown = gateway.cards[thread]["actions"][0]

    told = cli("threads", "approve", thread)

    assert told.code == Exit.OK
    assert told.out == "awaiting_confirmation → executing\n"
    method, path, body, key = gateway.asked[-1]
    assert (method, path) == ("POST", f"/api/threads/{thread}/accept")
    assert body == {"proposal_id": shown["proposal_id"], "proposal_digest": shown["proposal_digest"]}
    assert key


def test_approve_with_other_parameters(cli: Cli, gateway: FakeGateway) -> None:
    thread = opened(cli)
    action = gateway.cards[thread]["actions"][0]["id"]

    assert cli("threads", "approve", thread, "--set", "text=two words", "--set", "n=3", "--json").code == Exit.OK

    assert gateway.asked[-1][2]["action_overrides"] == {action: {"text": "two words", "n": 3}}
    assert cli("threads", "approve", thread, "--set", "nothing").code in (Exit.USAGE, Exit.REFUSED)


def test_approving_another_proposal_than_the_one_that_stands_is_refused(cli: Cli) -> None:
    told = cli("threads", "approve", opened(cli), "--proposal-id", "prp_other", "--proposal-digest", "0" * 64)

    assert told.code == Exit.REFUSED
    assert "PROPOSAL_CHANGED" in told.err


def test_a_loser_is_told_who_was_first(cli: Cli) -> None:
    thread = opened(cli)
    cli("threads", "approve", thread)

    told = cli("threads", "dismiss", thread)
    assert told.code == Exit.REFUSED
    assert told.out == ""
    for fact in ("somebody was faster", "decided by user:other", "state done"):
        assert fact in told.err

    as_json = cli("threads", "dismiss", thread, "--json")
    assert as_json.code == Exit.REFUSED
    assert '"reason":"ALREADY_DECIDED"' in as_json.err


def test_redirect_dismiss_and_answer_say_what_they_should(cli: Cli, gateway: FakeGateway) -> None:
    thread = opened(cli)

    redirected = cli("threads", "redirect", thread, "into other.md", "--param", "text=kept", "--action", "file_append")
    assert redirected.code == Exit.OK
    body = gateway.asked[-1][2]
    assert (body["feedback"], body["params"], body["target_action"]) == (
        "into other.md",
        {"text": "kept"},
        "file_append",
    )
    assert gateway.cards[thread]["actions"][0]["parameters"]["path"] == "other.md"

    assert cli("threads", "dismiss", thread, "--reason", "no", "--json").json["next_state"] == "dismissed"
    assert gateway.asked[-1][2]["reason"] == "no"

    asking = opened(cli, "Book the room [[clarify: Which?]]")
    assert "Which?" in cli("inbox").out
    assert cli("threads", "answer", asking, "The large one").code == Exit.OK
    assert gateway.asked[-1][1:3] == (f"/api/threads/{asking}/provide", {"text": "The large one"})


def test_what_others_wrote_cannot_touch_the_terminal(cli: Cli) -> None:
    opened(cli, "\x1b[31mred\x1b[0m [bold]x[/bold] \u202egnp.exe \x07")

    told = cli("inbox").out

    assert "\x1b" not in told
    assert "\x07" not in told
    assert "\u202e" not in told
    assert "[bold]x[/bold]" in told


def test_nothing_there_is_exit_code_4_and_says_what_to_do() -> None:
    told = Cli("http://127.0.0.1:1")("inbox")

    assert told.code == Exit.UNAVAILABLE
    assert "treadle up" in told.err
    assert Cli("nonsense")("inbox").code == Exit.USAGE


def test_a_service_that_stays_away_is_asked_a_few_times_and_then_exit_code_4(cli: Cli, gateway: FakeGateway) -> None:
    gateway.down = True

    assert cli("inbox").code == Exit.UNAVAILABLE


@pytest.mark.parametrize(
    "words", [("nonsense",), ("threads", "show"), ("threads", "redirect", "x"), ("inbox", "-n", "0")]
)
def test_a_wrong_command_line_is_exit_code_2(cli: Cli, words: tuple[str, ...]) -> None:
    assert cli(*words).code == Exit.USAGE


def test_a_token_is_sent(cli: Cli, gateway: FakeGateway, monkeypatch: pytest.MonkeyPatch) -> None:
    from services.cli.client import Client

    monkeypatch.setenv("TREADLE_TOKEN", "abc")

    assert Client(gateway.url).http.headers["authorization"] == "Bearer abc"


def test_the_default_url_follows_the_port(monkeypatch: pytest.MonkeyPatch) -> None:
    from services.cli.client import default_url

    monkeypatch.delenv("TREADLE_URL", raising=False)
    monkeypatch.setenv("TREADLE_PORT", "9999")
    assert default_url() == "http://127.0.0.1:9999"
    monkeypatch.setenv("TREADLE_URL", "https://treadle.example")
    assert default_url() == "https://treadle.example"
