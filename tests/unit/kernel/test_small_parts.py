"""Ids, pages, settings and lifecycle: the kernel's small parts."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.kernel.errors import Invalid, Unavailable
from services.kernel.ids import is_id, new_id
from services.kernel.lifecycle import Lifecycle
from services.kernel.paging import PageTokens, page_size
from services.kernel.settings import ServiceSettings, SettingsFault, load
from tests.logs import logs_of


def test_ids_are_unique_and_sort_by_birth() -> None:
    made = [new_id("thr") for _ in range(20_000)]
    assert made == sorted(set(made))
    assert all(is_id("thr", each) for each in made)


@pytest.mark.parametrize("bad", ["", "thr_", "thr_x", "ses_" + "0" * 32, f"thr_{'0' * 32}\n", f"THR_{'A' * 32}"])
def test_what_is_no_id_is_told_apart(bad: str) -> None:
    assert not is_id("thr", bad)


def test_page_sizes_are_bounded() -> None:
    assert page_size(0, default=50, most=200) == 50
    assert page_size(10**12, default=50, most=200) == 200
    with pytest.raises(Invalid, match="page_size"):
        page_size(-1, default=50, most=200)


@given(st.dictionaries(st.text(max_size=5), st.integers(-(2**53), 2**53) | st.text(max_size=9)), st.text(max_size=9))
def test_pub24_a_page_token_comes_back_as_it_was_given(position: dict[str, int | str], query: str) -> None:
    tokens = PageTokens(b"k" * 32, "threads")
    assert tokens.decode(tokens.encode(position, query), query) == position


@given(st.text(max_size=80))
def test_pub24_a_made_up_page_token_is_refused(token: str) -> None:
    tokens = PageTokens(b"k" * 32, "threads")
    if token == "":
        assert tokens.decode(token, None) is None
        return
    with pytest.raises(Invalid):
        tokens.decode(token, None)


def test_pub24_a_page_token_of_another_list_or_filter_is_refused() -> None:
    token = PageTokens(b"k" * 32, "threads").encode({"after": 1}, ["open"])
    for tokens, query in (
        (PageTokens(b"k" * 32, "events"), ["open"]),
        (PageTokens(b"k" * 32, "threads"), ["done"]),
        (PageTokens(b"j" * 32, "threads"), ["open"]),
    ):
        with pytest.raises(Invalid):
            tokens.decode(token, query)


def test_settings_tell_every_fault_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREADLE_POOL_MAX", "many")
    monkeypatch.setenv("TREADLE_LOG_LEVEL", "loud")
    monkeypatch.setenv("TREADLE_AUTH_SECRET", "short-and-secret")
    with pytest.raises(SettingsFault) as caught:
        load(ServiceSettings)
    text = str(caught.value)
    assert all(name in text for name in ("TREADLE_POOL_MAX", "TREADLE_LOG_LEVEL", "TREADLE_AUTH_SECRET"))
    assert "short-and-secret" not in text


async def test_a_duty_that_fails_is_started_again_and_one_that_blocks_is_cancelled() -> None:
    tries = 0
    again = asyncio.Event()

    async def failing() -> None:
        nonlocal tries
        tries += 1
        if tries == 2:
            again.set()
            await asyncio.Event().wait()
        raise RuntimeError("the first try fails")

    async with asyncio.timeout(10), Lifecycle("test", 1.0) as life:
        life.spawn("failing", failing)
        await again.wait()
    assert tries == 2


async def test_a_duty_whose_neighbour_is_away_is_told_of_without_a_traceback() -> None:
    again = asyncio.Event()
    tries = iter((True, False))

    async def waiting() -> None:
        if next(tries):
            raise Unavailable("DATABASE_UNAVAILABLE", "the database cannot be reached right now")
        again.set()
        await asyncio.Event().wait()

    with logs_of("lifecycle") as logs:
        async with asyncio.timeout(10), Lifecycle("test", 1.0) as life:
            life.spawn("waiting", waiting)
            await again.wait()
    (told,) = [entry for entry in logs if entry["event"].startswith("duty.")]
    assert (told["event"], told["log_level"], told["reason"]) == ("duty.waits", "warning", "DATABASE_UNAVAILABLE")
    assert "exc_info" not in told


async def test_drain_runs_in_order_before_clean_up_in_reverse_and_survives_a_failing_step() -> None:
    order: list[str] = []

    def step(name: str, *, fails: bool = False) -> object:
        async def run() -> None:
            order.append(name)
            if fails:
                raise RuntimeError(name)

        return run

    async with Lifecycle("test", 1.0) as life:
        life.push(step("pool"))  # type: ignore[arg-type]
        life.push(step("server"))  # type: ignore[arg-type]
        life.on_drain(step("health", fails=True))  # type: ignore[arg-type]
        life.on_drain(step("streams"))  # type: ignore[arg-type]
    assert order == ["health", "streams", "server", "pool"]
