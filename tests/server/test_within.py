"""Waiting for so long and no longer: as `asyncio.timeout`, but without a timer for nothing."""

import asyncio
from typing import Any
from unittest.mock import patch

import pytest

from server.within import Within


async def straight(result: str) -> str:
    return result


async def slow(steps: int = 3, seconds: float = 0.0) -> int:
    for _ in range(steps):
        await asyncio.sleep(seconds)
    return steps


async def test_what_need_not_wait_needs_no_timer() -> None:
    with patch("asyncio.timeout_at", side_effect=AssertionError):
        assert await Within(1, straight("done")) == "done"
        with pytest.raises(KeyError):
            await Within(1, failing())


async def failing() -> None:
    raise KeyError("early")


async def test_what_waits_gives_its_result_or_raises() -> None:
    assert await Within(5, slow()) == 3
    assert await Within(5, slow(2, 0.001)) == 2

    async def fails() -> None:
        await asyncio.sleep(0)
        raise KeyError("late")

    with pytest.raises(KeyError, match="late"):
        await Within(5, fails())


async def test_what_takes_longer_is_cancelled_and_told_from_timeouts_of_its_own() -> None:
    ended: list[str] = []

    async def waits() -> None:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    late = Within(0.01, waits())
    with pytest.raises(TimeoutError):
        await late
    assert (late.expired, ended) == (True, ["cancelled"])

    async def own() -> None:
        await asyncio.sleep(0)
        raise TimeoutError("its own")

    fails = Within(30, own())
    with pytest.raises(TimeoutError, match="its own"):
        await fails
    assert fails.expired is False


async def test_a_cancelled_task_is_cancelled_within() -> None:
    ended: list[str] = []

    async def waits() -> str:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            ended.append("cancelled")
        return "cleaned up"

    async def around() -> Any:
        return await Within(30, waits())

    task = asyncio.create_task(around())
    await asyncio.sleep(0)
    task.cancel()
    assert await task == "cleaned up"
    assert ended == ["cancelled"]


async def test_one_within_another_ends_with_the_shorter() -> None:
    inner = Within(30, slow(1, 30))

    async def around() -> int:
        return await inner

    outer = Within(0.01, around())
    with pytest.raises(TimeoutError):
        await outer
    assert (outer.expired, inner.expired) == (True, False)


async def test_many_wait_side_by_side() -> None:
    assert await asyncio.gather(*(Within(5, slow(n, 0.001)) for n in range(20))) == [*range(20)]
