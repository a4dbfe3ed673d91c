"""Merged files are merged again, so that few files are read, however many commits there are."""

import re
import threading
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastore.kept_rows import part_list
from penstock.datastore.kept_rows.external_table import ExternalEngine, write_statements
from penstock.datastore.kept_rows.merge_parts import (
    MERGED_BYTES,
    MOST_MERGES,
    CommitsFile,
    PartMerger,
    choose_files,
)
from penstock.datastore.kept_rows.merged_files import place_parts, read_merged_files
from penstock.datastore.kept_rows.part_files import PartFiles, copy_to_disk
from penstock.datastore.kept_rows.part_keys import part_key, rows_folder
from penstock.datastore.kept_rows.part_list import MERGED_AFTER, add_parts, read_head, read_parts
from penstock.datastore.kept_rows.records import MergedFile, RowsPart
from penstock.datastore.kept_rows.write_part import PartWriter, WrittenFile
from penstock.datastore.objects.port import Chunks
from penstock.datastore.records import Pipeline
from penstock.datastore.store import Store
from penstock.datastore.table.commit import commit
from tests.datastore.executions.sample_executions import ANN
from tests.datastore.executions.worker_death import (
    ForwardingFiles,
    mortal_store,
)
from tests.datastore.kept_rows.plants import read_kwh, read_rows, run_file
from tests.support.consistency_check import faults
from tests.support.sample_resources import SUPER, Watch, on_sqlite
from tests.support.table_interceptors import ProcessDied

HOURS = timedelta(hours=2)
SECOND = timedelta(seconds=1)
VALUES = 5
"""The numbers that commits give to one row in turn, from 0 on."""


class CountedFiles(ForwardingFiles):
    """A file store that notes which files are read."""

    def __init__(self, files: Any) -> None:
        super().__init__(files)
        self.opened: list[str] = []

    def read(self, key: str, *, start: int = 0, end: int | None = None) -> Chunks:
        self.opened.append(key)
        return super().read(key, start=start, end=end)


def merger_of(store: Store, least: int) -> PartMerger:
    return PartMerger(store._system_access(), store.part_files, least=least)


async def merge_until_done(store: Store, pipeline: Pipeline, least: int) -> list[int]:
    """Merge until nothing is left to merge; return the number of merges of each call."""
    made = [await merger_of(store, least).merge(pipeline.id)]
    while made[-1]:
        made.append(await merger_of(store, least).merge(pipeline.id))
    return made


async def add_commits(store: Store, pipeline: Pipeline, watch: Watch, count: int) -> list[datetime]:
    """Add commits that correct one row, a second apart; return the time of each."""
    times = []
    for n in range(VALUES):
        await run_file(store, pipeline, p=n)
        times.append(watch())
        watch.move(SECOND)
    made = await read_parts(store.table, pipeline.id)
    for n in range(VALUES, count):
        like = made[n % VALUES]
        file = part_key(pipeline.id, f"{like.execution}-{n}")
        await store.files.copy(like.file, file)
        head = await read_head(store.table, pipeline.id)
        part = msgspec.structs.replace(like, file=file, at=store.clock.timestamp())
        await commit(store.table, add_parts(pipeline.id, head, [part])[1])
        times.append(watch())
        watch.move(SECOND)
    return times


async def files_read(store: Store, pipeline: Pipeline, **wanted: Any) -> int:
    """Read the rows on a machine without copies; return the number of files that were opened."""
    counted = CountedFiles(store.files)
    fresh = replace(store, files=counted, part_files=PartFiles(store.part_files.engine))
    fresh.part_files.engine.folder.mkdir(exist_ok=True)
    await read_kwh(fresh, pipeline, **wanted)
    return len(counted.opened)


@on_sqlite
async def test_five_hundred_commits_are_read_from_a_few_files(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    count, least = 499, 5
    times = await add_commits(store, pipeline, watch, count)
    assert await files_read(store, pipeline) == count
    # 499 is 3 * 125 + 4 * 25 + 4 * 5 + 4: each file is merged three times at most.
    assert await merge_until_done(store, pipeline, least) == [MOST_MERGES, 99 + 19 + 3 - 100, 0]
    assert await files_read(store, pipeline) == 3 + 4 + 4 + 4
    assert await files_read(store, pipeline, as_at=times[0]) == 1
    assert await files_read(store, pipeline, as_at=times[130]) == 2
    for n in (0, 6, 124, 125, 126, 374, 375, 480, 498):
        assert await read_kwh(store, pipeline, as_at=times[n]) == {"p": str(n % VALUES)}
    (row,) = await read_rows(store, pipeline)
    key = (pipeline.id, row.digest)
    (versions,) = await store.open_session(ANN).kept_rows.many_versions([key])
    assert [one.commit for one in versions] == list(range(count, count - 200, -1))
    watch.move(HOURS)
    await store.sweep_files()
    assert len(await store.files.list(rows_folder(pipeline.id))) == 15
    assert await read_kwh(store, pipeline, as_at=times[250]) == {"p": "0"}
    assert await faults(store.table) == []


@on_sqlite
async def test_a_row_is_copied_once_for_each_level(
    store: Store, pipeline: Pipeline, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, copied = PartWriter.write_merged, []

    async def count_rows(writer: PartWriter, key: str, snapshot: Any) -> WrittenFile:
        copied.append(len(snapshot.parts))
        return await write(writer, key, snapshot)

    monkeypatch.setattr(PartWriter, "write_merged", count_rows)
    await add_commits(store, pipeline, watch, 27)
    await merge_until_done(store, pipeline, 3)
    assert sorted(copied) == [3] * 9 + [9] * 3 + [27]


async def test_both_stores_merge_merged_files_with_all_that_they_have(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    times = await add_commits(store, pipeline, watch, 9)
    await store.open_session(ANN).row_withdrawals.by_keys(pipeline, [["p"]], "wrong")
    past = [await read_kwh(store, pipeline, as_at=at) for at in times]
    assert await merge_until_done(store, pipeline, 3) == [4, 0]
    (file,) = await read_merged_files(store.table, pipeline.id)
    assert (file.first, file.last) == (1, 9)
    assert [await read_kwh(store, pipeline, as_at=at) for at in times] == past
    assert await read_kwh(store, pipeline) == {}
    watch.move(HOURS)
    await store.sweep_files()
    assert len(await store.files.list(rows_folder(pipeline.id))) == 2
    await store.open_session(SUPER).pipelines.deleting.delete(pipeline.id)
    for _ in range(3):
        await store.finish_deletes()
    assert await read_merged_files(store.table, pipeline.id) == []
    assert await store.files.list(rows_folder(pipeline.id)) == ()
    assert await faults(store.table) == []


PHYSICAL = {
    "STRING": "BYTE_ARRAY",
    "TIMESTAMP_NTZ": "INT64",
    "bigint": "INT64",
    "int": "INT32",
    "boolean": "BOOLEAN",
}
"""How files have the values of the types of a table; Spark 3 reads no others."""


@on_sqlite
async def test_files_of_every_level_have_the_types_that_other_engines_are_told(
    store: Store, pipeline: Pipeline, watch: Watch, tmp_path: Path
) -> None:
    await add_commits(store, pipeline, watch, 9)
    await store.open_session(ANN).row_withdrawals.by_keys(pipeline, [["p"]], "wrong")
    assert await merge_until_done(store, pipeline, 3) == [4, 0]
    parts = await read_parts(store.table, pipeline.id)
    sql = write_statements(ExternalEngine.SPARK, "plants", "/lake", pipeline.id, parts)
    told = dict(re.findall(r"^  `(\w+)` (\w+)", sql, re.MULTILINE))
    files = await store.files.list_entries(rows_folder(pipeline.id))
    assert len(files) == 9 + 1 + 4
    with duckdb.connect(":memory:") as connection:
        for n, file in enumerate(files):
            path = tmp_path / f"{n}.parquet"
            await copy_to_disk(store.files, file.key, path, file.size)
            query = "SELECT name, type FROM parquet_schema($path) WHERE type IS NOT NULL"
            stored = dict(connection.execute(query, {"path": str(path)}).fetchall())
            assert {name: PHYSICAL[type] for name, type in told.items() if name in stored} == {
                name: type for name, type in stored.items() if name in told
            }
            assert told.keys() - stored.keys() <= {"_commit", "_withdrawn"}


@on_sqlite
async def test_wherever_a_merge_of_merged_files_dies_nothing_changes(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    times = await add_commits(store, pipeline, watch, 8)
    past = [await read_kwh(store, pipeline, as_at=at) for at in times]
    deaths = 0
    for calls in range(80):
        mortal = mortal_store(store, calls % 9)
        try:
            if not await merger_of(mortal, 2).merge(pipeline.id):
                break
        except ProcessDied:
            deaths += 1
        assert [await read_kwh(store, pipeline, as_at=at) for at in times] == past
    assert deaths >= 9
    (file,) = await read_merged_files(store.table, pipeline.id)
    assert (file.first, file.last) == (1, 8)
    watch.move(HOURS)
    await store.sweep_files()
    assert len(await store.files.list(rows_folder(pipeline.id))) == 1
    assert [await read_kwh(store, pipeline, as_at=at) for at in times] == past
    assert await faults(store.table) == []


@on_sqlite
async def test_a_copy_counts_with_all_its_bytes_however_few_of_its_parts_are_read(
    store: Store, pipeline: Pipeline, watch: Watch
) -> None:
    times = await add_commits(store, pipeline, watch, 8)
    await merge_until_done(store, pipeline, 2)
    fresh = replace(store, part_files=PartFiles(store.part_files.engine))
    await read_kwh(fresh, pipeline, as_at=times[0])
    (file,) = await read_merged_files(store.table, pipeline.id)
    assert list(fresh.part_files._sizes.values()) == [file.size]


@on_sqlite
async def test_the_files_of_very_many_parts_are_found_in_a_thread(
    store: Store, pipeline: Pipeline, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add_commits(store, pipeline, watch, 8)
    await merge_until_done(store, pipeline, 2)
    found, threads = await read_parts(store.table, pipeline.id), set[int]()

    def note_thread(*given: Any) -> list[RowsPart]:
        threads.add(threading.get_ident())
        return place_parts(*given)

    monkeypatch.setattr(part_list, "place_parts", note_thread)
    monkeypatch.setattr(part_list, "MANY_PARTS", 8)
    assert await read_parts(store.table, pipeline.id) == found
    assert len(threads - {threading.get_ident()}) == len(threads) == 1


def part(commit: int, size: int = 1) -> RowsPart:
    return RowsPart(commit=commit, file=f"f{commit}", types={}, key=(), count=1, size=size, at="")


def listed_file(first: int, last: int) -> MergedFile:
    return MergedFile(first=first, last=last, file=f"{first}-{last}", size=10 * (last - first + 1))


def merged_histories(commits: int, least: int) -> list[list[MergedFile]]:
    """The merged files after each merge of so many commits, as the merger makes them."""
    files = [CommitsFile([part(n)]) for n in range(1, commits + 1)]
    states: list[list[MergedFile]] = [[]]
    while (chosen := choose_files(files, least)) is not None:
        parts = [one for file in files[chosen] for one in file.parts]
        made = listed_file(files[chosen][0].first, parts[-1].commit)
        files[chosen] = [CommitsFile(parts, made)]
        states.append([file.merged for file in files if file.merged])
    return states


@given(
    commits=st.integers(1, 60),
    least=st.integers(2, 4),
    torn=st.tuples(st.floats(0, 1), st.floats(0, 1)),
)
def test_a_list_that_is_read_during_merges_has_each_commit_in_one_file(
    commits: int, least: int, torn: tuple[float, float]
) -> None:
    states = merged_histories(commits, least)
    first, last = (states[round(place * (len(states) - 1))] for place in sorted(torn))
    found = place_parts([part(n) for n in range(1, commits + 1)], [*first, *last])
    assert [one.commit for one in found] == list(range(1, commits + 1))
    names = {file.file: file for file in [*first, *last]}
    for one in found:
        if one.merged:
            file = names[one.file]
            inside = range(file.first, file.last + 1)
            assert [each.file for each in found if each.commit in inside] == [one.file] * len(
                inside
            )
    own = [one.commit for one in found if not one.merged]
    assert not any(file.first <= n <= file.last for n in own for file in last)


@given(commits=st.integers(1, 1_000), least=st.integers(2, MERGED_AFTER))
def test_as_many_files_are_left_as_the_digits_of_the_commits_say(commits: int, least: int) -> None:
    (*_, files) = merged_histories(commits, least)
    digits, left = [], commits
    while left:
        left, digit = divmod(left, least)
        digits.append(digit)
    assert len(files) == sum(digits[1:])


def test_files_are_chosen_in_a_row_while_they_are_small() -> None:
    small = [CommitsFile([part(n)]) for n in range(1, 40)]
    assert choose_files(small, 12) == slice(0, 12)
    assert choose_files(small[:11], 12) is None
    merged = CommitsFile([part(n) for n in range(1, 13)], listed_file(1, 12))
    assert choose_files([merged, *small[12:23]], 12) is None
    assert choose_files([merged, *small[12:24]], 12) == slice(1, 13)
    large = [CommitsFile([part(n, MERGED_BYTES // 2)]) for n in range(1, 30)]
    assert choose_files(large, 3) is None
    assert choose_files(large, 2) == slice(0, 2)
    assert choose_files([*large[:3], *small], 12) == slice(2, 14)
    too_large = CommitsFile([part(1, MERGED_BYTES + 1)])
    assert choose_files([too_large, *small], 12) == slice(1, 13)


def test_the_parts_in_a_merged_file_have_its_digest_and_shares_of_its_size() -> None:
    file = MergedFile(first=3, last=6, file="m", size=11, digest="d")
    placed = place_parts([part(n, 100) for n in range(1, 8)], [file])
    assert [one.size for one in placed] == [100, 100, 3, 3, 3, 2, 100]
    assert [one.merged for one in placed] == [False, False, True, True, True, True, False]
    assert [one.digest for one in placed] == [None, None, "d", "d", "d", "d", None]
    # Those that left keep their share.
    assert [one.size for one in place_parts([part(n) for n in (5, 6)], [file])] == [3, 2]
