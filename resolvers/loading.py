"""How a read of many keys becomes a loader."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from aiodataloader import DataLoader

from penstock.datastore.observed import WatchBatch
from penstock.datastore.parts import Asked
from penstock.datastore.slices import Slice

K = TypeVar("K")
T = TypeVar("T")

MAX_BATCH = 100


def known(page: Slice[T], asked: Asked, know: Callable[[T], object]) -> Slice[T]:
    """Have a loader know what a page holds, unless that is only what was asked for."""
    if asked is None:
        for _, entry in page.entries:
            know(entry)
    return page


def loader(
    name: str,
    watch: WatchBatch,
    read: Callable[[Sequence[K]], Awaitable[Sequence[T | Exception]]],
    cache_key: Callable[[K], Any] | None = None,
) -> "DataLoader[K, T]":
    """A loader over a read that answers aligned; a failure in the answer fails that key alone."""

    async def batch(keys: list[K]) -> list[T]:
        ended = watch(name, len(keys))
        try:
            return list(await read(keys))  # type: ignore[arg-type]  # failures reject their key
        finally:
            ended()

    return DataLoader(batch, max_batch_size=MAX_BATCH, get_cache_key=cache_key)
