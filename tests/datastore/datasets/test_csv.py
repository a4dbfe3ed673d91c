"""The CSV of a reference dataset: types, line ends, problems with their places, and limits."""

import csv
from decimal import Decimal
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from penstock.datastore.datasets.csv import (
    MAX_COLUMNS,
    MAX_PROBLEMS,
    CsvCode,
    UnreadableCsv,
    dataset_problems,
    read_table,
)
from penstock.datastore.datasets.limits import MAX_BYTES, MAX_CELLS, MAX_ROWS
from penstock.datastore.errors import FieldProblem
from penstock.datastore.records import DatasetColumn, DatasetContent, ValueType
from penstock.formula.core.errors import Fault
from penstock.formula.core.values import Scalar

STRING, NUMBER, BOOLEAN = ValueType.STRING, ValueType.NUMBER, ValueType.BOOLEAN
FUELS = {"fuel": STRING, "factor": NUMBER, "fossil": BOOLEAN, "since": ValueType.TIMESTAMP}


def content(key: str = "", **columns: ValueType) -> DatasetContent:
    declared = tuple(DatasetColumn(name=name, type=type) for name, type in columns.items())
    return DatasetContent(
        columns=declared,
        key_column=key or next(iter(columns), ""),
        file="",
        checksum="",
        size_bytes=0,
        row_count=0,
    )


def problems(text: str | bytes, key: str = "", **columns: ValueType) -> list[FieldProblem]:
    data = text if isinstance(text, bytes) else text.encode()
    with pytest.raises(UnreadableCsv) as refused:
        read_table(data, content(key, **(columns or {"k": STRING, "v": NUMBER})))
    return list(refused.value.problems)


def problem_places(
    text: str | bytes, key: str = "", **columns: ValueType
) -> list[tuple[object, ...]]:
    return [(p.code, p.line, p.column) for p in problems(text, key, **columns)]


def test_fields_are_what_their_columns_declare() -> None:
    text = (
        "fuel,factor,fossil,since\r\n"
        '"gas, natural",2.0200000000000000000000000000000001,TRUE,1959-01-01\r\n'
        "wood,,false,\r\n"
    )
    rows = read_table(text.encode(), content(**FUELS)).rows

    def cell(key: str, column: str) -> Scalar:
        return rows.find(key, ("fuel", column))

    exact = Decimal("2.0200000000000000000000000000000001")
    assert [cell("gas, natural", name) for name in FUELS] == [
        "gas, natural",
        exact,
        True,
        "1959-01-01",
    ]
    assert [cell("wood", name) for name in FUELS] == ["wood", None, False, None]
    assert cell("Wood", "factor") is None


def test_an_empty_text_is_a_text_and_texts_keep_what_surrounds_them() -> None:
    rows = read_table(b"k,v\na,\nb, 007 \n", content(k=STRING, v=STRING)).rows
    assert [rows.find(key, None) for key in "ab"] == ["", " 007 "]


def test_the_declared_key_may_be_any_column_and_lookups_use_it() -> None:
    text = b"note,k,v\nx,a,1\ny,b,2\n"
    table = read_table(text, content("k", note=STRING, k=STRING, v=NUMBER))
    assert (table.count, table.rows.find("b", None)) == (2, "y")
    assert table.rows.factor("b", "v") == 2


def test_several_columns_together_are_a_key() -> None:
    two = replace(content(region=STRING, year=NUMBER, v=NUMBER), key_columns=("region", "year"))
    rows = read_table(b"region,year,v\neu,2024,1\neu,2025.0,2\nus,2024,3\n", two).rows
    columns = ("region", "year", "v")
    assert [rows.find(("eu", year), columns) for year in ("2024", "2025", "2026")] == [1, 2, None]
    with pytest.raises(Fault, match="by 'region', 'year' together"):
        rows.factor("eu", "v")
    with pytest.raises(UnreadableCsv) as refused:
        read_table(b"region,year,v\neu,2024,1\n,,2\neu,2024.0,2\n", two)
    assert [(p.code, p.line, p.column, p.message) for p in refused.value.problems] == [
        ("MISSING_KEY", 3, 1, "line 3, column 1: the row has no key"),
        ("MISSING_KEY", 3, 2, "line 3, column 2: the row has no key"),
        ("DUPLICATE_KEY", 4, 1, "line 4, column 1: the key 'eu', '2024' is that of line 2"),
    ]


@pytest.mark.parametrize(
    ("more", "path"),
    [
        (("nope",), ["content", "keyColumns", "1"]),
        (("a",), ["content", "keyColumns", "1"]),
        (("b", "c", "d", "e", "f"), ["content", "keyColumns"]),
    ],
)
def test_key_columns_are_at_most_five_different_columns(
    more: tuple[str, ...], path: list[str]
) -> None:
    named = replace(content("a", **dict.fromkeys("abcdef", STRING)), key_columns=("a", *more))
    assert [problem.path for problem in dataset_problems(named)] == [path]


def test_a_byte_order_mark_line_ends_of_any_kind_and_empty_lines_are_fine() -> None:
    for end in ("\n", "\r\n", "\r"):
        text = "\ufeff" + end.join(["k,v", "", '"a', 'b",1', "", ""])
        table = read_table(text.encode(), content(k=STRING, v=NUMBER))
        assert table.count == 1
        assert table.rows.find(f"a{end}b", None) == 1


def test_a_header_alone_is_a_dataset_without_rows() -> None:
    table = read_table(b"k,v", content(k=STRING, v=NUMBER))
    assert (table.count, table.rows.find("a", None)) == (0, None)


def test_numbers_that_are_the_same_are_the_same_key() -> None:
    assert problem_places("k,v\n1.0,1\n2,1\n1,1\n", k=NUMBER, v=NUMBER) == [("DUPLICATE_KEY", 4, 1)]
    rows = read_table(b"k,v\n1.50,2\n", content(k=NUMBER, v=NUMBER)).rows
    assert rows.find("1.5", None) == 2


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", [("WRONG_HEADER", 1, 1)]),
        ("k\n", [("WRONG_HEADER", 1, 2)]),
        ("k,v,w\n", [("WRONG_HEADER", 1, 3)]),
        ("k,V\n", [("WRONG_HEADER", 1, 2)]),
        ("v,k\n", [("WRONG_HEADER", 1, 1)]),
        ("k,v\na\nb,1,2\nc,1\n", [("WRONG_WIDTH", 2, 1), ("WRONG_WIDTH", 3, 1)]),
        ("k,v\n,1\na,x\n", [("MISSING_KEY", 2, 1), ("INVALID_VALUE", 3, 2)]),
        ('k,v\n"a\nb",1\na,1\na,2\n', [("DUPLICATE_KEY", 5, 1)]),
        ('k,v\na,1\n"b"c,1\n', [("MALFORMED_CSV", 3, 1)]),
        ('k,v\na,x\n"b,1\n', [("INVALID_VALUE", 2, 2), ("MALFORMED_CSV", 3, 1)]),
        (b"k,v\na\xff,1\n", [("NOT_UTF_8", 2, 2)]),
        (b"k,v\n" + b"a" * 40_000 + b",1\n", [("INVALID_VALUE", 2, 1)]),
        (b"k,v\n" + b"a" * 140_000 + b",1\n", [("MALFORMED_CSV", 2, 1)]),
        ("k,v\na,1e99999\n", [("INVALID_VALUE", 2, 2)]),
    ],
)
def test_what_is_wrong_is_told_with_its_line_and_column(
    text: str | bytes, found: list[tuple[object, ...]]
) -> None:
    assert problem_places(text) == found


def test_the_words_name_the_column_the_key_and_the_other_line() -> None:
    assert [p.message for p in problems("k,v\na,1\na,x\n")] == [
        "line 3, column 2: the column v: expected a number, found 'x'",
        "line 3, column 1: the key 'a' is that of line 2",
    ]
    assert problems("x,v\n")[0].message == "line 1, column 1: the header must be k, v"


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (b'"b"c,1', "a closing quote is followed by no separator"),
        (b'"b,1', "a quote is never closed"),
        (b"a" * 140_000 + b",1", "a field has more than 131072 characters"),
    ],
)
def test_what_is_no_csv_is_told_in_words_of_our_own(row: bytes, words: str) -> None:
    (problem,) = problems(b"k,v\n" + row + b"\n")[-1:]
    assert problem.message.endswith(f": cannot be read: {words}")


def test_no_more_than_fifty_problems_are_told() -> None:
    assert (
        problem_places("k,v\n" + "a,x\n" * 99)
        == [
            *[("INVALID_VALUE", 2, 2)],
            *[
                pair
                for n in range(3, 28)
                for pair in (("INVALID_VALUE", n, 2), ("DUPLICATE_KEY", n, 1))
            ],
        ][:MAX_PROBLEMS]
    )


def test_size_rows_and_fields_are_bounded() -> None:
    assert problem_places(b"k,v\n" + b" " * MAX_BYTES) == [("TOO_LARGE", None, None)]
    long = "k\n" + "".join(f"{n}\n" for n in range(MAX_ROWS + 1))
    assert problem_places(long, k=STRING) == [("TOO_MANY_ROWS", MAX_ROWS + 2, 1)]
    wide = {f"c{n}": STRING for n in range(MAX_COLUMNS)}
    most = MAX_CELLS // MAX_COLUMNS
    rows = [",".join(wide), *(f"{n}{',' * (MAX_COLUMNS - 1)}" for n in range(most + 1))]
    assert read_table("\n".join(rows[:-1]).encode(), content(**wide)).count == most
    assert problem_places("\n".join(rows), **wide) == [("TOO_MANY_ROWS", most + 2, 1)]


CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\ufeff"), max_size=8)


@given(st.dictionaries(CELLS.filter(bool), st.none() | st.decimals(allow_nan=False), max_size=8))
def test_what_was_written_as_csv_is_read_as_it_was(kept: dict[str, Decimal | None]) -> None:
    numbers = {
        key: value
        for key, value in kept.items()
        if value is None or (value.is_finite() and abs(value.adjusted()) < 900)
    }
    text = StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL)
    writer.writerow(("k", "v"))
    writer.writerows((key, "" if value is None else str(value)) for key, value in numbers.items())
    rows = read_table(text.getvalue().encode(), content(k=STRING, v=NUMBER)).rows
    assert {key: rows.find(key, None) for key in numbers} == numbers


@given(
    st.binary(max_size=60)
    | st.text(max_size=60).map(lambda text: f"k,v\n{text}".encode("utf-8", "replace"))
)
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    found: list[FieldProblem] = []
    try:
        count = read_table(data, content(k=STRING, v=NUMBER)).count
    except UnreadableCsv as refused:
        count, found = -1, [*refused.problems]
    assert count >= 0 or 1 <= len(found) <= MAX_PROBLEMS
    assert {problem.code for problem in found} <= {*CsvCode}


def test_the_rules_of_columns_are_told_all_at_once() -> None:
    odd = DatasetContent(
        columns=(
            DatasetColumn(name=" ", type=STRING),
            DatasetColumn(name="a", type=STRING, description="x" * 600),
            DatasetColumn(name="a", type=NUMBER),
            DatasetColumn(name="b\0", type=NUMBER),
        ),
        key_column="c",
        file="",
        checksum="",
        size_bytes=0,
        row_count=0,
    )
    assert [(p.path, p.message) for p in dataset_problems(odd)] == [
        (["content", "columns", "0", "name"], "must not be empty"),
        (["content", "columns", "1", "description"], "is longer than 512 characters"),
        (["content", "columns", "2", "name"], "is given twice"),
        (["content", "columns", "3", "name"], "holds the character U+0000"),
        (["content", "keyColumn"], "there is no column 'c'"),
    ]
    assert dataset_problems(content())[0].message == "must be 1 to 50, are 0"
