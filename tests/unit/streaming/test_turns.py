"""The table of a turn's states, cell by cell (design/streaming.md D1.1)."""

from __future__ import annotations

import pytest

from services.kernel.errors import NotAllowed
from services.streaming.domain import turns
from services.streaming.domain.session import TurnState
from services.streaming.domain.turns import CODES, Happening, Outcome

I, R, W, F = TurnState.IDLE, TurnState.RUNNING, TurnState.WAITING, TurnState.FAILED  # noqa: E741
NOT = "TURN_NOT_RUNNING"
BUSY = "TURN_RUNNING"

TABLE: dict[Happening, tuple[TurnState | str, ...]] = {
    # what happens: in idle, running, waiting, failed
    turns.Prompt(): (R, BUSY, BUSY, R),
    turns.Steer(): (NOT, R, R, NOT),
    turns.Abort(): (NOT, R, R, NOT),
    turns.GateOpened(): (NOT, W, W, NOT),
    turns.GateClosed(0): (NOT, R, R, NOT),
    turns.GateClosed(1): (NOT, W, W, NOT),
    turns.GateClosed(7): (NOT, W, W, NOT),
    turns.Settled(Outcome.OK): (NOT, I, I, NOT),
    turns.Settled(Outcome.TRUNCATED): (NOT, I, I, NOT),
    turns.Settled(Outcome.ABORTED): (NOT, I, I, NOT),
    turns.Settled(Outcome.FAILED): (NOT, F, F, NOT),
}
CELLS = [(state, what, row[at]) for what, row in TABLE.items() for at, state in enumerate((I, R, W, F))]


@pytest.mark.parametrize(("state", "what", "expected"), CELLS, ids=lambda one: str(one))
def test_every_cell(state: TurnState, what: Happening, expected: TurnState | str) -> None:
    if isinstance(expected, TurnState):
        assert turns.after(state, what) is expected
        return
    with pytest.raises(NotAllowed) as refused:
        turns.after(state, what)
    assert (refused.value.reason, refused.value.metadata["state"]) == (expected, state)


def test_the_table_has_every_happening() -> None:
    assert {type(one) for one in TABLE} == set(Happening.__args__)


@pytest.mark.parametrize("code", sorted(CODES))
def test_known_codes_are_told(code: str) -> None:
    assert turns.known_code(code) == code


@pytest.mark.parametrize("code", ["", "ZX-SECRET-7", "Provider_error", "provider_error "])
def test_any_other_code_is_a_fault_of_the_protocol(code: str) -> None:
    assert turns.known_code(code) == "protocol_error"
