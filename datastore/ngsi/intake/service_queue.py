"""A queue in which services take turns, so that a long one holds up no other."""

from asyncio import Queue
from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class ServiceQueue(Generic[T]):
    """Things that wait: those of each service in their order, and the services in turn."""

    def __init__(self) -> None:
        self._places: Queue[None] = Queue()
        self._by_service: dict[str, deque[T]] = {}

    def put(self, service: str, item: T) -> None:
        self._by_service.setdefault(service, deque()).append(item)
        self._places.put_nowait(None)

    async def get(self) -> T:
        """Wait for a thing, and take the first one of the service whose turn it is."""
        await self._places.get()
        return self._pop_next()

    def peek(self) -> T | None:
        """Return the thing that would be taken next; None if none waits."""
        if self._places.empty():
            return None
        return next(iter(self._by_service.values()))[0]

    def get_nowait(self) -> T:
        """Take the next thing; there must be one."""
        self._places.get_nowait()
        return self._pop_next()

    def task_done(self) -> None:
        """Note that the work on a thing is done."""
        self._places.task_done()

    async def join(self) -> None:
        """Wait until the work on everything is done."""
        await self._places.join()

    def _pop_next(self) -> T:
        service = next(iter(self._by_service))
        waiting = self._by_service.pop(service)
        item = waiting.popleft()
        if waiting:
            self._by_service[service] = waiting
        return item
