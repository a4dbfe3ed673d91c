"""Statements for other engines show the rows that the product shows."""

from pathlib import Path

import duckdb
import pytest
from msgspec.structs import replace

from penstock.datastore.kept_rows.external_table import ExternalEngine, write_statements
from penstock.datastore.kept_rows.part_files import copy_parts
from penstock.datastore.kept_rows.part_list import read_parts
from penstock.datastore.kept_rows.records import RowsPart
from penstock.datastore.records import Pipeline, ValueType
from penstock.datastore.store import Store
from tests.datastore.executions.sample_executions import ANN
from tests.datastore.kept_rows.plants import read_kwh, run_file

PART = RowsPart(commit=1, file="p/a.parquet", types={}, key=(), at="", count=0, size=0)


async def keep_some(store: Store, pipeline: Pipeline) -> None:
    """Keep three rows; one is corrected, one withdrawn, and one withdrawn and made again."""
    await run_file(store, pipeline, Bend="1.5", Ocala=2, Selma=3)
    await run_file(store, pipeline, Bend="12345678901234567890123456789.012345")
    withdrawals = store.open_session(ANN).row_withdrawals
    await withdrawals.by_keys(pipeline, [["Ocala"], ["Selma"]], "broken")
    await run_file(store, pipeline, Selma=4)


async def test_duckdb_reads_the_rows_that_stand_from_the_files(
    store: Store, pipeline: Pipeline, tmp_path: Path
) -> None:
    await keep_some(store, pipeline)
    parts = await read_parts(store.table, pipeline.id)
    await copy_parts(store.files, parts, tmp_path)
    # The file of an execution that did not end is no part of the rows.
    lost = tmp_path / f"results/pipeline={pipeline.id}/lost-0.parquet"
    lost.write_bytes((tmp_path / parts[0].file).read_bytes())
    sql = write_statements(ExternalEngine.DUCKDB, "plants", str(tmp_path), pipeline.id, parts)
    with duckdb.connect(":memory:") as connection:
        connection.execute(sql)
        found = connection.execute("SELECT plant, kwh FROM plants_latest").fetchall()
    assert dict(found) == await read_kwh(store, pipeline)
    assert sorted(dict(found)) == ["Bend", "Selma"]


OUTPUTS = (
    *("is_withdrawn", "place", "file_name", "part_file", "commit_number", "withdrawn"),
    *("commits", "files", "versions", "plants", "filename"),
)


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("value", ["1", "2", "true", "false", "a.parquet"])
def test_no_output_is_taken_for_a_column_of_the_statements(
    output: str, value: str, tmp_path: Path
) -> None:
    parts = [
        replace(PART, commit=n, file=f"p/{n}.parquet", types={output: ValueType.STRING})
        for n in (1, 2)
    ]
    folder = tmp_path / "results/pipeline=p"
    folder.mkdir(parents=True)
    with duckdb.connect(":memory:") as connection:
        for n in (1, 2):
            connection.execute(
                f"""COPY (SELECT '{value}' AS "{output}", 'k' AS _key, now()::TIMESTAMP AS _time,
                '/usa' AS _group, 'e{n}' AS _execution, 1 AS _row, 1 AS _version)
                TO '{folder}/{n}.parquet' (FORMAT parquet)"""
            )
        sql = write_statements(ExternalEngine.DUCKDB, "plants", str(tmp_path), "p", parts)
        connection.execute(sql)
        found = connection.execute("SELECT * FROM plants_latest").fetchall()
    assert [(row[0], row[4]) for row in found] == [(value, "e2")]


@pytest.mark.parametrize(
    ("engine", "folder"),
    [
        (ExternalEngine.ATHENA, r"'/it\'s \\ here/results/"),
        (ExternalEngine.TRINO, r"'/it''s \ here/results/"),
        (ExternalEngine.SPARK, r"'/it\'s \\ here/results/"),
        (ExternalEngine.DUCKDB, r"'/it''s \ here/results/"),
    ],
)
def test_a_folder_of_any_name_is_a_literal_of_each_engine(
    engine: ExternalEngine, folder: str
) -> None:
    assert folder in write_statements(engine, "plants", r"/it's \ here", "p", [PART])


@pytest.mark.parametrize(
    ("engine", "made", "read"),
    [
        (ExternalEngine.ATHENA, "CREATE EXTERNAL TABLE `plants` (", 'FROM "plants") files'),
        (ExternalEngine.TRINO, 'CREATE TABLE "plants" (', 'FROM "plants") files'),
        (ExternalEngine.SPARK, "USING PARQUET", "_metadata.file_name AS `_file_name`"),
    ],
)
async def test_each_engine_gets_a_table_and_a_view_in_its_own_words(
    store: Store, pipeline: Pipeline, engine: ExternalEngine, made: str, read: str
) -> None:
    await keep_some(store, pipeline)
    parts = await read_parts(store.table, pipeline.id)
    sql = write_statements(engine, "plants", "s3://bucket/", pipeline.id, parts)
    first, second, rest = sql.split(";\n")
    assert rest == ""
    assert made in first
    assert f"'s3://bucket/results/pipeline={pipeline.id}/'" in first
    assert read in second
    assert second.count(", true)") == 1
    assert second.count(", false)") == 3
