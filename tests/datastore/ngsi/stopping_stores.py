"""The stores of one process that stops for ever, or stands still, at any of its writes."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from penstock.datastore.errors import Unavailable
from penstock.datastore.ngsi.sink import SinkContext
from penstock.datastore.table.layout import OPEN_PREFIX
from penstock.datastore.table.port import ConditionFailed, Operation, Update
from tests.support.table_interceptors import InterceptedTable

T = TypeVar("T")


@dataclass(slots=True)
class Writes:
    """The writes of a process, in their order: to its table, its files and its destinations.

    It dies at the write number `dies_at`: before it takes effect, or else when it has taken effect
    and before the answer. Before the write number `stalls_at` it stands still, while `meanwhile`
    happens. No other write goes on then.
    """

    dies_at: int | None = None
    takes_effect: bool = False
    stalls_at: int | None = None
    meanwhile: Callable[[], Awaitable[object]] | None = None
    begun: int = 0
    stalled: bool = False
    died: asyncio.Event = field(default_factory=asyncio.Event)
    _going: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self._going.set()

    def over(self, context: SinkContext) -> dict[str, Any]:
        """The stores of the process."""
        return {
            "table": StoppingTable(context.table, self),
            "files": StoppingWriter(context.files, self),
            "destinations": StoppingWriter(context.destinations, self),
        }

    async def let_through(self, call: Coroutine[Any, Any, T]) -> T:
        """Do a write at its turn, unless the process is dead."""
        try:
            await self._going.wait()
            number = self.begun
            self.begun += 1
            if number == self.stalls_at and self.meanwhile is not None:
                self._going.clear()
                self.stalled = True
                await self.meanwhile()
                self._going.set()
            if number == self.dies_at:
                self._going.clear()
                if self.takes_effect:
                    # What the store refuses changes nothing; nobody learns of that either.
                    with suppress(ConditionFailed):
                        await call
                self.died.set()
                await asyncio.Event().wait()
            await self._going.wait()
            return await call
        finally:
            call.close()


class StoppingTable(InterceptedTable):
    """The table of the process."""

    def __init__(self, table: Any, process: Writes) -> None:
        super().__init__(table)
        self.process = process

    async def request(self, call: Coroutine[Any, Any, T], *, writes: bool) -> T:
        return await (self.process.let_through(call) if writes else call)


class StoppingWriter:
    """Files or destinations of the process."""

    def __init__(self, inner: Any, process: Writes) -> None:
        self.inner = inner
        self.process = process

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    async def write(self, *args: Any, **kwargs: Any) -> Any:
        return await self.process.let_through(self.inner.write(*args, **kwargs))


class LateCommitTable(InterceptedTable):
    """A table of which one commit of a segment to a shared run takes effect late.

    Once `meanwhile` is set, the next such commit waits until that has happened. When the commit has
    taken effect, the process `dies`, or `loses_answer` tells it of a failure.
    """

    def __init__(self, table: Any) -> None:
        super().__init__(table)
        self.meanwhile: Callable[[], Awaitable[object]] | None = None
        self.dies = self.loses_answer = False
        self.died = asyncio.Event()

    async def transact(self, operations: Sequence[Operation]) -> float:
        if self.meanwhile is None or not any(map(_opens_segment, operations)):
            return await self._table.transact(operations)
        meanwhile, self.meanwhile = self.meanwhile, None
        await meanwhile()
        units = await self._table.transact(operations)
        if self.dies:
            self.died.set()
            await asyncio.Event().wait()
        if self.loses_answer:
            raise Unavailable("The answer is lost.")
        return units


def _opens_segment(operation: Operation) -> bool:
    return isinstance(operation, Update) and any(
        name.startswith(OPEN_PREFIX) for name in operation.set
    )
