"""Nothing that cannot be swept keeps anything else from it, and one process sweeps a library."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from penstock.datastore.access.upload_forms import FORM_TIME
from penstock.datastore.audio.upkeep.covers import CoverStore
from penstock.datastore.audio.upkeep.loose_objects import UNUSED_TIME
from penstock.datastore.datasets.files import UPLOAD_RETENTION
from penstock.datastore.datasets.staged_files import StagedFile
from penstock.datastore.errors import Unavailable
from penstock.datastore.listening.library_sweep import LEASE_TIME, REST, LibrarySweep
from penstock.datastore.objects.port import Files
from penstock.datastore.store import Store
from penstock.datastore.table.port import Page, Query, Table
from tests.datastore.audio.sample_library import ANN, BOB, add, listener
from tests.datastore.audio.sample_uploads import TAGS, put, single_chunk, sound
from tests.datastore.audio.test_upload_safety import later
from tests.support.sample_resources import create_groups

LONG = UPLOAD_RETENTION + FORM_TIME + UNUSED_TIME


@pytest.fixture
def store(table: Table, files: Files) -> Store:
    return Store(table, files=files)


def refuse_deletes(patch: pytest.MonkeyPatch, files: Files, *stuck: str) -> None:
    delete = files.delete

    async def delete_others(key: str) -> None:
        if key in stuck:
            raise Unavailable("stuck")
        await delete(key)

    patch.setattr(files, "delete", delete_others)


async def make_leftovers(store: Store) -> list[str]:
    """Leave two objects of every kind behind that a sweep deletes; return their keys."""
    session = await create_groups(store)
    library, keys = listener(store), list[str]()
    for name in ("1", "2"):
        keys.append(await put(library, f"{name}.mp3", sound("mp3", 1, TAGS)))
        staged = StagedFile(session.dataset_files.access, name, f"datasets/{name}/{name}.csv")
        await staged.put(single_chunk(b"x"), "text/csv")
        keys.append(staged.key)
        keys.append(f"datasets/uploads/u/{name}.csv")
        await store.files.write(keys[-1], single_chunk(b"x"), content_type="text/csv")
        cover = b"\x89PNG\r\n\x1a\n" + name.encode()
        await CoverStore(library.reading.access).keep(cover)
    return keys + list(await store.files.list("audio/ann/artwork/"))


async def test_one_object_that_cannot_be_deleted_keeps_no_other_from_it(
    store: Store, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = await make_leftovers(store)
    assert len(keys) == 8
    for key in keys:
        assert await files.stat(key) is not None
    stuck = [key for key in keys if "1" in key.rpartition("/")[2]][:3] + keys[-2:-1]
    with monkeypatch.context() as patch:
        refuse_deletes(patch, files, *stuck)
        with pytest.raises(Unavailable):
            await later(store, LONG).sweep_files()
    left = [key for key in keys if await files.stat(key) is not None]
    assert left == stuck
    await later(store, LONG + LEASE_TIME + timedelta(minutes=1)).sweep_files()
    assert [key for key in keys if await files.stat(key) is not None] == []


async def test_a_library_that_cannot_be_swept_keeps_no_other_from_it(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for who in (ANN, BOB):
        session = store.open_session(who)
        track = await add(session.audio, "1.mp3", "t", "A")
        await session.audio.removing.delete(track.id)
    run, swept = LibrarySweep.run, list[str]()

    async def fail_first(self: LibrarySweep, latest: str) -> int:
        swept.append(self.access.caller.user_id)
        if len(swept) == 1:
            raise Unavailable("stuck")
        return await run(self, latest)

    with monkeypatch.context() as patch:
        patch.setattr(LibrarySweep, "run", fail_first)
        with pytest.raises(Unavailable):
            await later(store, 2 * REST).sweep_files()
        assert sorted(swept) == ["ann", "bob"]
        await later(store, 2 * REST).sweep_files()
        assert len(swept) == 2, "the process that failed has the library for a while"
        await later(store, 2 * REST + LEASE_TIME + timedelta(seconds=1)).sweep_files()
        assert swept[2:] == swept[:1]


async def test_of_many_processes_one_sweeps_a_library(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = store.open_session(ANN)
    track = await add(session.audio, "1.mp3", "t", "A")
    await session.audio.removing.delete(track.id)
    run, runs = LibrarySweep.run, list[str]()

    async def count(self: LibrarySweep, latest: str) -> int:
        runs.append(latest)
        return await run(self, latest)

    monkeypatch.setattr(LibrarySweep, "run", count)
    await asyncio.gather(*(later(store, 2 * REST).sweep_files() for _ in range(5)))
    assert len(runs) == 1
    track = await add(session.audio, "2.mp3", "t", "A")
    await session.audio.removing.delete(track.id)
    await later(store, 2 * REST).sweep_files()
    assert len(runs) == 2


async def test_a_sweep_reads_only_what_is_due(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = listener(store)
    await put(library, "1.mp3", sound("mp3", 1, TAGS))
    coming = later(store, timedelta(days=1))
    for n in range(3):
        await put(listener(coming), f"{n}.mp3", b"x")
    query, read = store.table.query, list[Any]()

    async def note(wanted: Query) -> Page:
        page = await query(wanted)
        read.extend(item for item in page.items if str(item["pk"]).startswith("LD:"))
        return page

    monkeypatch.setattr(store.table, "query", note)
    assert await later(store, FORM_TIME + UNUSED_TIME).sweep_files() == 1
    # The first row is for what was used by then, and this upload was not.
    assert len(read) == 2
