"""A value that many want is made once."""

import asyncio

import pytest

from penstock.server.core.recent_value import FRESH_SECONDS, RecentValue


class CountedMaker:
    """Counts what is made, and makes it when `gate` is open."""

    def __init__(self) -> None:
        self.count = 0
        self.time = 0.0
        self.gate = asyncio.Event()
        self.value = RecentValue(self.make, lambda: self.time)

    async def make(self) -> int:
        self.count += 1
        await self.gate.wait()
        return self.count


async def test_all_who_wait_share_one_value() -> None:
    maker = CountedMaker()
    waiting = [asyncio.create_task(maker.value.get()) for _ in range(100)]
    await asyncio.sleep(0)
    maker.gate.set()
    assert await asyncio.gather(*waiting) == [1] * 100


async def test_a_value_is_made_again_when_it_is_old() -> None:
    maker = CountedMaker()
    maker.gate.set()
    times = (0.0, FRESH_SECONDS / 2, FRESH_SECONDS, FRESH_SECONDS * 1.5, FRESH_SECONDS * 9)
    found = []
    for maker.time in times:
        found.append(await maker.value.get())
    assert found == [1, 1, 2, 2, 3]


async def test_a_value_is_as_old_as_its_end() -> None:
    maker = CountedMaker()
    waiting = asyncio.create_task(maker.value.get())
    await asyncio.sleep(0)
    maker.time = FRESH_SECONDS * 5
    others = asyncio.create_task(maker.value.get())
    await asyncio.sleep(0)
    maker.gate.set()
    assert [await waiting, await others, await maker.value.get()] == [1, 1, 1]


async def test_one_who_leaves_takes_nothing_from_the_others() -> None:
    maker = CountedMaker()
    leaver, other = (asyncio.create_task(maker.value.get()) for _ in range(2))
    await asyncio.sleep(0)
    leaver.cancel()
    await asyncio.sleep(0)
    maker.gate.set()
    assert (leaver.cancelled(), await other) == (True, 1)


async def test_a_failure_is_shared_too() -> None:
    count = 0

    async def fail() -> None:
        nonlocal count
        count += 1
        raise LookupError

    value = RecentValue(fail, lambda: 0.0)
    for _ in range(3):
        with pytest.raises(LookupError):
            await value.get()
    assert count == 1
