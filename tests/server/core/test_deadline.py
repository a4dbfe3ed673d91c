"""A deadline works like `asyncio.timeout`, but makes no timer that is not needed."""

import asyncio
from typing import Any
from unittest.mock import patch

import pytest

from penstock.server.core.deadline import Deadline


class DeadlineError(Exception):
    """The exception that the deadline raises."""


async def straight(result: str) -> str:
    return result


async def slow(steps: int = 3, seconds: float = 0.0) -> int:
    for _ in range(steps):
        await asyncio.sleep(seconds)
    return steps


async def test_what_need_not_wait_needs_no_timer() -> None:
    with patch("asyncio.timeout", side_effect=AssertionError):
        assert await Deadline(1, straight("done"), DeadlineError) == "done"
        with pytest.raises(KeyError):
            await Deadline(1, failing(), DeadlineError)


async def failing() -> None:
    raise KeyError("early")


async def test_what_waits_gives_its_result_or_raises() -> None:
    assert await Deadline(5, slow(), DeadlineError) == 3
    assert await Deadline(5, slow(2, 0.001), DeadlineError) == 2

    async def fails() -> None:
        await asyncio.sleep(0)
        raise KeyError("late")

    with pytest.raises(KeyError, match="late"):
        await Deadline(5, fails(), DeadlineError)


async def test_what_takes_longer_is_cancelled_and_told_from_timeouts_of_its_own() -> None:
    ended: list[str] = []

    async def waits() -> None:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    with pytest.raises(DeadlineError):
        await Deadline(0.01, waits(), DeadlineError)
    assert ended == ["cancelled"]

    async def own() -> None:
        await asyncio.sleep(0)
        raise TimeoutError("its own")

    with pytest.raises(TimeoutError, match="its own"):
        await Deadline(30, own(), DeadlineError)


async def test_a_cancelled_task_is_cancelled_within() -> None:
    ended: list[str] = []

    async def waits() -> str:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            ended.append("cancelled")
        return "cleaned up"

    async def around() -> Any:
        return await Deadline(30, waits(), DeadlineError)

    task = asyncio.create_task(around())
    await asyncio.sleep(0)
    task.cancel()
    assert await task == "cleaned up"
    assert ended == ["cancelled"]


async def test_one_within_another_ends_with_the_shorter() -> None:
    async def around() -> int:
        return await Deadline(30, slow(1, 30), AssertionError)

    with pytest.raises(DeadlineError):
        await Deadline(0.01, around(), DeadlineError)


async def test_many_wait_side_by_side() -> None:
    assert await asyncio.gather(
        *(Deadline(5, slow(n, 0.001), DeadlineError) for n in range(20))
    ) == [*range(20)]
