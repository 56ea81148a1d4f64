"""`treadle workers` and `sessions mode`: what is shown, what scripts get, and by which exit code."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fakes.gateway import serving
from tests.fakes.worker_gateway import SESSION, WorkerGateway
from tests.unit.cli.conftest import Cli


@pytest.fixture
def workers() -> Iterator[WorkerGateway]:
    gateway = WorkerGateway()
    with serving(gateway):  # type: ignore[arg-type]
        yield gateway


@pytest.fixture
def cli(workers: WorkerGateway) -> Cli:
    return Cli(workers.url)


def test_list_tells_status_reason_and_marks(cli: Cli, workers: WorkerGateway) -> None:
    workers.add("alpha", waiting=True, ids={"subagent_session_id": "ses_0000000012345678"})
    workers.add("beta", "failed", reason="timeout", late=True)
    workers.deliver("beta", "half", partial=True)
    rows = cli("workers", "list", SESSION).out.splitlines()
    assert "running, waits for a person" in rows[1]
    assert "12345678" in rows[1]
    assert "failed (timeout), late" in rows[2]
    assert "partial, 4" in rows[2]
    assert [worker["name"] for worker in cli("workers", "list", SESSION, "--json").json["threads"]] == ["alpha", "beta"]


def test_spawn_answers_item_by_item_and_1_when_one_is_refused(cli: Cli, workers: WorkerGateway) -> None:
    workers.add("alpha")
    spawned = cli("workers", "spawn", SESSION, "beta=count = the stars", "alpha=again", "--context", "tonight")
    assert spawned.code == 1
    assert [line.split()[:2] for line in spawned.out.splitlines()[1:]] == [["beta", "spawned"], ["alpha", "name_taken"]]
    item = workers.asked[0][1]["threads"][0]
    assert item == {"name": "beta", "brief": "count = the stars", "context": "tonight", "timeout_seconds": 0}
    assert cli("workers", "spawn", SESSION, "gamma=x").code == 0
    assert cli("workers", "spawn", SESSION, "no brief").code == 2


def test_spawn_without_a_live_turn_is_refused_and_says_so(cli: Cli, workers: WorkerGateway) -> None:
    workers.live = False
    refused = cli("workers", "spawn", SESSION, "alpha=x")
    assert (refused.code, "live coordinator turn" in refused.err) == (1, True)
    assert workers.workers == []


def test_collect_prints_every_page_of_one_version_and_nothing_else(cli: Cli, workers: WorkerGateway) -> None:
    workers.add("alpha", "interrupted", reason="runner_lost")
    workers.deliver("alpha", "one ", "two\n", partial=True)
    collected = cli("workers", "collect", SESSION, "alpha", "--full")
    assert (collected.code, collected.out) == (0, "one two\n")
    assert "interrupted (runner_lost)" in collected.err
    assert "partial" in collected.err
    assert workers.asked[1][1] == {"version": 2, "full_text": True, "page_token": "1"}
    assert cli("workers", "collect", SESSION, "alpha", "--json").json["result"] == "one two\n"


def test_collect_of_nothing_is_1_with_the_status_and_the_hint(cli: Cli, workers: WorkerGateway) -> None:
    workers.add("alpha")
    collected = cli("workers", "collect", SESSION, "alpha")
    assert (collected.code, collected.out) == (1, "")
    assert "alpha is running: there is nothing to collect" in collected.err
    assert "look later" in collected.err


def test_wait_tells_each_end_once_and_opens_again(cli: Cli, workers: WorkerGateway) -> None:
    workers.add("alpha")
    workers.add("beta")
    workers.ends = ["alpha", "beta"]
    waited = cli("workers", "wait", SESSION)
    assert waited.code == 0
    assert waited.out.splitlines() == ["alpha succeeded", "beta succeeded", "2 of 2 have ended"]
    assert [call for call, _ in workers.asked] == ["wait", "wait"]


def test_wait_for_any_or_a_quorum_ends_early_as_json_lines(cli: Cli, workers: WorkerGateway) -> None:
    workers.add("alpha")
    workers.add("beta", "succeeded")
    waited = cli("workers", "wait", SESSION, "alpha", "beta", "--any", "--json")
    assert [line["event"] for line in waited.lines] == ["worker", "done"]
    assert workers.asked[0][1] == {"mode": "any", "names": ["alpha", "beta"]}
    assert cli("workers", "wait", SESSION, "--quorum", "1").code == 0
    assert cli("workers", "wait", SESSION, "--quorum", "1", "--any").code == 2


def test_a_wait_that_is_not_satisfied_in_time_is_4(cli: Cli, workers: WorkerGateway) -> None:
    workers.add("alpha")
    waited = cli("workers", "wait", SESSION, "--timeout", "1")
    assert (waited.code, "0 of 1 have ended" in waited.err) == (4, True)


def test_a_note_says_which_one_had_to_go(cli: Cli, workers: WorkerGateway) -> None:
    old = {"by": "user:ann", "create_time": "2026-01-01T00:00:00Z"}
    workers.notes = [{"sequence": number, "text": f"note {number}", **old} for number in range(50)]
    noted = cli("workers", "note", SESSION, "one more", "--worker", "alpha")
    assert noted.out.splitlines() == ["noted; 50 of at most 50", "the oldest was dropped: note 0"]
    assert workers.asked[-1][1] == {"note": "one more", "thread_name": "alpha"}
    assert len(cli("workers", "notes", SESSION, "--json").json["notes"]) == 50
    assert "one more" in cli("workers", "notes", SESSION).out.splitlines()[-1]


def test_cancel_says_whether_it_has_stopped(cli: Cli, workers: WorkerGateway) -> None:
    workers.add("alpha")
    workers.add("beta", "spawning")
    assert "was asked to stop" in cli("workers", "cancel", SESSION, "alpha", "--reason", "enough").out
    assert cli("workers", "cancel", SESSION, "beta").out.strip() == "beta is cancelled"
    assert cli("workers", "cancel", SESSION, "beta").code == 1
    assert workers.asked[0][1] == {"reason": "enough"}


def test_mode_turns_on_and_off_and_sets_only_what_is_given(cli: Cli, workers: WorkerGateway) -> None:
    told = cli("sessions", "mode", SESSION, "on", "--auto-wake", "--budget-tokens", "5000")
    assert told.out.strip() == "thread mode is on"
    assert workers.asked[0][1] == {
        "session_id": SESSION,
        "enabled": True,
        "policy": {"auto_wake": True, "budget_tokens": 5000},
    }
    assert cli("sessions", "mode", SESSION, "off").out.strip() == "thread mode is off"
    assert "policy" not in workers.asked[1][1]
    assert cli("sessions", "mode", SESSION, "maybe").code == 2
