"""Tasks for which nobody waits, or no longer: their failures are seen."""

from asyncio import Future, Task, create_task
from collections.abc import Coroutine
from functools import partial
from logging import Logger
from typing import Any, TypeVar

T = TypeVar("T")


def start_task(work: Coroutine[Any, Any, T], logger: Logger, trouble: str) -> "Task[T]":
    """Start a task for which nobody waits; if it fails, the logger says so at once."""
    task = create_task(work)
    task.add_done_callback(partial(_log_failure, logger, trouble))
    return task


def retrieve_failure(work: "Future[Any]") -> None:
    """Count the failure of a task as seen: whoever waited for it may be gone."""
    if not work.cancelled():
        work.exception()


def _log_failure(logger: Logger, trouble: str, task: "Task[Any]") -> None:
    if not task.cancelled() and (failure := task.exception()) is not None:
        logger.error(trouble, exc_info=failure)
