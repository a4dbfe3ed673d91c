"""Outputs as Parquet, for those who ask for it."""

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

from penstock.datastore.errors import IllegalState, Invalid
from penstock.datastore.executions.create import ExecutionRequest
from penstock.datastore.executions.files import FileKind, output_key, parquet_key
from penstock.datastore.executions.records import ExecutionMode, OutputFormat
from penstock.datastore.records import (
    Output,
    Parameter,
    Pipeline,
    TimestampForm,
    Transform,
    Transformer,
    ValueType,
)
from penstock.datastore.store import Store
from tests.datastore.executions.sample_executions import (
    ANN,
    event_history,
    finished_execution,
    pipeline_in,
    read_content,
    ready_execution,
)
from tests.support.consistency_check import contents, faults
from tests.support.sample_resources import create_groups, on_sqlite

TYPES = {"text": ValueType.STRING, "number": ValueType.NUMBER, "flag": ValueType.BOOLEAN}
FORMULAS = {"text": ":text", "number": ":number", "flag": ":flag", "time": ":time"}
PARQUET = OutputFormat.PARQUET


async def plain_pipeline(
    store: Store, timestamps: TimestampForm = TimestampForm.EPOCH_MILLISECONDS
) -> Pipeline:
    types = {**TYPES, "time": ValueType.NUMBER}
    transformer = Transformer(
        parameters=tuple(
            Parameter(index=n, key=key, type=type) for n, (key, type) in enumerate(types.items())
        ),
        transforms=tuple(
            Transform(
                index=n,
                formula=formula,
                outputs=(Output(index=0, key=key, type=TYPES.get(key, ValueType.TIMESTAMP)),),
            )
            for n, (key, formula) in enumerate(FORMULAS.items())
        ),
        timestamps=timestamps,
    )
    return await pipeline_in(store, name="Plain", transformer=transformer)


async def read_parquet(store: Store, key: str, folder: Path) -> tuple[list[Any], list[str]]:
    """The rows of a stored Parquet file, and the types of its columns."""
    data = await read_content(store.files, key)
    assert data is not None
    path = folder / "read.parquet"
    path.write_bytes(data)
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    types = connection.execute(f"DESCRIBE SELECT * FROM '{path}'").fetchall()
    rows = connection.execute(
        f"SELECT * REPLACE (CAST(time AT TIME ZONE 'UTC' AS TIMESTAMP) AS time) FROM '{path}'"
    ).fetchall()
    return rows, [type for _, type, *_ in types]


@pytest.mark.parametrize("form", TimestampForm)
async def test_the_output_is_parquet_with_its_types(
    store: Store, pipeline: Pipeline, form: TimestampForm, tmp_path: Path
) -> None:
    plain = await plain_pipeline(store, form)
    data = b'text,number,flag,time\n"a, ""b""",1.50,true,1751328000000\n,-12.125,,\nc,x,false,0\n'
    over = await finished_execution(store, plain, data, output_format=PARQUET)
    assert (over.state, over.succeeded, over.failed) == ("success", 2, 1)
    rows, types = await read_parquet(store, parquet_key(over), tmp_path)
    assert types == ["VARCHAR", "DECIMAL(38,3)", "BOOLEAN", "TIMESTAMP WITH TIME ZONE"]
    moment = dt.datetime(2025, 7, 1)
    assert rows == [
        ('a, "b"', Decimal("1.500"), True, moment),
        (None, Decimal("-12.125"), None, None),
    ]
    download = await store.open_session(ANN).executions.downloads.one(over, FileKind.OUTPUT)
    stat = await store.files.stat(parquet_key(over))
    assert stat is not None
    assert download.size == stat.size
    assert await faults(store.table) == []


@on_sqlite
async def test_numbers_that_fit_no_decimal_are_texts(
    store: Store, pipeline: Pipeline, tmp_path: Path
) -> None:
    plain = await plain_pipeline(store)
    data = f"text,number,flag,time\na,{'9' * 30}.5,,\nb,0.{'1' * 20},,\n".encode()
    over = await finished_execution(store, plain, data, output_format=PARQUET)
    rows, types = await read_parquet(store, parquet_key(over), tmp_path)
    assert types[1] == "VARCHAR"
    assert [row[1] for row in rows] == [f"{'9' * 30}.5", f"0.{'1' * 20}"]


@on_sqlite
async def test_a_copied_result_is_parquet_for_who_asks_for_it(
    store: Store, pipeline: Pipeline, tmp_path: Path
) -> None:
    plain = await plain_pipeline(store)
    data = b"text,number,flag,time\na,1,,\n"
    first = await finished_execution(store, plain, data)
    assert await read_content(store.files, parquet_key(first)) is None
    second = await finished_execution(store, plain, data, output_format=PARQUET)
    assert second.copied_from == first.id
    assert len((await read_parquet(store, parquet_key(second), tmp_path))[0]) == 1
    assert await read_content(store.files, output_key(second)) is not None
    assert (second.result_bytes or 0) > (first.result_bytes or 0)
    assert (await event_history(store.open_session(ANN), second))[-1][0] == "succeeded"


@on_sqlite
async def test_rows_of_a_request_give_no_parquet(store: Store, pipeline: Pipeline) -> None:
    plain = await plain_pipeline(store)
    before = await contents(store.table)
    wanted = ExecutionRequest(
        pipeline_id=plain.id, mode=ExecutionMode.INLINE, output_format=PARQUET
    )
    with pytest.raises(Invalid) as caught:
        await store.open_session(ANN).executions.inline.run(wanted, [{"text": "a"}])
    assert [problem.path for problem in caught.value.problems] == [["outputFormat"]]
    assert await contents(store.table) == before


@on_sqlite
async def test_an_external_worker_does_not_get_what_it_cannot_make(
    store: Store, pipeline: Pipeline
) -> None:
    plain = await plain_pipeline(store)
    data = b"text,number,flag,time\na,1,,\n"
    made = await ready_execution(store, plain, data, output_format=PARQUET)
    before = await contents(store.table)
    with pytest.raises(IllegalState, match="Its output is Parquet"):
        await store.open_session(ANN).executions.external.claim(made.id, "mine")
    assert await contents(store.table) == before


@on_sqlite
@pytest.mark.parametrize("time", ["9223372036854775807", "-62135596800001", "1e30"])
async def test_a_number_that_is_no_moment_leaves_its_column_as_texts(
    store: Store, tmp_path: Path, time: str
) -> None:
    await create_groups(store)
    plain = await plain_pipeline(store)
    data = f"text,number,flag,time\na,1,true,0\nb,2,false,{time}\n".encode()
    over = await finished_execution(store, plain, data, output_format=PARQUET)
    assert (over.state, over.code) == ("success", None)
    found = await read_content(store.files, parquet_key(over))
    assert found is not None
    path = tmp_path / "read.parquet"
    path.write_bytes(found)
    rows = duckdb.connect().execute(f"SELECT typeof(time), time FROM '{path}'").fetchall()
    assert rows == [("VARCHAR", "0"), ("VARCHAR", f"{Decimal(time):f}")]


@on_sqlite
@pytest.mark.parametrize(
    ("names", "columns"),
    [
        ((None, "A", "a"), ["A", "output 1"]),
        ((None, "A", "\u00e9", "\u00c9", "A "), ["A", "\u00e9", "output 2", "A "]),
        (("a", "A", "Output 1"), ["a", "output 1", "output 2"]),
        ((None, "OUTPUT 1", "Output 1'", "x", "X"), ["OUTPUT 1", "Output 1'", "x", "output 3"]),
        ((None, "OUTPUT 2", "x", "X"), ["OUTPUT 2", "x", "output 2'"]),
    ],
)
async def test_names_that_differ_in_letter_case_only_are_told_apart(
    store: Store, names: tuple[str | None, ...], columns: list[str], tmp_path: Path
) -> None:
    await create_groups(store)
    key, *labels = names
    outputs = [Output(index=0, label=label, type=ValueType.NUMBER) for label in labels]
    if key is not None:
        outputs.insert(0, Output(index=0, key=key, type=ValueType.NUMBER))
    transformer = Transformer(
        parameters=(Parameter(index=0, key="x", type=ValueType.NUMBER),),
        transforms=tuple(
            Transform(index=n, formula=f":x + {n}", outputs=(output,))
            for n, output in enumerate(outputs)
        ),
    )
    pipeline = await pipeline_in(store, name="Plain", transformer=transformer)
    over = await finished_execution(store, pipeline, b"x\n7\n", output_format=PARQUET)
    assert over.state == "success"
    path = tmp_path / "read.parquet"
    path.write_bytes(await read_content(store.files, parquet_key(over)) or b"")
    found = duckdb.connect().execute(f"SELECT * FROM '{path}'")
    assert [name for name, *_ in found.description or ()] == columns
    assert found.fetchall() == [tuple(Decimal(7 + n) for n in range(len(columns)))]
