"""Measures aggregates of a month of one sensor, before its hours are kept and afterwards."""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from penstock.datastore.errors import LimitExceeded
from penstock.datastore.ngsi.catalog import Catalog
from penstock.datastore.ngsi.destinations import EmbeddedDestinations, TableItem
from penstock.datastore.ngsi.directory import Attribute, Entity
from penstock.datastore.ngsi.events import EntityUpdate, NotifiedAttribute
from penstock.datastore.ngsi.loading.sample_writer import write_items
from penstock.datastore.ngsi.options import ItemLayout, Persistence
from penstock.datastore.ngsi.reading.aggregates import Aggregation, Method, Period
from penstock.datastore.ngsi.reading.series import TimeSpan
from penstock.datastore.ngsi.repository import SinkAccess
from penstock.datastore.ngsi.rows import Event, items_of
from penstock.datastore.roles import ROOT, Caller, Role
from penstock.datastore.sqlite.table import SqliteTable
from penstock.datastore.store import Session, Store

BEGIN: Final = datetime(2026, 1, 1, tzinfo=UTC)
MONTH: Final = 31
DAY_SECONDS: Final = 86_400
TARGET: Final = 0.1
METHODS: Final = (Method.MIN, Method.MAX, Method.AVG, Method.COUNT, Method.FIRST, Method.LAST)
SENSOR: Final = Entity("plant", "/", "sensor1", "Sensor")
READER: Final = Caller("reader", {ROOT: Role.READER})
_BATCH = 5_000


def event_at(second: int) -> Event:
    """The event of one second; its value goes up and down within an hour."""
    at = int(BEGIN.timestamp()) + second
    value = NotifiedAttribute("temperature", "Number", f"{20 + second % 3600 / 100:.2f}")
    update = EntityUpdate(SENSOR.entity_id, SENSOR.entity_type, (value,))
    mark, persistence = str(second), Persistence.ROW
    return Event(SENSOR.service, SENSOR.path, at * 1000, mark, "sensors", persistence, update, None)


@asynccontextmanager
async def open_store(folder: Path) -> AsyncIterator[Store]:
    samples, table = (SqliteTable.open(folder / name) for name in ("samples.db", "penstock.db"))
    try:
        await samples.create()
        await table.create()
        yield replace(Store(table), ngsi_access=SinkAccess(EmbeddedDestinations(samples)))
    finally:
        await table.close()
        await samples.close()


async def fill(store: Store, days: int) -> None:
    """Store a sample for each second."""
    catalog, layout = Catalog(store.table), ItemLayout()
    await catalog.record_paths([(SENSOR.service, SENSOR.path)])
    await catalog.record_entities([event_at(0)])
    for start in range(0, days * DAY_SECONDS, _BATCH):
        seconds = range(start, min(start + _BATCH, days * DAY_SECONDS))
        items = [item for second in seconds for item in items_of(event_at(second), layout)]
        await write_items(
            store.ngsi_access.destinations, [TableItem("sensors", item) for item in items]
        )


async def read_aggregate(session: Session, of: Attribute, how: Aggregation, days: int) -> int:
    """Read an aggregate, again and again while it is refused; return the number of calls."""
    span, calls = TimeSpan(BEGIN, BEGIN + timedelta(days=days)), 0
    while True:
        calls += 1
        try:
            await session.notifications.hours.aggregate(of, span, how)
        except LimitExceeded:
            continue
        return calls


async def measure(days: int) -> float:
    """Print the times of the first and of later reads; return the longest of the latter."""
    with tempfile.TemporaryDirectory() as name:
        async with open_store(Path(name)) as store:
            await fill(store, days)
            session = store.open_session(READER)
            of = await session.notifications.directory.attribute(SENSOR, "temperature")
            assert of is not None
            print("| read | period | calls | seconds | of processor time |\n|---|---|--:|--:|--:|")
            slowest = 0.0
            for number, method in enumerate((METHODS[0], *METHODS)):
                for period in (Period.DAY, Period.HOUR):
                    clock, own = time.perf_counter(), time.process_time()
                    calls = await read_aggregate(session, of, Aggregation(method, period), days)
                    seconds = time.perf_counter() - clock
                    used = time.process_time() - own
                    first = number == 0 and period is Period.DAY
                    print(f"| {'nothing kept' if first else method.value} | {period} ", end="")
                    print(f"| {calls} | {seconds:.3f} | {used:.3f} |")
                    slowest = slowest if first else max(slowest, seconds)
            return slowest


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.sensor_month", description=__doc__)
    parser.add_argument("--days", type=int, default=MONTH, help="of samples, one a second")
    parser.add_argument("--check", action="store_true", help="end with 1 beyond the target")
    options = parser.parse_args(arguments)
    slowest = asyncio.run(measure(options.days))
    print(f"\nThe slowest read of kept hours took {slowest * 1000:.0f} ms.")
    return int(options.check and slowest > TARGET)


if __name__ == "__main__":
    sys.exit(main())
