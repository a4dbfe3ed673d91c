"""Sinks for tests: their context, notifications, and a recount of all their counts."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from penstock.datastore.clock import Clock
from penstock.datastore.manifest.records import Run
from penstock.datastore.ngsi.counts import IngestCounts, read_counts, sum_counts
from penstock.datastore.ngsi.dead_letters import DeadLetter, list_letters
from penstock.datastore.ngsi.destinations import Destinations
from penstock.datastore.ngsi.directory import MARK_PREFIX
from penstock.datastore.ngsi.notification import (
    Notification,
    NotificationDefaults,
    read_headers,
    read_notification,
)
from penstock.datastore.ngsi.options import BatchingOptions, SinkOptions
from penstock.datastore.ngsi.repository import SinkAccess
from penstock.datastore.ngsi.run_counts import ITEMS, RECEIVED, REFUSED
from penstock.datastore.ngsi.sink import NotificationSink, SinkContext, open_sink
from penstock.datastore.objects.directory import LocalFiles
from penstock.datastore.roles import Caller
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.port import Item, Query, Range, Table
from penstock.datastore.text import escape
from penstock.server.auth.claims import roles_from
from tests.support.patience import HUNG_SECONDS, until
from tests.support.sample_resources import walk

QUICK = SinkOptions(batching=BatchingOptions(retry_intervals=(0.01,)), settlement_seconds=0.0)
LEASE_SECONDS = 3600
"""The lease of a run; a test that waits until the runs of a dead sink are free sets one second."""

ALL = Range()
AT = ("vehicles", "/4wheels")


@dataclass(frozen=True, slots=True)
class SinkWorld:
    """A context for sinks, which tests open one after the other or side by side."""

    context: SinkContext

    @asynccontextmanager
    async def open_sink(
        self, options: SinkOptions = QUICK, *, drain: float = HUNG_SECONDS, **changes: Any
    ) -> AsyncIterator[NotificationSink]:
        async with open_sink(
            replace(self.context, **changes), options, drain_seconds=drain
        ) as sink:
            yield sink

    def store_beside(self, sink: NotificationSink) -> Store:
        """The store of a server that runs the sink."""
        ground = self.context
        ingest = SinkAccess(ground.destinations, sink.options, sink.replayer.replay, 0.01)
        return Store(ground.table, files=ground.files, ngsi_access=ingest)

    def caller(self, user: str, *roles: str) -> Session:
        """The view of a user with these roles."""
        return Store(self.context.table).open_session(Caller(user, roles_from(list(roles))))

    async def counts(self, *places: tuple[str, str]) -> IngestCounts:
        return sum_counts([await read_counts(self.context.table, at) for at in places or (AT,)])

    async def letters(self, at: tuple[str, str] = AT) -> list[DeadLetter]:
        return await walk(lambda window: list_letters(self.context.table, at, window))

    async def read_samples(self, at: tuple[str, str] = AT) -> list[Item]:
        """Read every sample of a service path, found through the catalog."""
        return [
            item
            for entity in await self._rows(f"NE:{escape(at[0])}:{at[1]}", "NE:")
            for item in await self._samples_of(at, str(entity["sk"]).removeprefix("NE:"))
        ]

    async def wait_until_settled(self, *places: tuple[str, str]) -> IngestCounts:
        """Wait until nothing is pending; the counts add up all the time."""

        async def is_settled() -> bool:
            counts = await self.counts(*places)
            assert counts.adds_up, counts
            return not counts.pending

        await until(is_settled)
        return await self.counts(*places)

    async def recount(self, *places: tuple[str, str]) -> IngestCounts:
        """Wait until nothing is pending, and compare the counts with the stored items."""
        counts = await self.wait_until_settled(*places)
        samples = [item for at in places or (AT,) for item in await self.read_samples(at)]
        dead = [letter for at in places or (AT,) for letter in await self.letters(at)]
        assert counts.items == len(samples)
        assert counts.dead_lettered == sum(letter.events for letter in dead)
        return counts

    async def _samples_of(self, at: tuple[str, str], entity: str) -> list[Item]:
        found, service = [], escape(at[0])
        for row in await self._rows(f"NA:{service}:{at[1]}:{entity}", "NA:"):
            name = str(row["sk"]).removeprefix("NA:")
            for mark in row:
                if mark.startswith(MARK_PREFIX):
                    persistence, _, table = mark.removeprefix(MARK_PREFIX).partition(":")
                    assert persistence == "row"
                    series = f"{service}:{at[1]}:{entity}:{name}"
                    found += await self._all(self.context.destinations.table(table), series)
        return found

    async def _rows(self, partition: str, prefix: str) -> list[Item]:
        return await self._all(self.context.table, partition, Range(prefix))

    async def _all(self, table: Any, partition: str, range: Range = ALL) -> list[Item]:
        found: list[Item] = []
        query = Query(partition=partition, range=range)
        while True:
            page = await table.query(query)
            found += page.items
            if page.last is None:
                return found
            query = replace(query, after=page.last)


NewWorld: TypeAlias = Callable[[], AbstractAsyncContextManager[SinkWorld]]
"""Opens a context for sinks with a table and files of its own."""


@asynccontextmanager
async def open_world(
    table: Table, destinations: Destinations, tmp_path: Path, clock: Clock | None = None
) -> AsyncIterator[SinkWorld]:
    files = await LocalFiles.open(tmp_path / "files", base_url="http://test", key=b"k" * 32)
    try:
        yield SinkWorld(
            SinkContext(
                table=table,
                files=files,
                destinations=destinations,
                clock=clock or Clock(),
                lease_seconds=LEASE_SECONDS,
            )
        )
    finally:
        await files.close()


async def wait_until_released(*sinks: NotificationSink) -> None:
    """Wait until sinks hold no event: the store shows a settlement before its sink hears of it."""
    await until(lambda: not any(sink.in_flight.held.events for sink in sinks))


def event_counts(run: Run) -> dict[str, int]:
    """The counts of what became of a run's entities, without those of its items."""
    parts = ((name.partition(":"), count) for name, count in (run.counts or {}).items())
    return {
        "".join(name): count
        for name, count in parts
        if name[0] == REFUSED or (name[0] not in (ITEMS, RECEIVED) and not name[2])
    }


def notification(*entities: Any, correlator: str | None = None, **headers: str) -> Notification:
    """A notification of entities, by default of one car; a text is the id of a car."""
    data = [car(each) if isinstance(each, str) else each for each in entities or ("car1",)]
    body = json.dumps({"subscriptionId": "s", "data": data}).encode()
    found = {
        "fiware-service": "vehicles",
        "fiware-servicepath": "/4wheels",
        "ngsiv2-attrsformat": "normalized",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    if correlator is not None:
        found["fiware-correlator"] = correlator
    return read_notification(read_headers(found, NotificationDefaults()), body)


def car(id: str, **attributes: Any) -> dict[str, Any]:
    """An entity of NGSIv2, with the document's own attributes by default."""
    named = attributes or {"speed": 112.9, "oil_level": 74.6}
    values = {name: {"type": "float", "value": value} for name, value in named.items()}
    return {"id": id, "type": "car", **values}
