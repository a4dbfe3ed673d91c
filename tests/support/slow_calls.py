"""Stores that answer after random times: `pytest --slow-calls SEED` finds tests that need speed.

Each call of a table or of files waits before and after: for some turns of the event loop, and now
and then for some milliseconds; work in threads begins and ends late as well. A seed gives each test
the same times wherever it runs, as far as its tasks and threads ask for them in the same order.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import wraps
from inspect import iscoroutinefunction
from random import Random
from typing import Any, Final, TypeVar

import pytest

T = TypeVar("T")

TURNS: Final = 4
"""The most turns of the event loop that a call waits for."""

SECONDS: Final = 0.02
"""The longest sleep."""

SLEEPS: Final = 0.05
"""The part of the waits that are sleeps."""

DELAYS: Final = Random()
OWN_PACE: Final = "own_pace: a test of the order of calls, which --slow-calls leaves alone"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow-calls", metavar="SEED", help="let stores and threads take random time")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", OWN_PACE)


@pytest.fixture(autouse=True)
def slow_calls(request: pytest.FixtureRequest) -> Iterator[None]:
    """Slow every store of this process down during a test, if the option says so."""
    seed = request.config.getoption("slow_calls")
    if seed is None or request.node.get_closest_marker("own_pace"):
        yield
        return
    DELAYS.seed(f"{seed} {request.node.nodeid}")
    with pytest.MonkeyPatch.context() as patch:
        slow_stores(patch)
        patch.setattr(ThreadPoolExecutor, "submit", slow_submit(ThreadPoolExecutor.submit))
        yield


def slow_stores(patch: pytest.MonkeyPatch) -> None:
    """Let every call of the ports take random time, in all their implementations."""
    # Most runs of a few tests load fewer of them.
    from penstock.datastore.dynamodb.table import DynamoDBTable  # noqa: PLC0415
    from penstock.datastore.objects.directory import LocalFiles  # noqa: PLC0415
    from penstock.datastore.objects.port import Files  # noqa: PLC0415
    from penstock.datastore.objects.s3 import S3Files  # noqa: PLC0415
    from penstock.datastore.sqlite.table import SqliteTable  # noqa: PLC0415
    from penstock.datastore.table.port import Table  # noqa: PLC0415

    for port, implementations in (
        (Table, (SqliteTable, DynamoDBTable)),
        (Files, (LocalFiles, S3Files)),
    ):
        for implementation in implementations:
            for name, method in vars(port).items():
                if iscoroutinefunction(method):
                    patch.setattr(implementation, name, slow_call(getattr(implementation, name)))


def slow_call(call: Callable[..., Coroutine[Any, Any, T]]) -> Callable[..., Coroutine[Any, Any, T]]:
    """Return the call with a wait before and after it, also where it fails."""

    @wraps(call)
    async def call_slowly(*args: Any, **kwargs: Any) -> T:
        await wait_some_time()
        try:
            answer = await call(*args, **kwargs)
        except Exception:
            await wait_some_time()
            raise
        await wait_some_time()
        return answer

    return call_slowly


async def wait_some_time() -> None:
    if DELAYS.random() < SLEEPS:
        await asyncio.sleep(DELAYS.uniform(0, SECONDS))
    else:
        for _ in range(DELAYS.randrange(TURNS + 1)):
            await asyncio.sleep(0)


def slow_submit(submit: Callable[..., Future[T]]) -> Callable[..., Future[T]]:
    """Return `submit` of threads, whose work now and then begins and ends late."""

    @wraps(submit)
    def submit_slowly(
        threads: ThreadPoolExecutor, work: Callable[..., T], /, *args: Any, **kwargs: Any
    ) -> Future[T]:
        def work_slowly() -> T:
            sleep_some_time()
            try:
                return work(*args, **kwargs)
            finally:
                sleep_some_time()

        return submit(threads, work_slowly)

    return submit_slowly


def sleep_some_time() -> None:
    if DELAYS.random() < SLEEPS:
        time.sleep(DELAYS.uniform(0, SECONDS))
