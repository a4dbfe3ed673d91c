"""A store with something of every kind, and everything that is in a store, for comparison."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from uuid import uuid4

from penstock.datastore.access.sealed_rows import SEALED, sealing_context
from penstock.datastore.access.vault import LocalVault
from penstock.datastore.audio.endpoint_rules import EndpointRules
from penstock.datastore.audio.library import BucketAccess
from penstock.datastore.clock import Clock
from penstock.datastore.moving.archive import Archive
from penstock.datastore.moving.bucket_names import BucketNames, rename_buckets
from penstock.datastore.moving.export import Export, MovableStore
from penstock.datastore.moving.import_ import Import, ImportResult
from penstock.datastore.ngsi.destinations import SampleTable, TableItem
from penstock.datastore.ngsi.naming.table_names import list_every_table
from penstock.datastore.ngsi.sink import SinkContext, open_sink
from penstock.datastore.objects.chunks import single_chunk
from penstock.datastore.objects.port import Credentials, Files
from penstock.datastore.store import Store
from penstock.datastore.table.port import Item, Key, Put, Scan, key_of
from penstock.server.samples.audio import add_samples
from penstock.server.samples.seeding import seed
from tests.datastore.audio.sample_library import ANN, listener
from tests.datastore.audio.sample_uploads import open_files
from tests.datastore.executions.sample_executions import finished_execution, pipeline_in
from tests.datastore.ngsi.sample_destinations import open_destinations
from tests.datastore.ngsi.sample_sinks import QUICK, notification
from tests.datastore.playlists.sample_playlists import make_mix
from tests.support.patience import HUNG_SECONDS
from tests.support.stores import REGION, open_table

ODD_ROW: Item = {
    "pk": "P:odd",
    "sk": "PER:odd",
    "digits": 12345678901234567890123456789012345678,
    "fraction": Decimal("0.12345678901234567890123456789012345678"),
    "small": Decimal("-1E-130"),
    "empty": "",
    "nothing": None,
    "text": "line\nbreak \U0001f600 \x00",
    "nested": [{}, [], {"a": [True, False, Decimal("1.5")]}],
}
"""Values that a careless copy changes."""

_DESTINATION: Item = {
    "service": "s",
    "table": "t1",
    "namedService": "s",
    "namedPath": "/",
    "dataModel": "dm-by-entity",
    "encoding": "cygnus",
    "createdAt": "2026-01-01T00:00:00.000Z",
}
KEYS = Credentials("AKIAIOSFODNN7EXAMPLE", "s3cr3t" * 6)


def ignore_progress(_count: int) -> None:
    """A progress callback that does nothing."""


@asynccontextmanager
async def open_empty(
    name: str, tmp_path: Path, key: bytes = b"v" * 32
) -> AsyncIterator[MovableStore]:
    """Open an empty store of the implementation, whose vault has the key."""
    folder = tmp_path / uuid4().hex
    async with (
        open_table(name, tmp_path) as table,
        open_destinations(name, tmp_path) as destinations,
        open_files("local" if name == "sqlite" else "s3", folder) as files,
    ):
        segments = 1 if name == "sqlite" else 3
        yield MovableStore(table, destinations, files, LocalVault(key), name, "penstock", segments)


async def furnish(store: MovableStore) -> None:
    """Add something of every kind."""
    buckets = BucketAccess(store.vault, rules=EndpointRules(private=True))
    opened = Store(store.table, files=store.files, user_buckets=buckets, bucket_name="penstock")
    await seed(opened, 6, lambda: None)
    await finished_execution(opened, await pipeline_in(opened))
    await add_samples(opened, "ann")
    await make_mix(opened.open_session(ANN), 3)
    await listener(opened).connections.add_keys(
        "Mine", "music", REGION, KEYS, endpoint="http://127.0.0.1:9"
    )
    await store.table.write([Put(ODD_ROW)])
    ground = SinkContext(
        table=store.table,
        files=store.files,
        destinations=store.destinations,
        clock=Clock(),
        lease_seconds=1,
    )
    async with open_sink(ground, QUICK, drain_seconds=HUNG_SECONDS) as sink:
        await sink.accept_notification(notification("car1", "car2"), 100)


@dataclass(slots=True)
class StoreContents:
    """Everything that is in a store, with secrets opened and the bucket's name replaced."""

    rows: dict[Key, Item]
    samples: dict[tuple[str, Key], Item]
    files: dict[str, tuple[str, bytes]]


async def read_everything(store: MovableStore) -> StoreContents:
    """Read all that moves: rows that tell of samples do not."""
    found = [item async for item in _scan(store.table) if not _tells_of_samples(item)]
    rows = [await neutral_row(store, item) for item in found]
    samples = {
        (name, key_of(item)): item
        async for name in list_every_table(store.table)
        async for item in _scan(store.destinations.table(name))
    }
    files = {key: await _read_file(store.files, key) for key in await store.files.list("")}
    return StoreContents({key_of(item): item for item in rows}, samples, files)


async def rows_of_samples(store: MovableStore) -> list[Key]:
    """The keys of rows that tell of samples."""
    return [key_of(item) async for item in _scan(store.table) if _tells_of_samples(item)]


def _tells_of_samples(item: Item) -> bool:
    return str(item["pk"]).startswith(("NH:", "NL:"))


async def _scan(table: SampleTable) -> AsyncIterator[Item]:
    after = None
    while True:
        page = await table.scan(Scan(after=after))
        for item in page.items:
            yield dict(item)
        after = page.last
        if after is None:
            return


async def neutral_row(store: MovableStore, item: Item) -> Item:
    if SEALED in item:
        context = sealing_context(key_of(item))
        assert context is not None
        item = {**item, SEALED: (await store.vault.open(str(item[SEALED]), context)).decode()}
    return rename_buckets(item, store.buckets, BucketNames("own", "own"))


async def _read_file(files: Files, key: str) -> tuple[str, bytes]:
    stat = await files.stat(key)
    assert stat is not None
    return stat.content_type, b"".join([chunk async for chunk in files.read(key)])


def export_of(store: MovableStore, folder: Path) -> Export:
    return Export(store, Archive(folder), Clock(), ignore_progress)


async def run_import(
    store: MovableStore, folder: Path, *, into_existing: bool = False
) -> ImportResult:
    """Import an archive, and end the import."""
    importing = Import(store, Archive(folder), ignore_progress, into_existing)
    done = await importing.run()
    await importing.end()
    return done


async def furnish_little(store: MovableStore) -> None:
    """Add three files, a sample and a few rows, which are quick to move."""
    rows: list[Item] = [
        {"pk": f"P:{number}", "sk": "PV:latest", "siKey1": "P"} for number in range(3)
    ]
    listed: Item = {"pk": "ND:s", "sk": "ND:t1", "siKey1": "ND", **_DESTINATION}
    await store.table.write([Put(row) for row in (*rows, listed, ODD_ROW)])
    await store.destinations.create("t1")
    await store.destinations.write([TableItem("t1", {"pk": "s:1", "sk": "1", "value": "x"})])
    for number in range(3):
        content = single_chunk(b"content %d" % (number % 2))
        await store.files.write(f"datasets/{number}.csv", content, content_type="text/csv")
