"""The failure of a task for which nobody waits is logged, or seen where nobody has to know."""

import asyncio
import gc
import logging
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from penstock.datastore.background_tasks import retrieve_failure, start_task
from penstock.datastore.errors import Unavailable
from penstock.datastore.objects.directory import in_thread
from penstock.server.core.recent_value import RecentValue
from tests.support.patience import until

logger = logging.getLogger("test")


async def fail() -> None:
    await asyncio.sleep(0)
    raise ValueError("it broke")


async def unread_after(work: Callable[[], Coroutine[Any, Any, None]]) -> list[str]:
    """Return what asyncio complains of when some work, and what it began, has ended."""
    unread: list[str] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: unread.append(str(context["message"])))
    await work()
    for _ in range(20):
        await asyncio.sleep(0)
    gc.collect()
    return unread


async def test_a_task_that_fails_is_logged_at_once(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        await asyncio.wait([start_task(fail(), logger, "nothing more is stored")])

    assert await unread_after(work) == []
    (line,) = caplog.records
    assert (line.levelname, line.message) == ("ERROR", "nothing more is stored")
    assert line.exc_info is not None
    assert isinstance(line.exc_info[1], ValueError)


async def test_a_task_that_ends_or_is_cancelled_is_not_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    task = start_task(asyncio.sleep(0, "done"), logger, "not this")
    assert await task == "done"
    task = start_task(asyncio.sleep(0, "done"), logger, "not this")
    task.cancel()
    await asyncio.wait([task])
    assert caplog.records == []


async def test_a_failure_counts_as_seen() -> None:
    async def work() -> None:
        for seen in (True, False):
            task = asyncio.create_task(fail())
            if seen:
                task.add_done_callback(retrieve_failure)
            await asyncio.wait([task])

    assert await unread_after(work) == ["Task exception was never retrieved"]


async def test_work_in_a_thread_may_fail_after_its_caller_went() -> None:
    begun, end = threading.Event(), threading.Event()

    def break_late() -> None:
        begun.set()
        end.wait()
        raise OSError

    async def work() -> None:
        task = asyncio.create_task(in_thread(break_late))
        await until(begun.is_set)
        task.cancel()
        await asyncio.sleep(0)
        end.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert await unread_after(work) == []


async def test_a_value_may_fail_after_all_who_wanted_it_went() -> None:
    going = asyncio.Event()

    async def make() -> None:
        await going.wait()
        raise Unavailable("the store is gone")

    async def work() -> None:
        wanted = asyncio.create_task(RecentValue(make).get())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        wanted.cancel()
        await asyncio.wait([wanted])
        going.set()

    assert await unread_after(work) == []
