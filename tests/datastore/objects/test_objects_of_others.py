"""Objects of other programs in the bucket, whose keys no file of ours has: they are passed over."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from penstock.datastore.access.access import Access, Budget
from penstock.datastore.audio.object_keys import artwork_prefix
from penstock.datastore.audio.upkeep.covers import CoverStore
from penstock.datastore.clock import Clock
from penstock.datastore.datasets.files import UPLOADS, sweep_uploads
from penstock.datastore.executions.files import delete_staged_rows, staged_rows_key
from penstock.datastore.ngsi.events import delete_old_files
from penstock.datastore.objects.chunks import single_chunk
from penstock.datastore.objects.own_keys import delete_below
from penstock.datastore.objects.s3 import S3Files
from penstock.datastore.store import Store
from penstock.datastore.table.port import Table
from tests.datastore.audio.sample_library import ANN
from tests.datastore.audio.sample_uploads import open_files
from tests.datastore.executions.sample_executions import begin_execution, plant_pipeline
from tests.support.sample_resources import on_sqlite

ODD = ("", "/run=2/x", "Icon\r", "a//b", "folder/")
"""What follows a folder in the keys of others; the first one is the marker of the folder."""


@pytest.fixture
async def files(tmp_path: Path) -> AsyncIterator[S3Files]:
    async with open_files("s3", tmp_path) as opened:
        assert isinstance(opened, S3Files)
        yield opened


async def put_odd(files: S3Files, folder: str) -> tuple[str, ...]:
    """Put objects of others into a folder; return their keys as the bucket lists them."""
    for name in ODD:
        await files._client.put_object(Bucket=files.bucket, Key=folder + name, Body=b"")
    return tuple(sorted(folder + name for name in ODD))


async def put(files: S3Files, key: str) -> None:
    await files.write(key, single_chunk(b"ours"), content_type="text/csv")


async def test_files_below_a_prefix_are_deleted_beside_objects_of_others(files: S3Files) -> None:
    odd = await put_odd(files, "results/")
    for name in ("Aa", "z"):
        await put(files, f"results/{name}")
    await delete_below(files, "results/")
    assert await files.list("") == odd


async def test_old_files_are_deleted_beside_objects_of_others(files: S3Files) -> None:
    odd = await put_odd(files, "letters/2026-01-01/")
    await put(files, "letters/2026-01-01/z")
    moment = datetime(2026, 1, 2, tzinfo=UTC)
    assert await delete_old_files(files, "letters", moment) == 1
    assert await files.list("") == odd


@on_sqlite
async def test_uploads_and_covers_are_swept_beside_objects_of_others(
    files: S3Files, table: Table
) -> None:
    access = Access(table, ANN, Clock(), Budget(), files)
    odd = await put_odd(files, UPLOADS)
    await put(files, f"{UPLOADS}z")
    assert await sweep_uploads(access) == 0
    covers = CoverStore(access)
    odd += await put_odd(files, artwork_prefix("ann"))
    await put(files, f"{artwork_prefix('ann')}z")
    uses = await covers.uses()
    assert uses == {"z": None}
    assert await covers.sweep(uses, []) is False
    assert set(odd) < set(await files.list(""))


@on_sqlite
async def test_staged_rows_are_deleted_beside_objects_of_others(
    files: S3Files, table: Table
) -> None:
    store = Store(table, files=files)
    execution = await begin_execution(store, await plant_pipeline(store))
    key = staged_rows_key(execution, 0, "csv")
    await put(files, key)
    folder = key.removesuffix(f"{execution.fence}.0.csv")
    odd = await put_odd(files, folder)
    await delete_staged_rows(files, execution)
    assert await files.list("") == odd
