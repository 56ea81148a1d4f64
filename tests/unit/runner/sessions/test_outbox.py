"""What was said and is not stored yet: numbered, in order, bounded, said again after a break."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from services.runner.application.sessions.outbox import BATCH_MOST, DELTA_MOST, JOINED_MOST, Outbox
from services.runner.domain.agent import ActivityDelta, Outcome, Status, TextDelta
from services.runner.domain.session import Said, Settled


async def test_numbers_are_dense_and_neighbouring_deltas_of_a_block_are_joined() -> None:
    outbox = Outbox()
    for said in (TextDelta(1, "a"), TextDelta(1, "b"), TextDelta(2, "c"), ActivityDelta(2, "d"), Status("retrying")):
        await outbox.put(said)
    assert await outbox.batch() == [
        (1, TextDelta(1, "ab")),
        (2, TextDelta(2, "c")),
        (3, ActivityDelta(2, "d")),
        (4, Status("retrying")),
    ]


async def test_what_was_sent_is_joined_no_more() -> None:
    outbox = Outbox()
    await outbox.put(TextDelta(1, "a"))
    await outbox.batch()
    await outbox.put(TextDelta(1, "b"))
    assert await outbox.batch() == [(2, TextDelta(1, "b"))]


async def test_after_a_break_everything_above_the_stored_is_said_again() -> None:
    outbox = Outbox()
    for number in range(150):
        await outbox.put(TextDelta(number, "x"))
    assert [len(await outbox.batch()) for _ in range(3)] == [BATCH_MOST, BATCH_MOST, 22]
    outbox.rewind(100)
    assert (await outbox.batch())[0][0] == 101
    outbox.rewind(100)
    assert (await outbox.batch())[0][0] == 101
    outbox.acked(150)
    await outbox.emptied()
    await outbox.put(Status("compacting"))
    assert await outbox.batch() == [(151, Status("compacting"))]


async def test_a_long_delta_goes_in_pieces_and_a_long_join_is_not_made() -> None:
    outbox = Outbox()
    await outbox.put(TextDelta(1, "a" * (DELTA_MOST + 1)))
    await outbox.put(TextDelta(1, "b" * JOINED_MOST))
    sizes = [len(said.delta) for _, said in await outbox.batch() if isinstance(said, TextDelta)]
    assert sizes == [DELTA_MOST, 1, JOINED_MOST]


async def test_a_full_one_makes_the_agent_wait_and_loses_nothing() -> None:
    outbox = Outbox(most_events=3)

    async def speak() -> None:
        for number in range(10):
            await outbox.put(TextDelta(number, "x"))

    speaking = asyncio.create_task(speak())
    heard: list[int] = []
    while len(heard) < 10:
        batch = await outbox.batch()
        assert len(batch) <= 3
        heard += [sequence for sequence, _ in batch]
        outbox.acked(heard[-1])
    await speaking
    assert heard == list(range(1, 11))


DELTAS = st.builds(TextDelta, st.integers(1, 2), st.text(min_size=1, max_size=3000))
SAID = DELTAS | st.just(Status("retrying")) | st.just(Settled("t", Outcome.OK, "x"))


@given(st.lists(SAID, max_size=60), st.lists(st.integers(0, 3), max_size=60))
async def test_whatever_breaks_the_text_arrives_once_and_in_order(said: list[Said], breaks: list[int]) -> None:
    """The far end stores what is above what it has, as the service does."""
    outbox, stored, last = Outbox(), "", 0
    for number, event in enumerate(said):
        await outbox.put(event)
        if breaks[number : number + 1] == [1]:
            outbox.rewind(last)
        if breaks[number : number + 1] == [2]:
            for sequence, heard in await outbox.batch() if last < outbox._newest > outbox._sent else []:
                if sequence > last:
                    assert sequence == last + 1
                    last, stored = sequence, stored + (heard.delta if isinstance(heard, TextDelta) else "")
        if breaks[number : number + 1] == [3]:
            outbox.acked(last)
    outbox.rewind(last)
    while outbox._newest > outbox._sent:
        for sequence, heard in await outbox.batch():
            assert sequence == last + 1
            last, stored = sequence, stored + (heard.delta if isinstance(heard, TextDelta) else "")
    assert stored == "".join(event.delta for event in said if isinstance(event, TextDelta))
    outbox.acked(last)
    assert outbox._bytes == 0
