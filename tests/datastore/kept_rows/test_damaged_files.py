"""A damaged file of rows is a failure with a code, and so is a whole one that is another."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import pytest

from penstock.datastore.access.work import WorkPayer
from penstock.datastore.errors import IllegalState
from penstock.datastore.kept_rows import merge_parts
from penstock.datastore.kept_rows.database import quote_text
from penstock.datastore.kept_rows.engine import RowsEngine
from penstock.datastore.kept_rows.merge_parts import PartMerger
from penstock.datastore.kept_rows.part_files import PartFiles, copy_parts, copy_to_disk
from penstock.datastore.kept_rows.part_list import read_parts
from penstock.datastore.kept_rows.records import RowsPart
from penstock.datastore.kept_rows.write_part import PARQUET
from penstock.datastore.objects.chunks import single_chunk
from penstock.datastore.objects.directory import LocalFiles
from penstock.datastore.objects.local_copies import read_local
from penstock.datastore.records import Pipeline
from penstock.datastore.store import Store
from penstock.datastore.table.layout import ROWS_PART
from penstock.datastore.table.port import Table, Update
from tests.datastore.executions.sample_executions import ANN, pipeline_in, read_content
from tests.datastore.kept_rows.plants import PLANTS, read_kwh, read_sum, run_file
from tests.support.sample_resources import on_sqlite

_END: Final = 8
"""The bytes behind the list of columns: its length, and the mark of the format."""

DAMAGES: Final[Mapping[str, Callable[[bytes], bytes]]] = {
    "nothing in it": lambda _: b"",
    "another format": lambda whole: b"k,v\n1,2\n" * len(whole),
    "its first half": lambda whole: whole[: len(whole) // 2],
    "other bytes in the list of columns": lambda whole: (
        whole[: -_END - 200] + bytes(200) + whole[-_END:]
    ),
    "no end of the list of columns": lambda whole: whole[:-_END] + b"\xff\xff\xff\x7fPAR1",
    "other bytes in the values": lambda whole: whole[:4] + b"\xff" * 400 + whole[404:],
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
async def test_a_damaged_file_is_unreadable_and_nothing_of_it_is_said(
    damage: Callable[[bytes], bytes], caplog: pytest.LogCaptureFixture
) -> None:
    engine, user = RowsEngine(), WorkPayer("ann")
    with engine.scratch_files(".parquet", ".damaged") as (whole, damaged):
        await engine.read(write_to(whole), user)
        damaged.write_bytes(damage(whole.read_bytes()))
        with pytest.raises(IllegalState) as caught:
            await engine.read(read_from(damaged), user)
        assert caught.value.state == "UNREADABLE_ROWS"
        (record,) = caplog.records
        assert record.message.startswith("a file of rows is damaged: ")
        assert str(engine.folder) not in record.message + caught.value.message


async def change_file(store: Store, part: RowsPart) -> None:
    """Put another value into each row of a stored file, which stays whole."""
    engine = RowsEngine()
    with engine.scratch_files(".parquet", ".changed") as (path, changed):
        await copy_to_disk(store.files, part.file, path, part.file_size)
        sql = (
            f"COPY (SELECT * REPLACE ('9' AS kwh) FROM read_parquet({quote_text(str(path))})) "
            f"TO {quote_text(str(changed))} (FORMAT parquet)"
        )
        await engine.read(lambda connection: connection.execute(sql), WorkPayer("ann"))
        await store.files.write(part.file, read_local(changed), content_type=PARQUET)


def with_empty_cache(store: Store) -> Store:
    """The store as a process sees it that has read no rows yet."""
    return replace(store, part_files=PartFiles(RowsEngine()))


async def require_unreadable(calls: Mapping[str, Callable[[], Awaitable[object]]]) -> None:
    for name, call in calls.items():
        with pytest.raises(IllegalState) as caught:
            await call()
        assert caught.value.state == "UNREADABLE_ROWS", name


async def test_a_whole_file_with_another_value_is_unreadable(
    store: Store, pipeline: Pipeline, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await run_file(store, pipeline, a=1)
    (part,) = parts = await read_parts(store.table, pipeline.id)
    content = await read_content(store.files, part.file)
    await change_file(store, part)
    fresh = with_empty_cache(store)
    withdrawals = fresh.open_session(ANN).row_withdrawals
    await require_unreadable(
        {
            "page": lambda: read_kwh(fresh, pipeline),
            "totals": lambda: read_sum(fresh, pipeline),
            "withdrawal": lambda: withdrawals.by_keys(pipeline, [["a"]], "wrong"),
            "copy": lambda: copy_parts(fresh.files, parts, tmp_path),
        }
    )
    assert {record.message for record in caplog.records if record.name == "penstock.rows"} == {
        "a file of rows is damaged: it is not the one that was written"
    }
    assert content is not None
    (tmp_path / "whole").write_bytes(content)
    await fresh.files.write(part.file, read_local(tmp_path / "whole"), content_type=PARQUET)
    assert await read_kwh(fresh, pipeline) == {"a": "1"}


@on_sqlite
@pytest.mark.parametrize("cut", [0, 100, -1])
async def test_a_stored_file_that_was_cut_off_is_unreadable(
    store: Store, pipeline: Pipeline, cut: int, caplog: pytest.LogCaptureFixture
) -> None:
    await run_file(store, pipeline, a=1)
    (part,) = await read_parts(store.table, pipeline.id)
    content = await read_content(store.files, part.file)
    assert content is not None
    if isinstance(store.files, LocalFiles):
        stored = store.files._contents.iterdir()
        (whole,) = [path for path in stored if path.read_bytes() == content]
        whole.write_bytes(content[:cut])
    else:
        await store.files.write(part.file, single_chunk(content[:cut]), content_type=PARQUET)
    fresh = with_empty_cache(store)
    await require_unreadable({"page": lambda: read_kwh(fresh, pipeline)})
    assert [record.message for record in caplog.records if record.name == "penstock.rows"] == [
        "a file of rows is damaged: it is not the one that was written"
    ]


@on_sqlite
async def test_the_list_has_the_digest_of_each_file_of_rows(
    store: Store, pipeline: Pipeline
) -> None:
    await run_file(store, pipeline, a=1, b=2)
    await store.open_session(ANN).row_withdrawals.by_keys(pipeline, [["a"]], "wrong")
    await require_digests(store, pipeline, files=2)
    assert await merger(store).merge(pipeline.id) == 1
    await require_digests(store, pipeline, files=1)


def merger(store: Store) -> PartMerger:
    """A merger of two files at a time, which has read none of them."""
    return PartMerger(store._system_access(), PartFiles(RowsEngine()), least=2)


async def require_digests(store: Store, pipeline: Pipeline, files: int) -> None:
    digests = {part.file: part.digest for part in await read_parts(store.table, pipeline.id)}
    assert len(digests) == files
    for file, digest in digests.items():
        content = await read_content(store.files, file)
        assert content is not None
        assert digest == sha256(content).hexdigest()


@on_sqlite
async def test_a_file_that_is_another_keeps_no_other_pipeline_from_being_merged(
    store: Store, pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = await pipeline_in(store, name="Other plants", transformer=PLANTS)
    for kept in (pipeline, other):
        for n in range(2):
            await run_file(store, kept, a=n)

    async def both(_table: Table) -> list[str]:
        return [pipeline.id, other.id]

    monkeypatch.setattr(merge_parts, "pipelines_to_merge", both)
    await change_file(store, (await read_parts(store.table, pipeline.id))[0])
    await require_unreadable({"merge": merger(store).merge_all})
    for id, files in ((pipeline.id, 2), (other.id, 1)):
        assert len({part.file for part in await read_parts(store.table, id)}) == files


@on_sqlite
async def test_a_file_of_an_older_release_has_no_digest_and_is_read(
    store: Store, pipeline: Pipeline
) -> None:
    await run_file(store, pipeline, a=1)
    old = Update(key=ROWS_PART.key(id=pipeline.id, commit=1), remove=("digest",))
    await store.table.transact([old])
    assert await read_kwh(store, pipeline) == {"a": "1"}


def write_to(path: Path) -> Callable[[Any], object]:
    sql = (
        "COPY (SELECT range AS n, md5(range::VARCHAR) AS t FROM range(500)) "
        f"TO {quote_text(str(path))} (FORMAT parquet)"
    )
    return lambda connection: connection.execute(sql)


def read_from(path: Path) -> Callable[[Any], object]:
    sql = f"SELECT * FROM read_parquet({quote_text(str(path))})"
    return lambda connection: connection.execute(sql).fetchall()
