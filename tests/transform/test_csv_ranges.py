"""The output of a file is the same for every way of cutting it."""

from hypothesis import given
from hypothesis import strategies as st

from penstock.transform.csv_records import (
    PartSurvey,
    RecordSpan,
    RecordSplitter,
    record_spans,
    surveyed_encoding,
)
from penstock.transform.csv_transform import CsvTransform, PartContext
from penstock.transform.header import FileForm, read_header
from penstock.transform.outcome import OutputChunk
from penstock.transform.program import Program
from tests.transform.sample_files import HEADER, TRIPS, cut, rows, run_chunks

PROGRAM = Program(TRIPS)

# Rows good and bad, with quotes in place and out of place, of a few bytes each.
GOOD = (b"1,gas", b"22,wood", b'3,"a,b"', b'4,"two\nlines"', b'5,"""q"""')
PIECES = st.sampled_from(
    (*GOOD, b"x,gas", b"6,\xff", "7,ü".encode(), b"8,\x81", b'"', b",", b"\n", b"\r\n", b"\n\n")
)
FILES = st.lists(PIECES, max_size=30).map(b"".join)


def survey_parts(data: bytes, size: int, chunk: int) -> list[PartSurvey]:
    found = []
    for part in cut(data, size):
        survey = PartSurvey()
        for piece in cut(part, chunk):
            survey.feed(piece)
        found.append(survey)
    return found


@given(FILES, st.integers(1, 40))
def test_the_size_of_chunks_changes_nothing(body: bytes, size: int) -> None:
    data = HEADER + body
    whole = run_chunks(CsvTransform(PROGRAM), [data])
    assert run_chunks(CsvTransform(PROGRAM), cut(data, size)) == whole


@given(FILES, st.integers(1, 60), st.integers(1, 60))
def test_parts_give_together_what_the_whole_gives(body: bytes, size: int, chunk: int) -> None:
    data = HEADER + body
    surveys = survey_parts(data, size, chunk)
    form = read_header(HEADER.rstrip(), TRIPS.columns)
    form = form._replace(encoding=surveyed_encoding(surveys))
    output, errors, ending = run_chunks(CsvTransform(PROGRAM), [data])
    written, counts = OutputChunk(), None
    for span in record_spans(surveys):
        part = CsvTransform(PROGRAM, above=PartContext(form, span.row))
        written = written.concat(part.feed(data[span.start : span.end])).concat(part.finish())
        counts = part.ending.counts if counts is None else counts + part.ending.counts
    assert output.endswith(written.output.decode())
    assert errors.endswith(written.errors.decode())
    assert output.count("\r\n") == written.output.count(b"\r\n") + 1
    assert errors.count("\n") == written.errors.count(b"\n") + 1
    assert (counts.rows if counts else 0) == ending.counts.rows


@given(FILES, st.integers(1, 60))
def test_spans_lie_side_by_side_and_begin_where_records_do(body: bytes, size: int) -> None:
    data = HEADER + body
    found = record_spans(survey_parts(data, size, size))
    ends = [span.end for span in found]
    assert [span.start for span in found] == [len(HEADER), *ends[:-1]][: len(found)]
    assert ends[-1:] in ([], [len(data)])
    for span in found:
        before = RecordSplitter()
        assert len(before.feed(data[: span.start])) == span.row
        assert before.finish() == ()


def test_a_part_within_quotes_is_cut_where_the_quotes_end() -> None:
    data = rows('1,"a\nb\nc"', "2,gas")
    assert record_spans(survey_parts(data, 24, 5)) == [RecordSpan(19, 29, 1), RecordSpan(29, 35, 2)]


def test_rows_that_failed_above_count_towards_the_threshold() -> None:
    form = FileForm(",", (0, 1), ("distance", "fuel"))
    part = CsvTransform(PROGRAM, 2, PartContext(form, 7, failed=2))
    _, _, ending = run_chunks(part, [b"1,gas\nx,gas\n2,gas\n"])
    assert ending.refusal is not None
    assert (ending.refusal.row, ending.counts.rows) == (8, 2)
    assert "more than 2 rows failed" in ending.refusal.message


def test_a_file_without_rows_has_no_spans() -> None:
    assert record_spans(survey_parts(HEADER, 5, 5)) == []
    assert record_spans([]) == []
