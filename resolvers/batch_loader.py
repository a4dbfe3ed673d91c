"""A DataLoader whose callers wait for themselves: none of them can cancel what others wait for."""

from asyncio import Future
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

from aiodataloader import DataLoader

K = TypeVar("K")
T = TypeVar("T")


class BatchLoader(DataLoader[K, T]):
    """Gives each caller of `load` a future of its own, unless the value is there already.

    graphql-core cancels what the siblings of a failed field wait for. The future of a key is shared
    by all who load the key, so a cancel must end one caller's waiting and not reach that future.
    """

    def __init__(
        self,
        read: Callable[[list[K]], Coroutine[Any, Any, list[T]]],
        max_batch_size: int,
        get_cache_key: Callable[[K], Any] | None = None,
    ) -> None:
        super().__init__(read, max_batch_size=max_batch_size, get_cache_key=get_cache_key)
        self._waiting: Final[dict[Future[T], list[Future[T]]]] = {}

    def load(self, key: K) -> "Future[T]":
        """Load a key; the future may be cancelled."""
        shared = super().load(key)
        if shared.done():
            return shared
        own: Future[T] = self.loop.create_future()
        waiting = self._waiting.get(shared)
        if waiting is None:
            self._waiting[shared] = [own]
            shared.add_done_callback(self._hand_over)
        else:
            waiting.append(own)
        return own

    def _hand_over(self, shared: "Future[T]") -> None:
        """Give the outcome of a shared future to all who wait for it."""
        error = shared.exception()
        for own in self._waiting.pop(shared):
            if own.done():
                continue
            if error is None:
                own.set_result(shared.result())
            else:
                own.set_exception(error)
                # Reading the error tells asyncio that it was retrieved, also if nobody awaits it.
                own.exception()
