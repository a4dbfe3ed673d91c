"""Tasks that a process repeats as long as it runs; a failure is logged and ends nothing."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from logging import Logger
from typing import Any, NamedTuple, NoReturn

from penstock.datastore.errors import PenstockError


class PeriodicTask(NamedTuple):
    """A function that is called every `seconds` seconds.

    The first call is at once (`at_once`) or after the first interval. When the call fails, the
    logger writes the error behind `error_context`, and the next call follows as usual.
    """

    work: Callable[[], Awaitable[object]]
    seconds: float
    logger: Logger
    error_context: str
    at_once: bool = False


@asynccontextmanager
async def run_periodically(*chores: PeriodicTask) -> AsyncIterator[None]:
    """Repeat the tasks concurrently until the block ends."""
    tasks = [asyncio.create_task(repeat_task(chore)) for chore in chores]
    try:
        yield
    finally:
        await cancel_tasks(tasks)


async def repeat_task(chore: PeriodicTask) -> NoReturn:
    """Repeat one task until it is cancelled."""
    if not chore.at_once:
        await asyncio.sleep(chore.seconds)
    while True:
        await try_once(chore.work, chore.logger, chore.error_context)
        await asyncio.sleep(chore.seconds)


async def try_once(work: Callable[[], Awaitable[object]], logger: Logger, trouble: str) -> None:
    """Call the function once and log its failure; a cancelled task ends all the same."""
    check_cancelled()
    try:
        await work()
    except PenstockError as error:
        logger.warning("%s: %s", trouble, error.message)
    except Exception:
        logger.exception(trouble)
    check_cancelled()


async def finish_all(works: Iterable[Callable[[], Awaitable[int]]]) -> int:
    """Do every piece of work, also behind one that fails; return the sum of their results.

    Raises the first failure when all are done.
    """
    total, failures = 0, list[Exception]()
    for work in works:
        check_cancelled()
        try:
            total += await work()
        except Exception as failure:
            failures.append(failure)
    if failures:
        raise failures[0]
    return total


async def repeat_when_set(wanted: asyncio.Event, chore: PeriodicTask) -> NoReturn:
    """Repeat a task until cancelled: at once, then when the event is set or the interval ends."""
    while True:
        wanted.clear()
        await try_once(chore.work, chore.logger, chore.error_context)
        with suppress(TimeoutError):
            await asyncio.wait_for(wanted.wait(), chore.seconds)


def check_cancelled() -> None:
    """Raise CancelledError if the running task was cancelled and the cancellation got lost.

    When an awaited call ends or fails at the moment of the cancellation, asyncio's `gather`,
    `wait_for` and `TaskGroup` report that instead.
    """
    if is_cancelled():
        raise asyncio.CancelledError


def is_cancelled() -> bool:
    """Whether somebody cancelled the running task; else it awaited something that was cancelled."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def cancel_tasks(tasks: Iterable["asyncio.Task[Any]"]) -> None:
    """Cancel the tasks, and wait until each has ended."""
    going = set(tasks)
    for task in going:
        task.cancel()
    if going:
        await asyncio.wait(going)
