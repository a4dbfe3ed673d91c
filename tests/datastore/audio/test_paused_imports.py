"""A worker that was paused in an import, at any call, adds no track that was deleted since."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Final

import pytest

from penstock.datastore.access.vault import LocalVault
from penstock.datastore.audio import import_job
from penstock.datastore.audio.endpoint_rules import EndpointRules
from penstock.datastore.audio.library import BucketAccess
from penstock.datastore.clock import Clock
from penstock.datastore.jobs.leases import LEASE_TIME
from penstock.datastore.store import Store
from penstock.datastore.table.port import Attributes, Key, Table
from tests.datastore.audio.sample_library import drift, listener
from tests.datastore.audio.sample_uploads import open_files, single_chunk
from tests.datastore.audio.test_import_job import KEYS, song
from tests.support.consistency_check import contents
from tests.support.sample_resources import Watch, walk
from tests.support.stores import REGION, TWO, moto_endpoint, open_table
from tests.support.table_interceptors import PausedTable

TRACKS: Final = 3


@pytest.fixture
async def buckets() -> AsyncIterator[BucketAccess]:
    opened = BucketAccess(LocalVault(b"k" * 32), rules=EndpointRules(private=True))
    yield opened
    await opened.pool.close()


@pytest.fixture(autouse=True)
def _no_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_job, "SECONDS_PER_TRACK", 0)


async def rows_without_jobs(table: Table) -> dict[Key, Attributes]:
    rows = await contents(table)
    return {key: row for key, row in rows.items() if not key.pk.startswith(("J:", "JU:", "AI"))}


async def pause_import(store: Store, watch: Watch, connection: str, calls: int) -> bool:
    """Pause an import behind so many calls, while others end it and delete what it added.

    Returns False if it did not make as many.
    """
    library = listener(store)
    await library.importing.begin(connection, "music/")
    made: dict[Key, Attributes] = {}

    async def end_and_delete() -> None:
        watch.move(LEASE_TIME + timedelta(seconds=1))
        await store.run_jobs("second")
        tracks = await walk(library.lists.audios, 100)
        assert len(tracks) == TRACKS
        for track in tracks:
            await library.editing.delete(track.id)
        made.update(await rows_without_jobs(store.table))

    paused = PausedTable(store.table, end_and_delete, calls=calls)
    await replace(store, table=paused).run_jobs("first")
    if paused.left >= 0:
        return False
    assert await rows_without_jobs(store.table) == made, f"after {calls} calls"
    assert await drift(store.table) == []
    return True


@pytest.mark.parametrize(("name", "step"), [(TWO[0], 1), (TWO[1], 3)])
async def test_a_paused_import_adds_no_track_that_was_deleted_since(
    name: str, step: int, tmp_path: Path, buckets: BucketAccess
) -> None:
    async with (
        open_table(name, tmp_path) as table,
        open_files("local", tmp_path) as files,
        open_files("s3", tmp_path) as theirs,
    ):
        for n in range(TRACKS):
            await theirs.write(f"music/{n}.mp3", single_chunk(song(n)), content_type="a/b")
        watch = Watch()
        store = Store(table, Clock(watch), files=files, user_buckets=buckets)
        connection = await listener(store).connections.add_keys(
            "n", theirs.bucket, REGION, KEYS, moto_endpoint()
        )
        for calls in count(step=step):
            if not await pause_import(store, watch, connection.id, calls):
                break
        assert calls > 10
