"""Awaits futures together; it stops waiting for one when its place in the answer becomes null."""

from asyncio import CancelledError, Future, current_task, ensure_future, isfuture, wait
from collections.abc import Awaitable, Iterable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from penstock.graphql_jit.plan import Field, Place
from penstock.graphql_jit.state import OperationState, RaisedError

_GONE: Final = object()


class _AwaitedValue(NamedTuple):
    """A future; it is foreign if a resolver returned it, and not if a coroutine is started here."""

    future: "Future[Any]"
    is_foreign: bool


class GatherGroup:
    """Futures at one level, each with the field and the place of its value.

    The futures that graphql-core completes (`completed`) fail only where null is not allowed. Where
    null is not allowed, a failure replaces objects around the value at once, and the remaining
    futures of these objects are not awaited.
    """

    __slots__ = ("_fields", "_places", "_run", "_values", "_waiter")

    def __init__(
        self,
        run: OperationState,
        fields: "Sequence[Field | None]",
        places: list[Place],
        values: Sequence[Awaitable[Any]],
        *,
        completed: bool,
    ) -> None:
        self._run = run
        self._places = places
        self._values = [_AwaitedValue(ensure_future(value), isfuture(value)) for value in values]
        self._waiter: Future[None] | None = None
        run.gather_groups.add(self)
        for field, place, value in zip(fields, places, self._values, strict=True):
            if completed:
                value.future.add_done_callback(partial(self._handle_failure, field, place))
            elif field is not None and not field.nullable[0]:
                value.future.add_done_callback(partial(self._handle_result, field, place))

    async def outcomes(self) -> list[Any]:
        """Await all futures and return their results; an exception is returned as Raised."""
        try:
            return [
                await self._outcome(value, place)
                for value, place in zip(self._values, self._places, strict=True)
            ]
        except BaseException:
            await cancel_all([value.future for value in self._values])
            raise
        finally:
            self._run.gather_groups.discard(self)

    def release_dead(self) -> None:
        """Stop waiting for values whose places have become null.

        Coroutines that were started here are cancelled. A future that a resolver returned is not,
        because other code may await it.
        """
        for value, place in zip(self._values, self._places, strict=True):
            if not value.future.done() and self._run.is_dead(place) and not value.is_foreign:
                _cancel_soon(value.future)
        self._wake()

    async def _outcome(self, value: "_AwaitedValue", place: Place) -> Any:
        future = value.future
        try:
            while value.is_foreign and not future.done() and not self._run.is_dead(place):
                await self._wait_for_wake(future)
            if not self._run.is_dead(place):
                return await future
            future.add_done_callback(read_error)
            return _GONE
        except CancelledError:
            task = current_task()
            own = task is not None and task.cancelling()
            if own or not self._run.is_dead(place):
                raise
            return _GONE
        except Exception as error:
            return RaisedError(error)

    async def _wait_for_wake(self, future: "Future[Any]") -> None:
        """Wait until the future is done or `_wake` is called."""
        self._waiter = future.get_loop().create_future()
        future.add_done_callback(self._wake)
        await self._waiter

    def _wake(self, future: "Future[Any] | None" = None) -> None:
        if future is not None:
            read_error(future)
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _handle_result(self, field: Field, place: Place, future: "Future[Any]") -> None:
        self._handle_failure(field, place, future)
        if not future.cancelled() and future.exception() is None and future.result() is None:
            self._run.record_late_error(field, field.null_error(), place)

    def _handle_failure(self, field: Field | None, place: Place, future: "Future[Any]") -> None:
        error = None if future.cancelled() else future.exception()
        if isinstance(error, Exception) and not self._run.is_dead(place):
            self._run.record_late_error(field, error, place)


def _cancel_soon(future: "Future[Any]") -> None:
    # Not at once: a coroutine that has not started may hold others, never awaited then.
    future.get_loop().call_soon(future.cancel)


def read_error(future: "Future[Any]") -> None:
    """Tell asyncio that the error of a done future was retrieved, or it logs its traceback."""
    if not future.cancelled():
        future.exception()


async def cancel_all(futures: "Iterable[Future[Any]]") -> None:
    """Cancel the futures that are not done, and wait until they have ended."""
    futures = list(futures)
    for future in futures:
        future.add_done_callback(read_error)
    pending = [future for future in futures if not future.done()]
    for future in pending:
        _cancel_soon(future)
    if pending:
        await wait(pending)
