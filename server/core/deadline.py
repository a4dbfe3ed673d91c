"""A deadline for a coroutine; it makes no timer if the coroutine finishes without suspending."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Generator
from functools import partial
from typing import Any, Generic, TypeVar

T = TypeVar("T")
_Steps = Generator[Any, Any, T]


class Deadline(Generic[T]):
    """Awaits a coroutine; raises the exception from `late` after `seconds`."""

    __slots__ = ("_coroutine", "_late", "_seconds")

    def __init__(
        self, seconds: float, coroutine: Coroutine[Any, Any, T], late: Callable[[], Exception]
    ) -> None:
        self._seconds = seconds
        self._coroutine = coroutine
        self._late = late

    def __await__(self) -> _Steps[T]:
        until = time.monotonic() + self._seconds
        steps = self._coroutine.__await__()
        try:
            waiting = next(steps)
        except StopIteration as done:
            result: T = done.value
            return result
        return (yield from self._finish_in_time(until, waiting, steps).__await__())

    async def _finish_in_time(self, until: float, waiting: Any, steps: _Steps[T]) -> T:
        timeout = asyncio.timeout(until - time.monotonic())
        try:
            async with timeout:
                return await _SuspendedCoroutine(waiting, steps)
        except TimeoutError:
            if timeout.expired():
                raise self._late() from None
            raise


class _SuspendedCoroutine(Generic[T]):
    """An awaitable for the rest of a coroutine that has already suspended once."""

    def __init__(self, waiting: Any, steps: _Steps[T]) -> None:
        self._waiting = waiting
        self._steps = steps

    def __await__(self) -> _Steps[T]:
        waiting, steps = self._waiting, self._steps
        while True:
            try:
                sent = yield waiting
            except BaseException as error:
                step: Callable[[], Any] = partial(steps.throw, error)
            else:
                step = partial(steps.send, sent)
            try:
                waiting = step()
            except StopIteration as done:
                result: T = done.value
                return result
            finally:
                # An exception holds this frame, which must not hold the exception: the two would
                # stay until the next full collection, with the body that was being received.
                del step
