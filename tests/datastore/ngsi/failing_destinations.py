"""Destinations, tables and files that fail on purpose, before or after they take effect."""

import asyncio
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.datastore.errors import Unavailable
from penstock.datastore.ngsi.destinations import (
    Destinations,
    FailureKind,
    SampleTable,
    TableBatch,
    TableItem,
    TableKey,
)
from penstock.datastore.table.port import Key


class NotAllowed(Exception):
    """The credentials are wrong."""


Fails = Callable[[str], Exception | None]
"""Asked with a table's name before each write: how it fails, or None where it does not."""


def fail_nothing(_: str) -> None:
    return None


@dataclass(slots=True)
class FailingDestinations:
    """Destinations whose writes fail as `fails` decides, by chance after they took effect."""

    inner: Destinations
    fails: Fails = fail_nothing
    dice: random.Random = field(default_factory=lambda: random.Random(0))

    @property
    def has_tables(self) -> bool:
        return self.inner.has_tables

    async def create(self, name: str) -> None:
        await self.inner.create(name)

    async def write(self, items: Sequence[TableItem], *, patient: bool = True) -> None:
        failures = [failure for table, _ in items if (failure := self.fails(table))]
        if not failures or self.dice.random() < 0.5:
            await self.inner.write(items)
        if failures:
            raise failures[0]

    async def get(self, keys: Sequence[TableKey]) -> TableBatch:
        return await self.inner.get(keys)

    async def delete(self, table: str, keys: Sequence[Key]) -> None:
        failure = self.fails(table)
        if failure is None or self.dice.random() < 0.5:
            await self.inner.delete(table, keys)
        if failure is not None:
            raise failure

    def table(self, name: str) -> SampleTable:
        return self.inner.table(name)

    def failure_kind(self, error: Exception) -> FailureKind:
        return (
            FailureKind.CONFIGURATION
            if isinstance(error, NotAllowed)
            else self.inner.failure_kind(error)
        )

    async def close(self) -> None:
        await self.inner.close()


@dataclass(slots=True)
class HangingDestinations:
    """Destinations of which some never answer a patient request, and fail an impatient one.

    `tables` says whether each destination is a table, whose creation then never ends either.
    """

    inner: Destinations
    part: str
    tables: bool = False
    hanging: int = 0

    @property
    def has_tables(self) -> bool:
        return self.tables or self.inner.has_tables

    async def create(self, name: str) -> None:
        if self.tables and self.part in name:
            await self._hang()
        await self.inner.create(name)

    async def write(self, items: Sequence[TableItem], *, patient: bool = True) -> None:
        if not any(self.part in item.table for item in items):
            await self.inner.write(items, patient=patient)
        elif patient:
            await self._hang()
        else:
            raise Unavailable("busy")

    async def get(self, keys: Sequence[TableKey]) -> TableBatch:
        return await self.inner.get(keys)

    async def delete(self, table: str, keys: Sequence[Key]) -> None:
        await self.inner.delete(table, keys)

    async def _hang(self) -> None:
        self.hanging += 1
        try:
            await asyncio.Event().wait()
        finally:
            self.hanging -= 1

    def table(self, name: str) -> SampleTable:
        return self.inner.table(name)

    def failure_kind(self, error: Exception) -> FailureKind:
        return self.inner.failure_kind(error)

    async def close(self) -> None:
        await self.inner.close()


class FaultInjector:
    """A wrapper of `inner` in which some calls of the named methods fail.

    They fail with Unavailable, before or after they took effect.
    """

    def __init__(self, inner: Any, dice: random.Random, often: float, *methods: str) -> None:
        self.inner = inner
        self.dice = dice
        self.often = often
        self.methods = methods

    def __getattr__(self, name: str) -> Any:
        real = getattr(self.inner, name)
        if name not in self.methods:
            return real

        async def call_or_fail(*args: Any, **kwargs: Any) -> Any:
            drawn = self.dice.random()
            if drawn < self.often / 2:
                raise Unavailable("by chance, before")
            done = await real(*args, **kwargs)
            if drawn < self.often:
                raise Unavailable("by chance, after")
            return done

        return call_or_fail


def fail_first(count: int, error: Exception) -> Fails:
    """Fail the first `count` writes, and none after them."""
    left: Iterator[int] = iter(range(count))
    return lambda _: error if next(left, None) is not None else None


def fail_table(part: str, error: Exception) -> Fails:
    """Fail every write to tables whose names contain the part."""
    return lambda name: error if part in name else None
