"""Stores in which somebody else calls before a call with a given number."""

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from penstock.datastore.errors import PenstockError
from penstock.datastore.executions.records import Execution
from penstock.datastore.objects.port import Files, Stat
from penstock.datastore.store import Store
from penstock.datastore.table.port import Table
from tests.datastore.executions.sample_executions import put_file, read_content
from tests.datastore.executions.worker_death import ForwardingFiles
from tests.support.table_interceptors import InterceptedTable

T = TypeVar("T")
Call = Callable[[Store, Execution], Awaitable[object]]

MOST_CALLS = 200


class Overtaking:
    """A call of somebody else, which is made before the call of a store with this number."""

    def __init__(self, number: int, overtake: Callable[[], Awaitable[object]]) -> None:
        self.left = number
        self._overtake = overtake

    async def step(self) -> None:
        self.left -= 1
        if self.left == -1:
            with suppress(PenstockError):
                await self._overtake()

    @property
    def is_over(self) -> bool:
        return self.left < 0


class OvertakenTable(InterceptedTable):
    def __init__(self, table: Table, overtaking: Overtaking) -> None:
        super().__init__(table)
        self.overtaking = overtaking

    async def request(self, call: Coroutine[Any, Any, T], *, writes: bool) -> T:
        await self.overtaking.step()
        return await call


class OvertakenFiles(ForwardingFiles):
    """A store of files whose copies end also if their source is deleted meanwhile, as S3's do."""

    def __init__(self, files: Files, overtaking: Overtaking) -> None:
        super().__init__(files)
        self.overtaking = overtaking

    async def stat(self, key: str) -> Stat | None:
        await self.overtaking.step()
        return await super().stat(key)

    async def write(self, key: str, chunks: AsyncIterable[bytes], *, content_type: str) -> str:
        content = b"".join([chunk async for chunk in chunks])
        await self.overtaking.step()
        await put_file(self.files, key, content)
        stat = await self.files.stat(key)
        return "" if stat is None else stat.etag

    async def copy(self, source: str, target: str, etag: str | None = None) -> None:
        content = await read_content(self.files, source)
        await self.overtaking.step()
        if content is None:
            await super().copy(source, target, etag)
        else:
            await put_file(self.files, target, content)

    async def refuse_uploads(self, key: str) -> None:
        await self.overtaking.step()
        await super().refuse_uploads(key)

    async def delete(self, key: str) -> None:
        await self.overtaking.step()
        await super().delete(key)


async def overtake_each_call(
    store: Store, prepare: Callable[[int], Awaitable[Execution]], call: Call, meanwhile: Call
) -> AsyncIterator[Execution]:
    """Yield executions about which a call was overtaken, before each of its calls of the stores.

    `prepare` makes one for each number of these calls; the last one was not overtaken.
    """
    for number in range(MOST_CALLS):
        made = await prepare(number)
        overtaking = Overtaking(number, partial(meanwhile, store, made))
        slow = replace(
            store,
            table=OvertakenTable(store.table, overtaking),
            files=OvertakenFiles(store.files, overtaking),
        )
        with suppress(PenstockError):
            await call(slow, made)
        yield made
        if not overtaking.is_over:
            return
    raise AssertionError("The call goes on without end.")
