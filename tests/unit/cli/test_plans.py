"""`treadle plan`: the tree on a terminal, a branch that is waited for, a difference; and what scripts get."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fakes.gateway import serving
from tests.fakes.plan_gateway import PlanGateway
from tests.unit.cli.conftest import Cli

SESSION = f"ses_{1:032x}"
OTHER = f"ses_{2:032x}"


@pytest.fixture
def plans() -> Iterator[PlanGateway]:
    gateway = PlanGateway()
    with serving(gateway):  # type: ignore[arg-type]
        yield gateway


@pytest.fixture
def cli(plans: PlanGateway) -> Cli:
    return Cli(plans.url)


def test_show_draws_the_tree_and_counts_leaves(cli: Cli, plans: PlanGateway) -> None:
    plans.objective = "Weave \x1b[31ma scarf"
    plans.add("1", "warp", leaf=False)
    plans.add("1.1", "wind", done=True)
    plans.add("1.2", "dress [bold]")
    assert cli("plan", "show", SESSION).out.splitlines() == [
        "Weave �[31ma scarf",
        "    1 warp",
        "  [x] 1.1 wind",
        "  [ ] 1.2 dress [bold]",
        "1 of 2 done",
    ]
    assert cli("plan", "show", SESSION, "--json").json["plan"]["leaves"] == 2


def test_show_of_an_empty_plan_and_of_an_earlier_turn(cli: Cli) -> None:
    assert cli("plan", "show", SESSION).out.splitlines() == ["no objective", "no steps"]
    assert cli("plan", "show", SESSION, "--turn", "1").out.splitlines()[0] == "as of turn 1"
    assert cli("plan", "show", SESSION, "--turn", "2").code == 3


def test_told_shows_what_the_agent_was_told_in_a_turn(cli: Cli, plans: PlanGateway) -> None:
    assert cli("plan", "told", SESSION).code == 3
    plans.told = {"text": "## Plan\n- [ ] (1) 1 warp \x1b[31m\n", "turn": 7, "version": 3, "sha256": "ab12"}
    wanted = ["## Plan", "- [ ] (1) 1 warp \N{REPLACEMENT CHARACTER}[31m", "turn 7, plan version 3, SHA-256 ab12"]
    for turn in ((), ("--turn", "7")):
        assert cli("plan", "told", SESSION, *turn).out.splitlines() == wanted
    assert cli("plan", "told", SESSION, "--turn", "6").code == 3
    assert cli("plan", "told", SESSION, "--json").json["turn"] == 7


def test_branch_waits_until_it_is_ready_and_prints_the_session_alone(cli: Cli, plans: PlanGateway) -> None:
    made = cli("plan", "branch", SESSION, "2", "--title", "Other way")
    assert (made.code, made.out.strip()) == (0, OTHER)
    assert plans.asked == [{"turn": 2, "fork": True, "title": "Other way"}]
    assert plans.forking <= 0


def test_a_branch_that_cannot_be_made_is_1_with_the_reason(cli: Cli, plans: PlanGateway) -> None:
    plans.ends = {"state": "failed", "reason": "AGENT_STATE_NOT_FOUND"}
    made = cli("plan", "branch", SESSION, "0")
    assert (made.code, made.out) == (1, "")
    assert "AGENT_STATE_NOT_FOUND" in made.err


def test_diff_tells_what_is_there_and_not_here(cli: Cli, plans: PlanGateway) -> None:
    step = {"number": "1", "text": "warp", "done": False}
    plans.difference = {
        "objective_changed": True,
        "objective": "",
        "other_objective": "Scarf",
        "changes": [
            {"origin_id": "stp_00000001", "kinds": ["added"], "after": {"number": "3", "text": "hem", "done": False}},
            {
                "origin_id": "stp_00000002",
                "kinds": ["moved", "edited", "toggled"],
                "before": step,
                "after": {"number": "2", "text": "warp it", "done": True},
            },
        ],
    }
    lines = cli("plan", "diff", SESSION, OTHER).out.splitlines()
    assert lines[0] == "objective: none → Scarf"
    assert lines[2].split() == ["added", "3", "hem", "00000001"]
    assert "1 → 2" in lines[3]
    assert "warp → warp it (done there)" in lines[3]
    plans.difference = {"objective_changed": False, "objective": "", "other_objective": "", "changes": []}
    assert cli("plan", "diff", SESSION, OTHER).out.strip() == "no difference"


def test_documents_are_listed_read_and_deleted_as_they_were_seen(cli: Cli, plans: PlanGateway) -> None:
    assert cli("documents", "list", SESSION).out.strip() == "no documents"
    for key, locked in (("notes.md", True), ("b", False)):
        plans.documents[key] = {
            "key": key,
            "content": "hello \x1b[31m",
            "size": 12,
            "locked": locked,
            "etag": '"3-ab"',
            "updated_by": "agent",
        }
    lines = cli("documents", "list", SESSION).out.splitlines()
    assert [line.split() for line in lines[-2:]] == [["notes.md", "12", "locked", "agent"], ["b", "12", "agent"]]
    assert cli("documents", "show", SESSION, "notes.md").out == "hello \N{REPLACEMENT CHARACTER}[31m\n"
    assert cli("documents", "show", SESSION, "other").code == 3
    gone = cli("documents", "delete", SESSION, "notes.md", "--yes")
    assert (gone.code, gone.out) == (0, "")
    assert plans.asked == [{"delete": "notes.md", "etag": '"3-ab"'}]
    assert cli("documents", "delete", SESSION, "notes.md", "--yes").code == 3
    assert list(plans.documents) == ["b"]
