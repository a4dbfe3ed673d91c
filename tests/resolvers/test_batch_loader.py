"""Callers who load the same keys, some of whom stop waiting."""

import asyncio
import gc
from collections.abc import Sequence
from contextlib import suppress

import pytest

from penstock.resolvers.batch_loader import BatchLoader
from penstock.resolvers.loaders import loader


class Reads:
    """Reads by key that wait until they may go on, and remember the keys of each batch."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.go = asyncio.Event()

    async def read(self, keys: Sequence[str]) -> list[str | Exception]:
        self.batches.append(list(keys))
        await self.go.wait()
        return [LookupError(key) if key.startswith("no ") else key.upper() for key in keys]

    def loader(self) -> BatchLoader[str, str]:
        return loader("texts", lambda _name, _size: lambda: None, self.read)


async def let_run() -> None:
    for _ in range(8):
        await asyncio.sleep(0)


@pytest.mark.parametrize("cancelled", [(0,), (1,), (0, 1), (0, 2)])
async def test_a_cancel_ends_the_waiting_of_one_caller_only(cancelled: tuple[int, ...]) -> None:
    reads = Reads()
    texts = reads.loader()
    waiting = [texts.load("a"), texts.load("a"), texts.load("a"), texts.load("b")]
    await let_run()
    for number in cancelled:
        waiting[number].cancel()
    reads.go.set()
    for number, one in enumerate(waiting):
        if number not in cancelled:
            assert await one == ("B" if number == 3 else "A")
    assert [one.cancelled() for one in waiting] == [n in cancelled for n in range(4)]
    assert reads.batches == [["a", "b"]]


async def test_a_cancelled_task_leaves_what_it_awaited_to_others() -> None:
    reads = Reads()
    texts = reads.loader()

    async def load() -> str:
        return await texts.load("a")

    first, second = asyncio.create_task(load()), asyncio.create_task(load())
    await let_run()
    first.cancel()
    with suppress(asyncio.CancelledError):
        await first
    reads.go.set()
    assert await second == "A"
    assert first.cancelled()
    assert reads.batches == [["a"]]


async def test_what_everybody_stopped_waiting_for_is_there_afterwards() -> None:
    reads = Reads()
    texts = reads.loader()
    waiting = [texts.load("a"), texts.load("a")]
    await let_run()
    for one in waiting:
        one.cancel()
    reads.go.set()
    await let_run()
    assert await texts.load("a") == "A"
    assert reads.batches == [["a"]]


async def test_a_value_that_is_there_is_not_waited_for() -> None:
    reads = Reads()
    texts = reads.loader().prime("a", "primed")
    assert texts.load("a").done()
    assert await texts.load("a") == "primed"
    reads.go.set()
    assert await texts.load("b") == "B"
    assert texts.load("b").result() == "B"
    assert reads.batches == [["b"]]


@pytest.mark.thorough
async def test_each_caller_gets_the_error_of_a_key_and_none_is_left_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    reads = Reads()
    texts = reads.loader()
    gone, awaited, forgotten = [texts.load("no a") for _ in range(3)]
    await let_run()
    gone.cancel()
    reads.go.set()
    with pytest.raises(LookupError, match="no a"):
        await awaited
    del gone, forgotten, texts
    gc.collect()
    assert caplog.text == ""
    assert reads.batches == [["no a"]]


async def test_what_is_loaded_after_a_batch_is_one_batch_again() -> None:
    reads = Reads()
    reads.go.set()
    texts = reads.loader()

    async def load_two(first: str, second: str) -> str:
        return await texts.load(first) + await texts.load(second)

    await texts.load("k")
    found = tuple(await asyncio.gather(load_two("a", "x"), load_two("b", "y"), load_two("a", "z")))
    assert found == ("AX", "BY", "AZ")
    assert list(map(sorted, reads.batches)) == [["k"], ["a", "b"], ["x", "y", "z"]]
