"""Files of reference datasets: no version points to a missing file, and no file is left over."""

from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from hashlib import sha256
from typing import Any
from uuid import uuid4

import aioboto3
import msgspec
import pytest

from penstock.datastore.clock import Clock
from penstock.datastore.datasets.csv import MAX_INLINE
from penstock.datastore.datasets.files import (
    UPLOAD_RETENTION,
    UPLOADS,
    CheckedContent,
    DatasetFile,
    key_of_file,
)
from penstock.datastore.datasets.limits import MAX_BYTES
from penstock.datastore.datasets.staged_files import STAGING_TIME
from penstock.datastore.datasets.table_cache import DatasetTableCache
from penstock.datastore.errors import (
    Invalid,
    NameTaken,
    NotFound,
    NotPermitted,
    Unavailable,
    VersionConflict,
)
from penstock.datastore.objects.port import Files
from penstock.datastore.objects.s3 import S3Files
from penstock.datastore.records import DatasetColumn, ReferenceDataset, ValueType
from penstock.datastore.roles import ROOT, Role
from penstock.datastore.session import Session
from penstock.datastore.store import Store
from penstock.datastore.table.port import Key
from tests.datastore.executions.sample_executions import put_file
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import (
    EU,
    NORTHWEST,
    SUPER,
    USA,
    Watch,
    caller,
    create_groups,
    on_sqlite,
)
from tests.support.stores import REGION, aws_environment, moto_endpoint

COLUMNS = (
    DatasetColumn(name="fuel", type=ValueType.STRING),
    DatasetColumn(name="factor", type=ValueType.NUMBER),
)
CSV = "fuel,factor\ngas,2.30\nwood,0.11\n"
ANN = caller({USA: Role.CONTRIBUTOR})


OF_SHARDS = ("GC:", "QG:", "QU:")


async def keys_beside_shards(store: Store) -> set[Key]:
    """The keys of all rows but those of the groups' shards, which stay once they are open."""
    return {key for key in await contents(store.table) if not key.pk.startswith(OF_SHARDS)}


async def all_keys(files: Files) -> list[str]:
    return [*(await files.list("datasets/"))]


async def bring(session: Session, csv: str = CSV) -> CheckedContent:
    brought = await session.dataset_files.check_text(COLUMNS, None, csv)
    assert brought.problems == []
    return brought


async def create(
    session: Session, name: str = "fuels", csv: str = CSV, key: str | None = None
) -> ReferenceDataset:
    brought = await bring(session, csv)
    writing = session.datasets.writing.with_attachment(brought.file)
    fields = {"name": name, "tags": (), "content": brought.content}
    return await writing.create(USA, fields, key)


async def update(
    session: Session, made: ReferenceDataset, csv: str, **more: Any
) -> ReferenceDataset:
    brought = await bring(session, csv)
    writing = session.datasets.writing.with_attachment(brought.file)
    return await writing.update(made.id, made.version, {"content": brought.content, **more})


async def read_whole(files: Files, key: str) -> str:
    return b"".join([chunk async for chunk in files.read(key)]).decode()


async def test_each_content_has_a_file_of_its_own_that_stays(store: Store) -> None:
    session = await create_groups(store)
    first = await create(session)
    second = await update(session, first, "fuel,factor\ngas,2.31\n")
    renamed = await session.datasets.writing.update(second.id, 2, {"name": "Fuels of 2024"})
    assert (first.content.row_count, first.content.size_bytes) == (2, len(CSV))
    assert second.content.row_count == 1
    assert renamed.content == second.content
    assert await all_keys(store.files) == [key_of_file(first), key_of_file(second)]
    assert key_of_file(first).startswith(f"datasets/{first.id}/")
    assert await read_whole(store.files, key_of_file(first)) == CSV
    found = await session.datasets.versions.one(first.id, 1)
    assert found.content == first.content
    assert await faults(store.table) == []


async def test_what_is_uploaded_after_a_dataset_was_created_does_not_reach_it(store: Store) -> None:
    session = await create_groups(store)
    ticket = await session.dataset_files.upload(USA)
    key = dict(ticket.form.fields)["key"]
    await put_file(store.files, key, CSV.encode())
    brought = await session.dataset_files.check_upload(COLUMNS, None, ticket.id)
    await put_file(store.files, key, b"fuel,factor\ngas,1000\n")
    writing = session.datasets.writing.with_attachment(brought.file)
    fields = {"name": "fuels", "tags": (), "content": brought.content}
    made = await writing.create(USA, fields, "k")
    await put_file(store.files, key, b"fuel,factor\ngas,2000\n")
    assert await read_whole(store.files, key_of_file(made)) == CSV
    assert made.content.checksum == sha256(CSV.encode()).hexdigest()
    later = await session.dataset_files.check_upload(COLUMNS, None, ticket.id)
    again = session.datasets.writing.with_attachment(later.file)
    with pytest.raises(Invalid, match="another input"):
        await again.create(USA, {**fields, "content": later.content}, "k")
    assert await read_whole(store.files, key_of_file(made)) == CSV


@on_sqlite
async def test_a_write_that_is_refused_leaves_neither_row_nor_file(store: Store) -> None:
    session = await create_groups(store)
    made = await create(session)
    rows, files = await contents(store.table), await all_keys(store.files)
    with pytest.raises(NameTaken):
        await create(session)
    with pytest.raises(VersionConflict):
        await update(session, as_seen(made, 7), "fuel,factor\n")
    with pytest.raises(NotFound):
        await update(store.open_session(caller({EU: Role.ADMIN})), made, "fuel,factor\n")
    with pytest.raises(NotPermitted):
        await update(store.open_session(caller({USA: Role.READER})), made, "fuel,factor\n")
    with pytest.raises(Invalid):
        await create(session, name=" ")
    assert await contents(store.table) == rows
    assert await all_keys(store.files) == files


def as_seen(made: ReferenceDataset, version: int) -> ReferenceDataset:
    """The dataset as a reader with an old version sees it."""
    return msgspec.structs.replace(made, version=version)


@on_sqlite
async def test_a_create_sent_twice_makes_one_dataset_with_one_file(store: Store) -> None:
    session = await create_groups(store)
    first, again = await create(session, key="k"), await create(session, key="k")
    assert again == first
    assert await all_keys(store.files) == [key_of_file(first)]
    with pytest.raises(Invalid, match="another input"):
        await create(session, csv="fuel,factor\n", key="k")
    assert await all_keys(store.files) == [key_of_file(first)]


class FailingProxy:
    """A table or file store whose methods raise; named ones raise after so many calls."""

    def __init__(self, real: Any, **after: int) -> None:
        self._real = real
        self._left = after

    def __getattr__(self, name: str) -> Any:
        if name in self._left:
            self._left[name] -= 1
            if self._left[name] < 0:
                raise WriterDied(name)
        return getattr(self._real, name)


class WriterDied(BaseException):
    """The process dies here: no `except Exception` runs."""


KILLS: Mapping[str, tuple[dict[str, int], dict[str, int]]] = {
    "before anything": ({"transact": 0}, {}),
    "before the file": ({}, {"write": 0}),
    "before the version": ({"transact": 1}, {}),
}


@on_sqlite
@pytest.mark.parametrize("kill", KILLS)
async def test_what_a_killed_writer_left_behind_is_swept_an_hour_later(
    kill: str, store: Store
) -> None:
    await create_groups(store)
    watch = Watch()
    calls, writes = KILLS[kill]
    table, files = FailingProxy(store.table, **calls), FailingProxy(store.files, **writes)
    dying = Store(table, Clock(now=watch), files=files).open_session(SUPER)
    rows = await contents(store.table)
    with pytest.raises(WriterDied):
        await create(dying)
    living = Store(store.table, Clock(now=watch), files=store.files)
    assert await living.sweep_files() == 0
    watch.move(STAGING_TIME + timedelta(seconds=1))
    assert await living.sweep_files() == (0 if kill == "before anything" else 1)
    assert await living.sweep_files() == 0
    assert await all_keys(store.files) == []
    assert await contents(store.table) == rows
    assert (await create(store.open_session(SUPER))).version == 1


@on_sqlite
async def test_a_sweep_that_is_killed_amid_is_finished_by_the_next(store: Store) -> None:
    await create_groups(store)
    watch = Watch()
    dying = Store(FailingProxy(store.table, transact=1), Clock(now=watch), files=store.files)
    rows = await contents(store.table)
    with pytest.raises(WriterDied):
        await create(dying.open_session(SUPER))
    watch.move(STAGING_TIME + timedelta(seconds=1))
    for table, files in (
        (FailingProxy(store.table, transact=1), store.files),
        (store.table, FailingProxy(store.files, delete=0)),
    ):
        with pytest.raises(WriterDied):
            await Store(table, Clock(now=watch), files=files).sweep_files()
    assert await Store(store.table, Clock(now=watch), files=store.files).sweep_files() == 1
    assert await contents(store.table) == rows
    assert await all_keys(store.files) == []


@on_sqlite
async def test_a_writer_that_wakes_after_the_sweep_makes_no_version_without_a_file(
    store: Store,
) -> None:
    session = await create_groups(store)
    brought = await bring(session)
    assert isinstance(brought.file, DatasetFile)
    rows = await contents(store.table)

    class Late(DatasetFile):
        async def place(self, resource: ReferenceDataset) -> Any:
            found = await super().place(resource)
            assert self.staged is not None
            await self.staged.drop()
            return found

    writing = session.datasets.writing.with_attachment(Late(brought.file.access, brought.file.data))
    with pytest.raises(Unavailable, match="too long"):
        await writing.create(USA, {"name": "n", "tags": (), "content": brought.content}, None)
    assert await contents(store.table) == rows
    assert await all_keys(store.files) == []


@on_sqlite
async def test_an_update_whose_answer_was_lost_keeps_its_file(store: Store) -> None:
    """The transaction took effect but its answer was lost, so its file must not be dropped."""
    session = await create_groups(store)
    made = await create(session)

    class Deaf(FailingProxy):
        async def transact(self, operations: Any) -> float:
            units: float = await self._real.transact(operations)
            if len(operations) > 1:
                raise Unavailable("the answer was lost")
            return units

    deaf = Store(Deaf(store.table), files=store.files).open_session(SUPER)
    with pytest.raises(Unavailable):
        await update(deaf, made, "fuel,factor\ngas,1\n")
    now = await session.datasets.reading.one(made.id)
    assert now.version == 2
    assert await read_whole(store.files, key_of_file(now)) == "fuel,factor\ngas,1\n"


async def test_a_delete_takes_rows_and_files_away(store: Store) -> None:
    session = await create_groups(store)
    rows = await contents(store.table)
    kept = await create(session, "kept")
    made = await update(session, await create(session), "fuel,factor\n")
    await session.datasets.deleting.delete(made.id)
    assert await all_keys(store.files) == [key_of_file(kept)]
    await session.datasets.deleting.delete(kept.id)
    assert await all_keys(store.files) == []
    assert await keys_beside_shards(store) == rows.keys()
    assert await faults(store.table) == []


@on_sqlite
@pytest.mark.parametrize("deletes", [0, 1, 2])
async def test_a_delete_that_is_killed_is_finished_with_its_files(
    deletes: int, store: Store
) -> None:
    session = await create_groups(store)
    rows = await contents(store.table)
    made = await update(session, await create(session), "fuel,factor\n")
    dying = Store(store.table, files=FailingProxy(store.files, delete=deletes, list=1))
    with pytest.raises(WriterDied):
        await dying.open_session(SUPER).datasets.deleting.delete(made.id)
    with pytest.raises(NotFound):
        await session.datasets.reading.one(made.id)
    assert len(await all_keys(store.files)) == 2 - deletes
    assert await store.count_pending_deletes() == 1
    assert await store.finish_deletes() == 1
    assert await all_keys(store.files) == []
    assert await keys_beside_shards(store) == rows.keys()
    assert await faults(store.table) == []


@on_sqlite
async def test_a_group_that_is_deleted_takes_the_files_of_its_datasets_along(store: Store) -> None:
    session = await create_groups(store)
    await create(session)
    await session.group_deletions.delete(USA)
    assert await store.run_jobs("worker") == 1
    assert await all_keys(store.files) == []


async def upload(files: Files, form: Any, data: bytes) -> None:
    """Store a file as the upload form would."""

    async def chunks() -> AsyncIterator[bytes]:
        yield data

    key = dict(form.fields)["key"]
    await files.write(key, chunks(), content_type=dict(form.fields)["Content-Type"])


@on_sqlite
async def test_an_upload_is_its_uploaders_alone_and_can_be_used_again(store: Store) -> None:
    await create_groups(store)
    ann = store.open_session(ANN)
    made = await ann.dataset_files.upload(USA)
    assert (await ann.dataset_files.check_upload(COLUMNS, None, made.id)).problems[
        0
    ].code == "NO_FILE"
    await upload(store.files, made.form, CSV.encode())
    for _ in range(2):
        brought = await ann.dataset_files.check_upload(COLUMNS, None, made.id)
        assert (brought.problems, brought.content.row_count) == ([], 2)
    bob = store.open_session(caller({ROOT: Role.ADMIN}, "bob"))
    for session, id in ((bob, made.id), (ann, "x"), (ann, "../x"), (ann, made.id.upper())):
        (problem,) = (await session.dataset_files.check_upload(COLUMNS, None, id)).problems
        assert (problem.path, problem.code) == (["content", "upload"], "NO_FILE")


@on_sqlite
@pytest.mark.parametrize("is_replaced", [True, False])
async def test_only_the_upload_that_a_dataset_was_made_of_stays(
    store: Store, *, is_replaced: bool
) -> None:
    session = await create_groups(store)
    ticket = await session.dataset_files.upload(USA)
    await upload(store.files, ticket.form, CSV.encode())
    brought = await session.dataset_files.check_upload(COLUMNS, None, ticket.id)
    if is_replaced:
        await upload(store.files, ticket.form, b"a" * 1000)
    writing = session.datasets.writing.with_attachment(brought.file)
    fields = {"name": "fuels", "tags": (), "content": brought.content}
    made = await writing.create(USA, fields, None)
    stays = [] if is_replaced else [dict(ticket.form.fields)["key"]]
    assert await all_keys(store.files) == [key_of_file(made), *stays]


@on_sqlite
async def test_problems_of_an_upload_have_its_place_in_the_input(store: Store) -> None:
    session = await create_groups(store)
    made = await session.dataset_files.upload(USA)
    await upload(store.files, made.form, b"fuel,factor\ngas,x\n")
    (problem,) = (await session.dataset_files.check_upload(COLUMNS, None, made.id)).problems
    assert (problem.path, problem.code, problem.line, problem.column) == (
        ["content", "upload"],
        "INVALID_VALUE",
        2,
        2,
    )
    await upload(store.files, made.form, b" " * (MAX_BYTES + 5))
    (problem,) = (await session.dataset_files.check_upload(COLUMNS, None, made.id)).problems
    assert problem.code == "TOO_LARGE"


@on_sqlite
async def test_uploads_are_removed_when_they_can_no_longer_be_used(store: Store) -> None:
    session = await create_groups(store)
    kept = await create(session)
    made = await session.dataset_files.upload(USA)
    await upload(store.files, made.form, CSV.encode())
    (one,) = await store.files.list(UPLOADS)
    stat = await store.files.stat(one)
    assert stat is not None
    watch = Watch()
    watch.time = stat.modified + UPLOAD_RETENTION - timedelta(seconds=1)
    later = Store(store.table, Clock(now=watch), files=store.files)
    assert await later.sweep_files() == 0
    watch.move(timedelta(seconds=2))
    assert await later.sweep_files() == 1
    assert await all_keys(store.files) == [key_of_file(kept)]


@on_sqlite
async def test_a_text_is_bounded_and_holds_only_characters(store: Store) -> None:
    session = await create_groups(store)
    for csv, code in (("x" * (MAX_INLINE + 1), "TOO_LARGE"), ("fuel\ud800", "NOT_UTF_8")):
        (problem,) = (await session.dataset_files.check_text(COLUMNS, None, csv)).problems
        assert (problem.path, problem.code) == (["content", "csv"], code)


@on_sqlite
async def test_who_is_no_contributor_cannot_upload(store: Store) -> None:
    await create_groups(store)
    with pytest.raises(NotPermitted):
        await store.open_session(caller({USA: Role.READER})).dataset_files.upload(NORTHWEST)
    with pytest.raises(NotFound):
        await store.open_session(caller({EU: Role.ADMIN})).dataset_files.upload(USA)


@pytest.mark.parametrize("name", ["管" * 128, "a\\b/c", "${filename}"])
@on_sqlite
async def test_a_dataset_of_any_name_can_be_downloaded(store: Store, name: str) -> None:
    session = await create_groups(store)
    made = await create(session, name)
    assert await session.dataset_files.download(made, 60) is not None


@on_sqlite
async def test_the_same_happens_in_a_bucket(store: Store) -> None:
    bucket = f"datasets-{uuid4()}"
    with aws_environment():
        async with aioboto3.Session().client("s3", endpoint_url=moto_endpoint()) as client:
            await client.create_bucket(Bucket=bucket)
        files = await S3Files.open(bucket, region=REGION, endpoint_url=moto_endpoint())
    try:
        over = Store(store.table, files=files)
        session = await create_groups(over)
        made = await update(session, await create(session), "fuel,factor\ngas,1\n")
        assert (await DatasetTableCache().rows(files, made)).find("gas", None) == 1
        assert len(await all_keys(files)) == 2
        assert await session.dataset_files.download(made, 60) is not None
        upload = await session.dataset_files.upload(USA)
        assert dict(upload.form.fields)["key"].startswith(UPLOADS)
        await session.datasets.deleting.delete(made.id)
        assert await all_keys(files) == []
        assert await over.sweep_files() == 0
    finally:
        await files.close()


@on_sqlite
async def test_without_a_place_for_files_nothing_is_made(store: Store) -> None:
    session = await create_groups(Store(store.table))
    rows = await contents(store.table)
    with pytest.raises(Unavailable, match="no place for files"):
        await create(session)
    assert await Store(store.table).sweep_files() == 0
    left = await keys_beside_shards(store) - rows.keys()
    assert all(key.pk.startswith("F:") for key in left)
