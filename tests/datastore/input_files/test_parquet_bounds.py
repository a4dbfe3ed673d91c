"""A Parquet file is bounded by what it says before an engine reads it."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastore.executions.files import output_key, table_key
from penstock.datastore.input_files import parquet_footer, thrift
from penstock.datastore.input_files.parquet_pages import require_bounded
from penstock.datastore.input_files.thrift import DamagedStruct, StructReader
from penstock.datastore.records import Pipeline
from penstock.datastore.store import Store
from penstock.transform.problems import InputRefused
from tests.datastore.executions.sample_executions import finished_execution, read_content
from tests.datastore.input_files.parquet_bytes import (
    I32,
    I64,
    STRUCT,
    chunk,
    file_of,
    group_element,
    items,
    leaf_element,
    list_element,
    number,
    one_column,
    page,
    row_group,
    structure,
    text,
    varint,
    with_footer,
)
from tests.datastore.input_files.test_input_files import PARQUET, parquet_file, write
from tests.datastore.kept_rows.plants import read_kwh
from tests.support.consistency_check import faults
from tests.support.sample_resources import on_sqlite

DAMAGED = "it is no whole Parquet file"
NESTED = "SELECT range AS a, [{b: [range, 2], c: 'x' || range}] AS d, NULL AS e FROM range(3000)"


def refusal_of(data: bytes) -> str | None:
    """Return the reason why a file is refused; None for one that is not."""
    with TemporaryDirectory() as folder:
        path = write(Path(folder) / "a.parquet", data)
        try:
            require_bounded(path)
        except InputRefused as refused:
            return str(refused).removeprefix("the file cannot be read: ")
    return None


def make_columns(count: int) -> bytes:
    return file_of([group_element(b"s", count), *(leaf_element(b"%x" % n) for n in range(count))])


def nest_elements(count: int, element: Callable[[], bytes]) -> bytes:
    return file_of([group_element(b"s", 1), *(element() for _ in range(count)), leaf_element()])


def name_column(length: int) -> bytes:
    return file_of([group_element(b"s", 1), leaf_element(b"c" * length)])


def promise_elements(count: int) -> bytes:
    return with_footer(number(1, 1) + items(1, STRUCT, [], count) + b"\0" * 10)


def groups_of(counts: list[int]) -> bytes:
    groups = [row_group([chunk(4, 0)] * count, 0) for count in counts]
    return file_of([group_element(b"s", 1), leaf_element()], groups)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: promise_elements(5_000_000), DAMAGED),
        (lambda: make_columns(60_000), "its columns have more than 10000 elements"),
        (lambda: nest_elements(32, list_element), "more than 10 lists in one another"),
    ],
    ids=["elements that are not there", "60,000 columns", "32 lists"],
)
@on_sqlite
async def test_a_file_beyond_the_bounds_fails_before_the_engine_sees_it(
    store: Store, pipeline: Pipeline, make: Callable[[], bytes], words: str
) -> None:
    over = await finished_execution(store, pipeline, make())
    assert (over.state, over.code, over.rows) == ("failed", "UNREADABLE_FILE", 0)
    assert words in (over.message or "")
    assert await read_content(store.files, table_key(over)) is None
    assert await read_content(store.files, output_key(over)) is None
    assert await read_kwh(store, pipeline) == {}
    assert await faults(store.table) == []


@pytest.mark.parametrize(
    ("within", "beyond", "reason"),
    [
        (make_columns(3_000), make_columns(3_001), "it has more than 3000 columns"),
        (
            nest_elements(10, list_element),
            nest_elements(11, list_element),
            "more than 10 lists in one another",
        ),
        (
            name_column(2**20 - 1),
            name_column(2**20),
            "the names of its columns have more than 1048576 bytes",
        ),
        (
            nest_elements(30, lambda: group_element(b"a", 1)),
            nest_elements(31, lambda: group_element(b"a", 1)),
            "its columns have more than 32 levels",
        ),
        (
            one_column(page(2, 2_000_000, b"") + page(0, 1, b"x")),
            one_column(page(2, 2_000_001, b"") + page(0, 1, b"x")),
            "a dictionary of it has more than 2000000 values",
        ),
        (
            one_column(page(0, 1, b"x", unpacked=2**28)),
            one_column(page(0, 1, b"x", unpacked=2**28 + 1)),
            "a page of it has more than 268435456 bytes",
        ),
    ],
    ids=["columns", "lists", "names", "levels", "dictionary", "page"],
)
def test_what_a_file_says_has_bounds(within: bytes, beyond: bytes, reason: str) -> None:
    assert refusal_of(within) is None
    assert reason in str(refusal_of(beyond))


def test_a_file_has_so_promise_elements_pieces_and_bytes_of_a_footer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = groups_of([1, 1, 1])
    assert refusal_of(file) is None
    monkeypatch.setattr(parquet_footer, "MOST_CHUNKS", 5)
    assert refusal_of(file) == "its columns have more than 5 pieces"
    monkeypatch.setattr(parquet_footer, "MOST_ELEMENTS", 1)
    assert refusal_of(file) == "its columns have more than 1 elements"
    monkeypatch.setattr(parquet_footer, "MOST_FOOTER", 9)
    assert refusal_of(file) == "its footer has more than 9 bytes"


GOOD = one_column(page(2, 1, b"x") + page(0, 1, b"y") + page(0, 2, b"z"), values=3, rows=3)
LEAF = [group_element(b"s", 1), leaf_element()]
FACTS = number(5, 0, I64) + number(4, 4, I64)


@pytest.mark.parametrize(
    "data",
    [
        b"PAR1",
        b"PAR1PAR1",
        GOOD[:-1],
        GOOD[:-8] + b"\xff\xff\xff\xff" + b"PAR1",
        GOOD[:-4] + b"PARE",
        with_footer(b"\x19" * 1_000),
        with_footer(b"\x1c" * 1_000 + b"\0" * 1_000),
        with_footer(text(1, b"x" * 9)[:-5]),
        with_footer(b"\x15" + b"\x80" * 9 + b"\1\0"),
        with_footer(number(1, 1) + b"\x05\x02\x02\0"),
        with_footer(number(1, 1) + items(1, I32, [b"\0"] * 2) + b"\0"),
        with_footer(number(1, 1) + b"\x1b\x00\0"),
        file_of([]),
        file_of([group_element(b"s", 2), leaf_element()]),
        file_of([group_element(b"s", 1), leaf_element(), leaf_element()]),
        file_of([text(4, b"s") + number(1, 1, I64) + b"\0", leaf_element()]),
        file_of([group_element(b"s", -1)]),
        file_of(LEAF, [row_group([], 1)]),
        file_of(LEAF, [row_group([chunk(4, 0)] * 2, 0)]),
        file_of(LEAF, [row_group([number(2, 4, I64) + b"\0"], 0)]),
        file_of(LEAF, [row_group([items(3, STRUCT, [FACTS + b"\0"]) + b"\0"], 0)]),
        file_of(LEAF, [row_group([structure(3, FACTS) + b"\0"], -1)]),
        one_column(page(0, 1, b"x"), values=-1),
        one_column(page(0, 1, b"x"), values=2),
        one_column(page(0, 1, b"x"), rows=2),
        one_column(page(0, 1, b"x"), begin=10**12),
        one_column(page(1, 1, b"x")),
        one_column(page(0, -1, b"x")),
        one_column(page(0, 1, b"x", unpacked=-1)),
        one_column(page(0, 1, b"x")[:-3]),
        one_column(b""),
    ],
)
def test_a_damaged_file_is_refused(data: bytes) -> None:
    assert refusal_of(data) == DAMAGED


def test_pieces_do_not_share_their_pages() -> None:
    elements = [group_element(b"s", 2), leaf_element(b"a"), leaf_element(b"b")]
    one = page(0, 1, b"x")
    apart = [chunk(4, 1), chunk(4 + len(one), 1)]
    assert refusal_of(file_of(elements, [row_group(apart, 1)], one * 2)) is None
    assert refusal_of(file_of(elements, [row_group([chunk(4, 1)] * 2, 1)], one)) == DAMAGED


@pytest.mark.parametrize(
    "options",
    ["", ", PARQUET_VERSION v2", ", COMPRESSION zstd", ", ROW_GROUP_SIZE 2048", ", CODEC gzip"],
)
@pytest.mark.parametrize("sql", [NESTED, f"FROM ({NESTED}) LIMIT 0", PARQUET])
def test_what_an_engine_writes_is_within_the_bounds(sql: str, options: str, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    duckdb.connect().execute(f"COPY ({sql}) TO '{path}' (FORMAT parquet{options})")
    require_bounded(path)


class CountedBytes:
    """Bytes that count how often one is read."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.reads = 0

    def __getitem__(self, place: int) -> int:
        self.reads += 1
        return self.data[place]


WRITTEN = parquet_file(NESTED)
changes = st.lists(
    st.tuples(st.integers(0, len(WRITTEN)), st.integers(0, 9), st.binary(max_size=9)), max_size=5
)


@given(changes=changes, near_end=st.booleans())
def test_a_changed_file_is_refused_or_bounded(
    changes: list[tuple[int, int, bytes]], near_end: bool
) -> None:
    begin = len(WRITTEN) - 8 - int.from_bytes(WRITTEN[-8:-4], "little")
    footer = bytearray(WRITTEN[begin:-8])
    data = bytearray(WRITTEN)
    for place, length, new in changes:
        data[place : place + length] = new
        at = place % (len(footer) + 1)
        footer[at : at + length] = new
    made = with_footer(bytes(footer), WRITTEN[4:begin]) if near_end else bytes(data)
    reason = refusal_of(made)
    assert reason in (None, DAMAGED) or "more than" in reason


heads = st.lists(st.sampled_from(b"\0\x19\x1c\xfc\x15"), max_size=300)


@given(st.binary(max_size=300) | heads.map(bytes))
def test_a_struct_is_read_once_whatever_it_holds(data: bytes) -> None:
    counted, fields = CountedBytes(data), 0
    reader = StructReader(counted, 0, len(data))
    try:
        for _ in reader.read_fields():
            fields += 1
    except DamagedStruct:
        pass
    assert counted.reads <= len(data)
    assert fields <= len(data)


def test_lists_have_so_many_items_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thrift, "MOST_ITEMS", 4)
    two = items(1, 3, [b"x"] * 2)
    assert len(list(StructReader(two * 2 + b"\0", 0, 99).read_fields())) == 6
    with pytest.raises(DamagedStruct):
        list(StructReader(two * 3 + b"\0", 0, 99).read_fields())


def test_each_type_of_a_field_is_read() -> None:
    data = b"\x11\x12\x13\x07\x14\x01\x17" + bytes(8) + b"\x19\x21\x01\x02" + text(1, b"ab")
    data += b"\x09\x80\x02\x16" + varint(4) + b"\0"
    fields = list(StructReader(data, 0, len(data)).read_fields())
    assert [(one.path, one.type) for one in fields] == [
        ((1,), 1),
        ((2,), 2),
        ((3,), 3),
        ((4,), 4),
        ((5,), 7),
        ((6,), 9),
        ((6, 0), 1),
        ((6, 0), 1),
        ((7,), 8),
        ((128,), 9),
        ((128, 0), 6),
    ]
