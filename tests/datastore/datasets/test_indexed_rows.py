"""Lookups in the index of a large dataset give what lookups in memory give, and so do problems."""

import csv
import sqlite3
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.datastore.datasets import build_index
from penstock.datastore.datasets import csv as dataset_csv
from penstock.datastore.datasets.build_index import BuildStopped, IndexBuild
from penstock.datastore.datasets.csv import UnreadableCsv, read_table
from penstock.datastore.datasets.indexed_rows import IndexedRows
from penstock.datastore.datasets.limits import CsvLimits
from penstock.datastore.errors import FieldProblem, Unavailable
from penstock.datastore.records import DatasetColumn, DatasetContent, ValueType
from penstock.formula.core.datasets import KeyedRows, RowKey
from penstock.formula.core.errors import Fault, FormulaCode

LIMITS = CsvLimits(10_000_000, 1_000_000, 10_000_000)
COLUMNS = {
    "a": ValueType.STRING,
    "b": ValueType.NUMBER,
    "c": ValueType.BOOLEAN,
    "d": ValueType.TIMESTAMP,
}
NAMES = [*COLUMNS, "none"]
FIELDS = {
    "a": st.sampled_from(["", "x", "X", "é", "1", "1.0", "a,b", 'q"', "true", "x\ny", "\x00"]),
    "b": st.sampled_from(["", "1", "1.0", "01", "-0", "0", "1e2", "100", "0.10", "12345678901.5"]),
    "c": st.sampled_from(["", "true", "TRUE", "false"]),
    "d": st.sampled_from(["", "2025", "2025-01-01T00:00:00Z"]),
}
TEXTS = ["", "x", "X", "é", "1", "1.0", "0", "100", "0.1", "0.10", "true", "false", "2025", "x\ny"]


def content_of(keys: Sequence[str], columns: dict[str, ValueType] = COLUMNS) -> DatasetContent:
    return DatasetContent(
        columns=tuple(DatasetColumn(name=name, type=type) for name, type in columns.items()),
        key_column=keys[0],
        key_columns=tuple(keys) if len(keys) > 1 else (),
        file="f",
        checksum="",
        size_bytes=0,
        row_count=0,
    )


def build(
    data: bytes, content: DatasetContent, folder: Path, limits: CsvLimits = LIMITS
) -> IndexedRows:
    (folder / "f.csv").write_bytes(data)
    (folder / "f.rows").unlink(missing_ok=True)
    IndexBuild(folder / "f.csv", folder / "f.rows", content, limits).run()
    return IndexedRows(folder / "f.rows", content)


def problems_of_index(
    data: bytes, content: DatasetContent, folder: Path, limits: CsvLimits = LIMITS
) -> Sequence[FieldProblem]:
    with pytest.raises(UnreadableCsv) as refused:
        build(data, content, folder, limits)
    return refused.value.problems


def answer(rows: KeyedRows, key: RowKey, columns: tuple[str, ...] | None) -> object:
    """The answer of a lookup, or its fault."""
    try:
        found = rows.find(key, columns)
    except Fault as fault:
        return fault.code, fault.message
    return type(found), found


def factor(rows: KeyedRows, key: str, column: str) -> object:
    try:
        return rows.factor(key, column)
    except Fault as fault:
        return fault.code, fault.message


def csv_text(header: Sequence[str], rows: Sequence[Sequence[str]]) -> bytes:
    text = StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue().encode()


questions = st.one_of(
    st.tuples(st.sampled_from(TEXTS), st.none()),
    st.tuples(st.sampled_from(TEXTS), st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES))),
    st.tuples(
        st.tuples(st.sampled_from(TEXTS), st.sampled_from(TEXTS)),
        st.tuples(*[st.sampled_from(NAMES)] * 3),
    ),
)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_an_index_answers_as_the_memory_does(data: st.DataObject) -> None:
    keys = data.draw(st.lists(st.sampled_from(list(COLUMNS)), min_size=1, max_size=2, unique=True))
    content = content_of(keys)
    rows = data.draw(st.lists(st.tuples(*FIELDS.values()), max_size=12))
    written = csv_text(list(COLUMNS), rows)
    with TemporaryDirectory() as folder:
        try:
            memory = read_table(written, content).rows
        except UnreadableCsv as refused:
            found = problems_of_index(written, content, Path(folder))
            duplicates = [one for one in refused.problems if one.code == "DUPLICATE_KEY"]
            others = [one for one in refused.problems if one.code != "DUPLICATE_KEY"]
            assert list(found) == (others or duplicates)
            return
        indexed = build(written, content, Path(folder))
        for key, columns in data.draw(st.lists(questions, min_size=20, max_size=20)):
            assert answer(indexed, key, columns) == answer(memory, key, columns)
        for column in NAMES:
            assert factor(indexed, "1", column) == factor(memory, "1", column)
        indexed.close()


BROKEN = {
    "no header": b"",
    "another header": b"k,w\n1,2\n",
    "a wrong width": b"k,v\n1,2,3\n2\n",
    "no key": b"k,v\n,2\n",
    "a key twice": b"k,v\na,1\nb,2\na,3\n\nb,4\na,5\n",
    "no number": b"k,v\na,x\nb,1\n",
    "open quotes": b'k,v\na,1\n"b,2\n',
    "a return amid a field": b'k,v\n"a\rb"c,2\n',
    "a byte": b"k,v\na,1\nb\xff,2\n",
    "a byte behind a mark": b"\xef\xbb\xbfk,v\xff\n",
    "half a character at the end": b"k,v\na,1\nb,\xe2\x82",
    "a byte behind two thirds of a character": b"k,v\na,1\n\xe2\x82z,2\n",
    "a byte in another block": b"k,v\n" + b"".join(b"%d,1\n" % n for n in range(40)) + b"\xe2\x82z",
    "a long field": b"k,v\na," + b"1" * 140_000,
    "sixty problems": b"k,v\n" + b"".join(b"%d,x\n" % n for n in range(60)),
    "sixty keys twice": b"k,v\n" + b"".join(b"%d,1\n" % (n // 2) for n in range(120)),
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN)
def test_a_broken_file_has_the_problems_that_a_small_one_has(
    data: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build_index, "BLOCK_BYTES", 7)
    content = content_of(["k"], {"k": ValueType.STRING, "v": ValueType.NUMBER})
    with pytest.raises(UnreadableCsv) as refused:
        read_table(data, content)
    assert problems_of_index(data, content, tmp_path) == refused.value.problems


def codes(problems: Sequence[FieldProblem]) -> list[tuple[Any, Any]]:
    return [(one.code, one.line) for one in problems]


def test_the_limits_of_size_rows_and_fields_hold(tmp_path: Path) -> None:
    content = content_of(["k"], {"k": ValueType.STRING, "v": ValueType.NUMBER})
    data = b"k,v\na,1\nb,2\nc,3\n"
    for limits, found in (
        (LIMITS._replace(size=len(data) - 1), ("TOO_LARGE", None)),
        (LIMITS._replace(rows=2), ("TOO_MANY_ROWS", 4)),
        (LIMITS._replace(fields=5), ("TOO_MANY_ROWS", 4)),
    ):
        assert codes(problems_of_index(data, content, tmp_path, limits)) == [found]
    build(data, content, tmp_path, CsvLimits(len(data) * 10_000, 3, 6)).close()


def test_numbers_whose_texts_fill_the_disk_are_refused(tmp_path: Path) -> None:
    content = content_of(["k"], {"k": ValueType.STRING, "v": ValueType.NUMBER})
    data = b"k,v\n" + b"".join(b"%d,1e9999\n" % n for n in range(400))
    found = problems_of_index(data, content, tmp_path, LIMITS._replace(size=len(data)))
    assert codes(found) == [("TOO_LARGE", None)]
    assert f"the index of its rows has more than {10 * len(data)} bytes" in found[0].message


def test_a_full_disk_is_no_problem_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = content_of(["k"], {"k": ValueType.STRING, "v": ValueType.NUMBER})
    data = b"k,v\n" + b"".join(b"%d,1e9999\n" % n for n in range(400))
    monkeypatch.setattr(build_index, "LEAST_FREE", float("inf"))
    with pytest.raises(Unavailable, match="cannot be written"):
        build(data, content, tmp_path, LIMITS._replace(size=len(data)))


def test_a_row_that_never_ends_does_not_fill_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (dataset_csv, build_index):
        monkeypatch.setattr(module, "MAX_RECORD", 1_000)
    content = content_of(["k"], {"k": ValueType.STRING, "v": ValueType.NUMBER})
    for data in (b"k,v\n" + b"a,b," * 1_000, b"k,v\n" + b'"\n",' * 1_000):
        (found,) = problems_of_index(data, content, tmp_path)
        assert (found.code, "a row has more than 1000 characters" in found.message) == (
            "MALFORMED_CSV",
            True,
        )


def test_a_build_that_is_stopped_ends_before_the_next_rows(tmp_path: Path) -> None:
    content = content_of(["k"], {"k": ValueType.STRING, "v": ValueType.NUMBER})
    (tmp_path / "f.csv").write_bytes(b"k,v\na,1\n")
    build = IndexBuild(tmp_path / "f.csv", tmp_path / "f.rows", content, LIMITS)
    build.stop()
    with pytest.raises(BuildStopped):
        build.run()


def test_threads_share_an_index_that_nobody_can_write(tmp_path: Path) -> None:
    content = content_of(["k"], {"k": ValueType.STRING, "v": ValueType.NUMBER})
    rows = build(b"k,v\n" + b"".join(b"%d,%d\n" % (n, n) for n in range(500)), content, tmp_path)
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda n: rows.find(str(n % 500), None), range(4_000)))
    assert found == [n % 500 for n in range(4_000)]
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        rows._connection.execute("DELETE FROM rows")


def test_answers_that_are_remembered_stay_within_their_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.datastore.datasets.indexed_rows.REMEMBERED_CHARACTERS", 1_000)
    rows = build(
        b"k,v\n1,1\n", content_of(["k"], {"k": ValueType.STRING, "v": ValueType.NUMBER}), tmp_path
    )
    for n in range(50):
        assert rows.find(str(n), None) == (1 if n == 1 else None)
    assert len(rows._remembered) <= 5


def test_every_column_is_found_without_reading_all_rows(tmp_path: Path) -> None:
    content = content_of(["a", "b"])
    rows = build(csv_text(list(COLUMNS), [("x", "1", "true", "2025")]), content, tmp_path)
    named: list[RowKey] = [*COLUMNS, ("a", "b")]
    for one in named:
        sql = rows._make_statement(one, "c").sql
        texts = ["x"] * sql.count("?")
        (plan,) = rows._connection.execute(f"EXPLAIN QUERY PLAN {sql}", texts).fetchall()
        index = "keys" if isinstance(one, tuple) else f"of_c{NAMES.index(one)}"
        assert (plan[3].split()[0], index in plan[3]) == ("SEARCH", True), plan


def test_a_row_whose_emission_factor_is_empty_is_not_taken_for_a_row_that_is_missing(
    tmp_path: Path,
) -> None:
    content = content_of(["a"], {"a": ValueType.STRING, "b": ValueType.NUMBER})
    data = b"a,b\nE-Bike,\ntram,1\n"
    indexed = build(data, content, tmp_path)
    problem = (FormulaCode.IMPACT_NOT_FOUND, "the emission factor for 'E-Bike', 'b' is empty")
    for rows in (indexed, read_table(data, content).rows):
        assert factor(rows, "E-Bike", "b") == problem
        assert factor(rows, "EBike", "b") is None
        assert factor(rows, "tram", "b") == 1
    indexed.close()
