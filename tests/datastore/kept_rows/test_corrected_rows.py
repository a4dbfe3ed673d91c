"""All rows of a pipeline are corrected twice, as the benchmark of a million rows does."""

from pathlib import Path

from benchmarks.corrections.kept_rows import TIMES, correct_twice, keep_meters
from penstock.datastore.kept_rows.part_list import read_parts
from penstock.datastore.store import Store
from tests.support.sample_resources import on_sqlite

ROWS = 3_000


@on_sqlite
async def test_each_key_is_corrected_twice_and_the_last_values_are_summed(
    store: Store, tmp_path: Path
) -> None:
    pipeline = await keep_meters(store)
    cost = await correct_twice(store, pipeline, ROWS, tmp_path)  # which compares the sums
    assert len(cost.runs) == TIMES
    parts = await read_parts(store.table, pipeline.id)
    assert [(part.count, part.merged) for part in parts] == [(ROWS, True)] * TIMES
    assert len({part.file for part in parts}) == 1
