"""Callers take turns: one with many operations does not keep the others waiting."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from penstock.server.edge.rate_limit import CallerAccount, CallerLimits, FairTurns, RateLimiter
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


async def turns_until(entering: Awaitable[None]) -> int:
    """Count the turns of the loop that go by until a caller has a turn."""
    task, count = asyncio.ensure_future(entering), 0
    while not task.done():
        await asyncio.sleep(0)
        count += 1
    return count


@pytest.mark.parametrize(("units", "turns"), [(24, 0), (25, 1), (800, 32), (10**9, 500)])
async def test_after_dear_work_a_caller_lets_turns_of_the_loop_go_by(
    units: int, turns: int
) -> None:
    hall = FairTurns(MOST)
    await hall.enter("ann")
    hall.rest("ann", units)
    assert await turns_until(hall.enter("bob")) == 1
    assert await turns_until(hall.enter("ann")) == max(1, turns)
    for caller in ("ann", "ann", "bob"):
        hall.leave(caller)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert len(hall) == 0


async def test_what_an_account_takes_is_worth_turns_of_the_loop() -> None:
    callers = CallerLimits.of(RateLimiter(1, 10_000), MOST)
    account = CallerAccount(callers, "ann")
    account.spend_more(100)
    account.owe(100)
    lines = (callers.running, callers.reading)
    waited = await asyncio.gather(*(turns_until(line.enter("ann")) for line in lines))
    assert waited == [8, 8]
    for line in lines:
        line.leave("ann")
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert (len(callers.running), len(callers.reading)) == (0, 0)
