"""Around the machine: explanations, families as far as the table needs them, registrations, runners' words, bounds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from services.kernel.errors import Invalid, NotAllowed, TooLarge
from services.threads.application.tasks import inference_result
from services.threads.domain import commands as c
from services.threads.domain.checks import check_json, check_object, refuse_reserved
from services.threads.domain.events import Fact, number
from services.threads.domain.explaining import explain
from services.threads.domain.kinds import RESERVED
from services.threads.domain.registration import (
    Cardinality,
    Registration,
    checked,
    registration_from,
    registration_json,
)
from services.threads.domain.states import TERMINAL, WAIT, State, Target
from tests.unit.threads.stage import START, USER, reach


@pytest.mark.parametrize("state", list(State))
def test_every_state_explains_itself(state: State) -> None:
    told = explain(reach(state).it)
    assert told.summary
    assert "{" not in told.summary
    assert (told.waits_on == "nothing") == (state in TERMINAL)
    assert (told.waits_on == "person") == (state in WAIT)
    assert bool(told.moves) == (state not in TERMINAL)


def test_without_a_proposal_nothing_is_offered_for_approval() -> None:
    stage = reach(State.AWAITING_CONFIRMATION)
    stage.do(c.PickAction(None))
    assert "accept" not in explain(stage.it).moves


def test_pub04_zero_children_are_refused_and_a_family_settles_once() -> None:
    stage = reach(State.AWAITING_CONFIRMATION)
    with pytest.raises(Invalid):
        stage.do(c.SpawnChildren(()))
    stage.do(c.SpawnChildren(("thr_2", "thr_3")))
    assert (stage.it.state, stage.it.children, stage.it.open_children) == (State.MONITORING, 2, 2)
    assert stage.do(c.SettleChildren(all_terminal=False)) == ()
    stage.do(c.SettleChildren(all_terminal=True))
    assert stage.it.state is State.DONE
    with pytest.raises(NotAllowed):
        stage.do(c.SettleChildren(all_terminal=True))


def test_pub19_a_singular_family_that_was_all_dismissed_is_dismissed() -> None:
    stage = reach(State.MONITORING)
    stage.do(c.SettleChildren(all_terminal=True, all_dismissed_singular=True))
    assert stage.it.state is State.DISMISSED


def test_an_executing_thread_spawns_only_by_decompose() -> None:
    with pytest.raises(NotAllowed):
        reach(State.EXECUTING).do(c.SpawnChildren(("thr_2",)))


@pytest.mark.parametrize("key", ["from", "to", "trigger", "_autonomy_audit"])
def test_reserved_keys_of_the_log_are_refused(key: str) -> None:
    with pytest.raises(Invalid):
        refuse_reserved("data", {key: 1})


@pytest.mark.parametrize("kind", sorted(RESERVED))
def test_reserved_kinds_are_never_emitted(kind: str) -> None:
    with pytest.raises(ValueError, match="reserved"):
        number([Fact(next(one for one in RESERVED if one == kind), {})], 0, START, USER, lambda: "")


def test_json_has_bounds() -> None:
    deep: object = 1
    for _ in range(24):
        deep = [deep]
    for value in (deep, {"a": float("nan")}, {"a": 2**63}, {"a": "x\x00"}, {"\ud800": 1}):
        with pytest.raises(Invalid):
            check_json("payload", value)  # type: ignore[arg-type]
    with pytest.raises(TooLarge):
        check_object("payload", {"a": "x" * 65536})
    check_object("payload", {"a": [[[1.5, None, True, -(2**62)]]]})


def test_registrations_are_kept_whole() -> None:
    registration = Registration(
        "send_letter", "Sends it", "post", {"type": "object"}, Cardinality.PER_ITEM, "low", "medium", True, True, True
    )
    stored = registration_json(registration)
    assert registration_from(dict(stored)) == checked(registration)
    for wrong in ({"name": "A"}, {"category": "Ü"}, {"irreversibility": "moderate"}, {"description": "x" * 1001}):
        with pytest.raises(Invalid):
            checked(replace(registration, **wrong))  # type: ignore[arg-type]


def test_pub22_a_runners_broken_text_is_mended_and_its_numbers_are_checked() -> None:
    answer = inference_result(Target.INTENT, {"payload": {"intent": "a\x00b\ud83dc"}, "confidence": 0.5})
    assert answer.payload == {"intent": "a\ufffdb\ufffdc"}
    for wrong in ({"confidence": 2}, {"cost_usd": -1}, {"payload": {"x": "y" * 70000}}):
        with pytest.raises((Invalid, TooLarge)):
            inference_result(Target.INTENT, {"payload": {"intent": "x"}, **wrong})  # type: ignore[dict-item]
