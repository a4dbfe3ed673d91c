"""Callers take turns: one with many operations does not keep the others waiting."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from penstock.server.edge.rate_limit import FairTurns
from tests.support.patience import HUNG_SECONDS

MANY = 360
MOST = 8


class Hall:
    """Operations that note who began and ended; `work` is what each does in between."""

    def __init__(self, work: Callable[[], Awaitable[None]], most: int = MOST) -> None:
        self.turns = FairTurns(most)
        self.begun: list[str] = []
        self.running = 0
        self.peak = 0
        self._work = work

    async def run(self, caller: str) -> None:
        await self.turns.enter(caller)
        self.begun.append(caller)
        self.running += 1
        self.peak = max(self.peak, self.running)
        try:
            await self._work()
        finally:
            self.running -= 1
            self.turns.leave(caller)

    async def settle(self) -> None:
        for _ in range(3):
            await asyncio.sleep(0)
        assert len(self.turns) == 0


async def no_suspension() -> None:
    """Return at once, as an operation without reads does."""


async def some_suspensions() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_operations_that_are_given_up_leave_their_line_at_once() -> None:
    turns = FairTurns(1)
    await turns.enter("eve")
    waiting = [asyncio.create_task(turns.enter("eve")) for _ in range(MANY)]
    await asyncio.sleep(0)
    for task in waiting[:-1]:
        task.cancel()
    await asyncio.wait(waiting[:-1])
    assert len(turns._lanes["eve"].waiting) == 1
    turns.leave("eve")
    await waiting[-1]
    turns.leave("eve")
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert len(turns) == 0


@pytest.mark.parametrize("work", [no_suspension, some_suspensions])
async def test_an_operation_waits_for_few_of_another_caller(
    work: Callable[[], Awaitable[None]],
) -> None:
    hall = Hall(work)
    tasks = [asyncio.create_task(hall.run("ann")) for _ in range(MANY)]
    tasks.append(asyncio.create_task(hall.run("bob")))
    await asyncio.gather(*tasks)
    assert hall.begun.index("bob") <= MOST
    assert hall.begun.count("ann") == MANY
    assert hall.peak <= MOST + 1
    await hall.settle()


async def test_callers_with_queues_begin_one_operation_each_in_turn() -> None:
    hall = Hall(no_suspension, most=1)
    callers = ("ann", "bob", "cat")
    tasks = [asyncio.create_task(hall.run(one)) for one in callers for _ in range(50)]
    await asyncio.gather(*tasks)
    places = [[n for n, one in enumerate(hall.begun) if one == caller] for caller in callers]
    for n in range(50):
        assert max(place[n] for place in places) - min(place[n] for place in places) <= 3
    await hall.settle()


async def test_operations_of_one_caller_begin_in_their_order() -> None:
    turns, begun = FairTurns(2), []

    async def run(number: int) -> None:
        await turns.enter("ann")
        begun.append(number)
        turns.leave("ann")

    await asyncio.gather(*(run(number) for number in range(20)))
    assert begun == list(range(20))


async def test_no_more_than_the_most_run_at_once() -> None:
    go = asyncio.Event()

    async def wait() -> None:
        await go.wait()

    hall = Hall(wait)
    tasks = [asyncio.create_task(hall.run("ann")) for _ in range(MANY)]
    for _ in range(100):
        await asyncio.sleep(0)
    assert hall.running == MOST
    go.set()
    await asyncio.gather(*tasks)
    assert hall.peak == MOST
    await hall.settle()


@pytest.mark.parametrize("steps", range(5))
async def test_who_leaves_the_queue_leaves_no_gap(steps: int) -> None:
    """At each step: while it waits, just when its turn comes, and while it runs."""
    hall = Hall(some_suspensions, most=1)
    tasks = [asyncio.create_task(hall.run("ann")) for _ in range(20)]
    for number in range(0, 20, 2):
        for _ in range(steps):
            await asyncio.sleep(0)
        tasks[number].cancel()
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    assert [ended[number] for number in range(1, 20, 2)] == [None] * 10
    assert hall.peak == 1
    await hall.settle()


async def test_an_operation_whose_turn_and_end_come_together_gives_the_turn_back() -> None:
    turns = FairTurns(1)
    await turns.enter("ann")
    second = asyncio.create_task(turns.enter("ann"))
    await asyncio.sleep(0)
    turns.leave("ann")
    asyncio.get_running_loop().call_soon(second.cancel)
    with pytest.raises(asyncio.CancelledError):
        await second
    await asyncio.wait_for(turns.enter("ann"), HUNG_SECONDS)
    turns.leave("ann")
    await asyncio.sleep(0)
    assert len(turns) == 0
