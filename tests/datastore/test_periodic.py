"""Periodic tasks go on after failures and end when cancelled, even if asyncio lost that."""

import asyncio
import logging
from functools import partial
from typing import NoReturn

import pytest

from penstock.datastore.periodic import cancel_tasks, finish_all, try_once
from tests.support.patience import HUNG_SECONDS


async def forever() -> NoReturn:
    await asyncio.Event().wait()
    raise AssertionError


async def test_tasks_are_over_when_they_are_stopped() -> None:
    tasks = [asyncio.create_task(forever()) for _ in range(3)]
    await asyncio.sleep(0)
    await cancel_tasks(tasks)
    assert [task.cancelled() for task in tasks] == [True] * 3
    await cancel_tasks(tasks)
    await cancel_tasks([])


async def test_a_loop_whose_cancellation_was_lost_is_ended_all_the_same() -> None:
    """`gather` raises the failure of that moment instead of the cancellation."""
    rounds = 0

    async def fails() -> None:
        raise ValueError

    async def work() -> None:
        nonlocal rounds
        rounds += 1
        await asyncio.gather(fails(), asyncio.sleep(9 * HUNG_SECONDS))

    async def loop() -> NoReturn:
        while True:
            await try_once(work, logging.getLogger("test"), "it failed")
            await asyncio.sleep(0 if rounds < 3 else 9 * HUNG_SECONDS)

    for wait in range(8):
        rounds = 0
        task = asyncio.create_task(loop())
        for _ in range(wait):
            await asyncio.sleep(0)
        await asyncio.wait_for(cancel_tasks([task]), HUNG_SECONDS)
        assert task.cancelled()


async def test_one_cancellation_may_be_lost() -> None:
    """Otherwise there is nothing to stop twice."""
    lost = 0
    for wait in range(8):
        heard: list[str] = []

        async def fails() -> None:
            raise ValueError

        async def gathers(heard: list[str] = heard) -> None:
            try:
                await asyncio.gather(fails(), asyncio.sleep(9 * HUNG_SECONDS))
            except ValueError:
                heard.append("failure")

        task = asyncio.create_task(gathers())
        for _ in range(wait):
            await asyncio.sleep(0)
        before = bool(heard)
        cancelled = task.cancel()
        await asyncio.wait([task])
        lost += cancelled and not before and not task.cancelled()
    assert lost > 0


async def test_all_work_is_done_before_the_first_failure_is_raised() -> None:
    done = list[int]()

    async def work(n: int) -> int:
        done.append(n)
        if n % 2:
            raise ValueError(n)
        return n

    with pytest.raises(ValueError, match="1"):
        await finish_all(partial(work, n) for n in range(5))
    assert done == [0, 1, 2, 3, 4]
    assert await finish_all(partial(work, n) for n in (2, 4)) == 6
