"""Compares the NGSI sink with a naive one that writes one attribute at a time to the same store.

The sink takes more processor time and more write units than the naive one, and far fewer calls;
`--check` holds all three to a bound. The calls and units of the stores are counted, those of the
inbox and the manifest included. Beside them stand the calls that two other sinks make by their
sources, which are not run: Cygnus writes a batch of up to 25 items for each table, and has a table
for each entity; QuantumLeap inserts the entities of one type of a notification by one statement.
Neither keeps receipts, nor tells what is lost.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import NamedTuple

from benchmarks.page_tables import (
    add_write_option,
    below_machine,
    format_table,
    show_tables,
)
from penstock.datastore.clock import Clock
from penstock.datastore.ngsi.destinations import EmbeddedDestinations, TableItem
from penstock.datastore.ngsi.events import EntityUpdate
from penstock.datastore.ngsi.naming.table_names import NamingPlace, table_name
from penstock.datastore.ngsi.notification import (
    Notification,
    NotificationDefaults,
    read_headers,
    read_notification,
)
from penstock.datastore.ngsi.options import (
    Ack,
    BatchingOptions,
    ItemLayout,
    NamingOptions,
    Persistence,
    SinkOptions,
)
from penstock.datastore.ngsi.rows import Event, items_of
from penstock.datastore.ngsi.sink import NotificationSink, SinkContext, open_sink
from penstock.datastore.objects.directory import LocalFiles
from penstock.datastore.sqlite.table import SqliteTable
from penstock.datastore.table.instrumentation import MeteredTable, Units
from penstock.datastore.table.port import Table

NOTIFICATIONS = 2_000
ENTITIES = 50
ATTRIBUTES = ("speed", "oil_level", "temperature", "position")
SIZES = (1, 25, 100)
_ITEMS_OF_A_CALL = 25
NAIVE, DURABLE, QUEUED = "one put an item", "durable", "queued"
MARK = "ngsi sink"
HEADER = (
    "sink | persistence | at once | notifications/s | items/s | a second of processor time "
    "| write units a notification | calls a notification"
)
HEADERS = {
    "fiware-service": "vehicles",
    "fiware-servicepath": "/4wheels",
    "ngsiv2-attrsformat": "normalized",
}

Send = Callable[[bytes, str], Awaitable[None]]


class SinkResult(NamedTuple):
    """The result of one sink: wall and processor seconds until all was stored."""

    name: str
    persistence: Persistence
    batch: int
    notifications: int
    items: int
    seconds: float
    processor: float
    calls: int = 0
    units: float = 0.0

    @property
    def rate(self) -> float:
        return self.notifications / self.seconds

    @property
    def place(self) -> tuple[Persistence, int]:
        return self.persistence, self.batch

    @property
    def row(self) -> str:
        per_second = self.items / self.seconds
        own = self.notifications / self.processor
        return (
            f"{self.name} | {self.persistence} | {self.batch} | {self.rate:,.0f} "
            f"| {per_second:,.0f} | {own:,.0f} | {self.units / self.notifications:.1f} "
            f"| {self.calls / self.notifications:.2f}"
        )


def calls_of_cygnus(persistence: Persistence, batch: int) -> float:
    """The calls for a notification, of which so many are written together."""
    each = len(ATTRIBUTES) if persistence is Persistence.ROW else 1
    tables = min(batch, ENTITIES)
    return tables * ceil(each * batch / tables / _ITEMS_OF_A_CALL) / batch


def counted_rows() -> Iterator[str]:
    """The rows of the sinks that are counted, not run."""
    for persistence in Persistence:
        for batch in SIZES:
            calls = calls_of_cygnus(persistence, batch)
            yield f"Cygnus, counted | {persistence} | {batch} | | | | | {calls:.2f}"
    yield "QuantumLeap, counted | a row of columns | 1 | | | | | 1.00"


@dataclass(frozen=True, slots=True)
class SinkPlan:
    """A sink and its number of senders, each with one open notification."""

    name: str
    persistence: Persistence
    batch: int
    ack: Ack | None


def bodies(count: int) -> list[bytes]:
    """Notifications like Orion's: one entity each, with four attributes."""
    found = []
    for n in range(count):
        values = {name: {"type": "Number", "value": n, "metadata": {}} for name in ATTRIBUTES}
        entity = {"id": f"urn:ngsi-ld:Car:{n % ENTITIES}", "type": "Car", **values}
        found.append(json.dumps({"subscriptionId": "s", "data": [entity]}).encode())
    return found


def read(body: bytes, correlator: str) -> Notification:
    heading = read_headers({**HEADERS, "fiware-correlator": correlator}, NotificationDefaults())
    return read_notification(heading, body)


async def write_naively(table: Table, persistence: Persistence, body: bytes, mark: str) -> None:
    """The naive sink: one put for each item, acknowledged when all are written."""
    notification, clock = read(body, mark), Clock()
    destinations = EmbeddedDestinations(table)
    for path, update in notification.entries:
        assert isinstance(update, EntityUpdate)
        place = NamingPlace(notification.service, path, update.entity_id, update.entity_type)
        name, at = table_name(place, NamingOptions()), int(clock.now().timestamp() * 1000)
        event = Event(notification.service, path, at, mark, name, persistence, update)
        for item in items_of(event, ItemLayout()):
            await destinations.write([TableItem(name, item)])


@asynccontextmanager
async def open_plan(
    folder: Path, plan: SinkPlan, units: Units | None = None
) -> AsyncIterator[tuple[Send, Callable[[], Awaitable[None]]]]:
    """A new store; functions that send to its sink and that wait until all is stored.

    The calls of its tables are added to `units`.
    """
    own_samples = SqliteTable.open(folder / "samples.db")
    await own_samples.create()
    own_table = SqliteTable.open(folder / "penstock.db")
    await own_table.create()
    counted = units or Units()
    samples, table = MeteredTable(own_samples, counted), MeteredTable(own_table, counted)
    files = await LocalFiles.open(folder / "files", base_url="http://none", key=bytes(32))
    try:
        if plan.ack is None:

            async def send(body: bytes, mark: str) -> None:
                await write_naively(samples, plan.persistence, body, mark)

            async def wait_until_stored() -> None:
                return None

            yield send, wait_until_stored
            return
        ground = SinkContext(
            table=table, files=files, destinations=EmbeddedDestinations(samples), clock=Clock()
        )
        async with open_sink(ground, options_of(plan)) as sink:
            yield _sender(sink), _waiter(sink)
    finally:
        await files.close()
        await own_table.close()
        await own_samples.close()


def options_of(plan: SinkPlan) -> SinkOptions:
    assert plan.ack is not None
    return replace(
        SinkOptions(),
        ack=plan.ack,
        layout=ItemLayout(attr_persistence=plan.persistence),
        batching=BatchingOptions(size=plan.batch, timeout=0.5),
        max_pending=1_000_000,
    )


def _sender(sink: NotificationSink) -> Send:
    async def send(body: bytes, mark: str) -> None:
        await sink.accept_notification(read(body, mark), len(body))

    return send


def _waiter(sink: NotificationSink) -> Callable[[], Awaitable[None]]:
    async def wait_until_stored() -> None:
        await sink.inbox.wait_until_empty()
        await sink.loader.drain()

    return wait_until_stored


async def measure_plan(plan: SinkPlan, count: int) -> SinkResult:
    """Send notifications, with as many senders as a batch has events, until all is stored."""
    units = Units()
    with tempfile.TemporaryDirectory() as folder:
        async with open_plan(Path(folder), plan, units) as (send, stored):
            waiting = list(enumerate(bodies(count)))

            async def sender() -> None:
                while waiting:
                    number, body = waiting.pop()
                    await send(body, f"c{number}")

            clock, own = time.perf_counter(), time.process_time()
            await asyncio.gather(*(sender() for _ in range(plan.batch)))
            await stored()
            seconds, processor = time.perf_counter() - clock, time.process_time() - own
    each = len(ATTRIBUTES) if plan.persistence is Persistence.ROW else 1
    name, persistence = plan.name, plan.persistence
    items = count * each
    result = SinkResult(name, persistence, plan.batch, count, items, seconds, processor)
    return result._replace(calls=units.calls, units=units.wcu)


def plans() -> list[SinkPlan]:
    return [
        SinkPlan(name, persistence, batch, ack)
        for persistence in Persistence
        for batch in SIZES
        for name, ack in (
            (NAIVE, None),
            (DURABLE, Ack.DURABLE),
            (QUEUED, Ack.QUEUED),
        )
    ]


async def compare_plans(count: int) -> list[SinkResult]:
    found = []
    for plan in plans():
        found.append(await measure_plan(plan, count))
        print(found[-1].row, file=sys.stderr)
    return found


class CostBound(NamedTuple):
    """The most that a sink may take, as a multiple of what one put an item takes."""

    calls: float
    processor: float
    units: float


BOUNDS = {
    Persistence.ROW: CostBound(calls=1 / 6, processor=2.5, units=2.5),
    Persistence.COLUMN: CostBound(calls=1 / 2, processor=5.5, units=6.5),
}
"""The bounds of sinks to which many send at once; a column is one item in place of four rows."""


def broken_promises(found: Sequence[SinkResult]) -> list[str]:
    """Sentences about the sinks of many senders that take more than their bound."""
    naive = {each.place: each for each in found if each.name == NAIVE}
    many = [each for each in found if each.name != NAIVE and each.batch > 1]
    return [sentence for each in many for sentence in _compare(each, naive[each.place])]


def _compare(sink: SinkResult, naive: SinkResult) -> Iterator[str]:
    for what, bound in BOUNDS[sink.persistence]._asdict().items():
        times = getattr(sink, what) / getattr(naive, what)
        if times > bound:
            place = f"{sink.name}, {sink.persistence}, {sink.batch} at once"
            yield f"{place}: {times:.2f} times the {what} of {naive.name}, not {bound:.2f}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.ngsi", description=__doc__)
    parser.add_argument("--check", action="store_true", help="exit with 1 beyond a bound")
    parser.add_argument("--count", type=int, default=NOTIFICATIONS, help="of notifications")
    add_write_option(parser)
    options = parser.parse_args(arguments)
    found = asyncio.run(compare_plans(options.count))
    table = format_table(HEADER, [*(each.row for each in found), *counted_rows()], texts=2)
    show_tables({MARK: below_machine(table)}, options.write)
    broken = broken_promises(found)
    print("\n".join(broken), file=sys.stderr)
    return int(options.check and bool(broken))


if __name__ == "__main__":
    sys.exit(main())
