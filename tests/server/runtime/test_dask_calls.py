"""Calls on a cluster whose scheduler is silent: they end, and those that only take long go on."""

import asyncio
import pickle
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

calls = pytest.importorskip("penstock.server.runtime.dask.calls", reason="penstock[dask]")


@dataclass
class HungClient:
    """A client of a scheduler that answers `answers` times; then the result comes, or nothing."""

    answers: int
    result: bytes | None = None
    asked: int = 0
    cancelled: list[Any] = field(default_factory=list)

    async def nthreads(self) -> dict[str, int]:
        self.asked += 1
        if self.asked > self.answers:
            await asyncio.Event().wait()
        if self.asked == self.answers and self.result is not None:
            self.future.set_result(self.result)
        return {"machine": 1}

    def submit(self, *_: object, **__: object) -> asyncio.Future[bytes]:
        self.future = asyncio.get_running_loop().create_future()
        return self.future

    async def cancel(self, futures: Sequence[Any]) -> None:
        self.cancelled += futures


async def results(client: HungClient) -> list[Any]:
    found = calls.ClusterCalls(client, silence=0.001)
    return [one async for one in found.results_in_order(len, [("a",)])]


async def test_a_scheduler_that_gives_no_sign_of_life_is_not_waited_for() -> None:
    with pytest.raises(TimeoutError):
        await results(HungClient(answers=3))


async def test_a_result_that_takes_long_is_waited_for_as_long_as_the_scheduler_answers() -> None:
    client = HungClient(answers=5, result=pickle.dumps(7))
    assert await results(client) == [7]
    assert client.asked == 5
