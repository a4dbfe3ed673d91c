"""Parts of a file hold its records, each once, in order and whole."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from penstock.transform.csv_parts import PartCutter, RecordPart, first_record_end, last_record_end
from penstock.transform.csv_records import MAX_RECORD, RecordSplitter

TEXTS = st.lists(st.sampled_from([b"a", b'"', b"\n", b'"b\nc"\n', b"\r\n", b",\n"]), max_size=60)


def cut(data: bytes, size: int, step: int) -> list[RecordPart]:
    """Return the parts of a file that is read in steps, the first record among them."""
    cutter = PartCutter(size, 0)
    fed = [cutter.feed(data[place : place + step]) for place in range(0, len(data), step)]
    return [part for part in (*fed, cutter.finish()) if part is not None]


def split(data: bytes) -> list[bytes]:
    splitter = RecordSplitter()
    return [*splitter.feed(data), *splitter.finish()]


@given(TEXTS.map(b"".join), st.integers(1, 30), st.integers(1, 40))
def test_parts_hold_every_record_once_and_whole(data: bytes, size: int, step: int) -> None:
    parts = cut(data, size, step)
    assert b"".join(part.data for part in parts) == data
    assert [record for part in parts for record in split(part.data)] == split(data)
    for part, after in pairwise([*parts, RecordPart(len(data), 0, b"")]):
        assert after.start == part.start + len(part.data)
    for part, after in pairwise(parts):
        assert after.row == part.row + len(split(part.data))


@given(st.integers(0, 50), st.binary(min_size=1, max_size=60), st.integers(1, 20))
def test_blocks_of_a_part_end_where_those_of_the_file_end(
    start: int, data: bytes, size: int
) -> None:
    whole = bytes(start) + data
    blocks = list(RecordPart(start, 1, data).blocks(size))
    assert b"".join(blocks) == data
    ends = [start + len(b"".join(blocks[: n + 1])) for n in range(len(blocks))]
    assert ends[:-1] == [place for place in range(size, len(whole), size) if place > start]


def test_a_record_that_is_too_large_ends_a_part() -> None:
    parts = cut(b"a\n" + b'"' + b"x" * MAX_RECORD * 2, 10, 1000)
    assert [part.data for part in parts[:1]] == [b"a\n"]
    assert MAX_RECORD < len(parts[1].data) <= MAX_RECORD + 1000


def test_the_first_and_the_last_end_of_records_are_outside_of_quotes() -> None:
    data = b'"a\nb"\nc\n"d\ne'
    assert (first_record_end(data), last_record_end(data)) == (6, 8)
    assert (first_record_end(b'"a\nb'), last_record_end(b'"a\nb')) == (0, 0)
