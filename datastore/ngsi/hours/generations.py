"""Generations of hours: what changes in an hour after it may have been kept.

A kept hour has the generation that it was built under, and is valid while the hour has no other
one. Whoever stores a late sample gives its hour a new generation first. A deletion marks its span
while it goes on; nothing is kept there meanwhile.
"""

import secrets
from asyncio import gather
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from penstock.datastore.ngsi.catalog import EntityName, entity_name_of
from penstock.datastore.ngsi.directory import Entity
from penstock.datastore.ngsi.event_times import HOUR_MS
from penstock.datastore.ngsi.rows import Event, sample_times
from penstock.datastore.table import limits
from penstock.datastore.table.layout import (
    HOUR_DELETIONS,
    HOUR_GENERATION,
    KEPT_HOURS,
    KEPT_MINUTES,
    KEPT_NUMBERS,
    Row,
)
from penstock.datastore.table.pages import query_items
from penstock.datastore.table.port import (
    Check,
    Compare,
    Delete,
    Key,
    Missing,
    Put,
    Query,
    Range,
    Table,
    Update,
    Value,
)

LATE_MS: Final = 600_000
"""The milliseconds behind its event after which a sample is late when it is stored."""

SKEW_MS: Final = 300_000
"""The milliseconds by which the clocks of two servers may differ."""

DAY_HOURS: Final = 24

_CHANGED = "changed"
_JOB = "job:"
_TOKEN_BYTES = 6

EntityHour: TypeAlias = tuple[EntityName, int]
"""An entity, and an hour since 1970."""


@dataclass(slots=True)
class HourOfEvents:
    """The events with samples in one hour of an entity: how many, and their earliest time."""

    events: int
    earliest: int


def hours_of(events: Iterable[Event]) -> dict[EntityHour, HourOfEvents]:
    """The hours of the samples of events; times are in milliseconds since 1970."""
    found: dict[EntityHour, HourOfEvents] = {}
    for event in events:
        name, counted = entity_name_of(event), set[int]()
        for at in sample_times(event):
            hour = at // HOUR_MS
            entry = found.get((name, hour))
            if entry is None:
                entry = found[name, hour] = HourOfEvents(0, at)
            entry.events += hour not in counted
            entry.earliest = min(entry.earliest, at)
            counted.add(hour)
    return found


def late_hours(hours: Mapping[EntityHour, HourOfEvents], now: int) -> set[EntityHour]:
    """The hours with late samples among those that are stored at a time in milliseconds."""
    return {key for key, entry in hours.items() if entry.earliest < now - LATE_MS}


async def renew_hours(table: Table, hours: Iterable[EntityHour]) -> None:
    """Give hours of entities a new generation, 25 in a request."""
    rows = [
        Put(
            {
                **HOUR_GENERATION.item(**name._asdict(), hour=hour),
                "generation": secrets.token_urlsafe(_TOKEN_BYTES),
            }
        )
        for name, hour in sorted(hours)
    ]
    for start in range(0, len(rows), limits.WRITE_OPERATIONS):
        await table.write(rows[start : start + limits.WRITE_OPERATIONS])


@dataclass(frozen=True, slots=True)
class HourStates:
    """The generations of the hours of an entity, where there are any, and deletions that go on.

    A deletion is the id of its job, with its first and its last hour.
    `unchanged` is the check that no deletion has begun or ended since.
    """

    generations: Mapping[int, str]
    deletions: Mapping[str, tuple[int, int]]
    unchanged: Check

    def generation(self, hour: int) -> str:
        return self.generations.get(hour, "")

    def is_in_deletion(self, hour: int) -> bool:
        return any(low <= hour <= high for low, high in self.deletions.values())


async def read_states(table: Table, of: Entity, first: int, last: int) -> HourStates:
    """Read the states of hours: `pk = NG:<service>:<path>:<id>:<type>`, and its row `NGD`."""
    key = HOUR_DELETIONS.key(**of.key_values)
    generations, found = await gather(
        _read_generations(table, of, first, last), table.get([key], consistent=True)
    )
    row = found.items.get(key, {})
    changed = row.get(_CHANGED)
    condition = Missing(_CHANGED) if changed is None else Compare(_CHANGED, "=", str(changed))
    deletions = {
        name.removeprefix(_JOB): (int(str(span["low"])), int(str(span["high"])))
        for name, span in row.items()
        if name.startswith(_JOB) and isinstance(span, dict)
    }
    return HourStates(generations, deletions, Check(key, condition))


async def _read_generations(table: Table, of: Entity, first: int, last: int) -> dict[int, str]:
    start = HOUR_GENERATION.sk.prefix({})
    keys = (HOUR_GENERATION.key(**of.key_values, hour=hour) for hour in (first, last))
    low, high = keys
    query = Query(partition=low.pk, range=Range(start, low.sk, high.sk), consistent=True)
    return {
        int(str(item["sk"]).removeprefix(start)): str(item["generation"])
        async for item in query_items(table, query)
    }


@dataclass(frozen=True, slots=True)
class HourDeletion:
    """A deletion of samples by a job, in the hours from `low` to `high`."""

    table: Table
    of: Entity
    job: str
    low: int
    high: int

    async def begin(self) -> None:
        """Mark the span: from now on, nothing is kept there, and what is kept is not read."""
        span: Value = {"low": self.low, "high": self.high}
        await self._change(Update(key=self._key, set={_JOB + self.job: span, **_new_token()}))

    async def forget(self, attributes: AsyncIterator[str]) -> None:
        """Delete what is kept of the attributes on the days of the span.

        The summaries of a day go last, so that a deletion that breaks off finds the rest again.
        """
        async for name in attributes:
            values = {**self.of.key_values, "attribute": name}
            query = kept_query(KEPT_HOURS, values, self.low // DAY_HOURS, self.high // DAY_HOURS)
            days = [
                int(KEPT_HOURS.sk.parse(str(item["sk"]))["day"])
                async for item in query_items(self.table, query)
            ]
            for rows in ((KEPT_MINUTES, KEPT_NUMBERS), (KEPT_HOURS,)):
                keys = [row.key(**values, day=day) for day in days for row in rows]
                for start in range(0, len(keys), limits.WRITE_OPERATIONS):
                    batch = keys[start : start + limits.WRITE_OPERATIONS]
                    await self.table.write([Delete(key) for key in batch])

    async def end(self) -> None:
        """Take the mark off; what was kept of the span is forgotten before."""
        await self._change(Update(key=self._key, set=_new_token(), remove=(_JOB + self.job,)))

    async def _change(self, update: Update) -> None:
        await self.table.transact([update])

    @property
    def _key(self) -> Key:
        return HOUR_DELETIONS.key(**self.of.key_values)


def kept_query(row: Row, series: Mapping[str, str], first_day: int, last_day: int) -> Query:
    """The query of what rows of a kind keep of a series on some days."""
    last_day = min(last_day, 99_999)
    low, high = (row.key(**series, day=day) for day in (first_day, last_day))
    return Query(partition=low.pk, range=Range(row.sk.prefix({}), low.sk, high.sk), consistent=True)


def _new_token() -> dict[str, Value]:
    return {_CHANGED: secrets.token_urlsafe(_TOKEN_BYTES)}
