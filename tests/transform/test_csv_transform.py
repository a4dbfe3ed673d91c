"""Transforms of CSV files, with their output and errors."""

import csv
import io

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.formula.core.datasets import LATEST, DatasetRows
from penstock.transform import csv_text, outcome
from penstock.transform.csv_records import MAX_RECORD
from penstock.transform.csv_transform import CsvTransform
from penstock.transform.outcome import FULL
from penstock.transform.plan import Column, FormulaStep, PinnedDataset, TransformPlan
from penstock.transform.problems import InputRefused, TransformCode
from penstock.transform.program import Program
from tests.transform.sample_files import (
    BOOLEAN,
    ERRORS,
    HEADER,
    NUMBER,
    OUTPUT,
    STRING,
    TRIPS,
    cut,
    errors,
    rows,
    run,
    run_chunks,
)

TEXTS = TransformPlan(columns=(Column("a", STRING),), steps=(FormulaStep(":a", "a", STRING),))


def test_each_row_gives_its_outputs_and_later_transforms_read_earlier_ones() -> None:
    output, wrong, ending = run(rows("12.5,gas", "3,wood"))
    assert output == OUTPUT + "25,6.25\r\n6,0\r\n"
    assert wrong == f"{ERRORS},distance,Fuel type\r\n"
    assert (ending.counts.rows, ending.counts.succeeded, ending.counts.failed) == (2, 2, 0)
    assert ending.succeeded


@pytest.mark.parametrize(
    "cells",
    [
        [],
        [["1", "a"], ["", ""]],
        [["1", "a,b"], ["2", "c"]],
        [["1", 'say "so"']],
        [["a\nb", "1"], ["2", "c"]],
        [["a\rb", "1"]],
        [["a\r\nb", "\r\n"]],
        [[" ", "\u00e9\u2028\x00"]],
        [["alone"], [""]],
        [["", "", ","]],
    ],
)
def test_cells_are_written_as_the_csv_module_writes_them(cells: list[list[str]]) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows(cells)
    assert csv_text.cell_lines(cells) == text.getvalue().encode()


LETTERS = st.text(st.sampled_from('ab",\r\n \u00e9\u2028'), max_size=8)


@pytest.mark.parametrize("least", [0, 131_073])
@given(st.lists(st.lists(LETTERS, min_size=1, max_size=4), max_size=6))
def test_lines_are_read_as_they_were_written_however_long_a_cell_is(
    least: int, lines: list[list[str]]
) -> None:
    lines = [*lines, ["x" * least, 'y"' * least]] if least else lines
    text = csv_text.csv_lines(lines).decode()
    assert list(csv_text.read_csv_lines(text)) == lines


@pytest.mark.parametrize("end", ['"', 'a"', '"a"b\r\n', "a\nb\r\n", "a,", '"a""\r\n'])
def test_a_long_text_that_is_none_of_ours_is_refused(end: str) -> None:
    with pytest.raises(ValueError, match="no "):
        list(csv_text.read_csv_lines("x" * 131_073 + "\r\n" + end))


def test_bytes_are_counted() -> None:
    data = rows("1,gas")
    output, wrong, ending = run(data)
    assert ending.counts.bytes_read == len(data)
    assert ending.counts.bytes_written == len(output) + len(wrong)


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbfdistance,Fuel type\r\n12.5,gas\r\n",
        b"distance,fuel\n12.5,gas",
        b"Fuel type,distance\ngas,12.5\n",
        b'"fuel","distance"\n"gas","12.5"\n',
        b" distance , fuel \n12.5,gas\n",
        b"distance,fuel\n\n12.5,gas\n\n\r\n",
    ],
    ids=["BOM and CRLF", "by key, no last newline", "other order", "quoted", "spaces", "blank"],
)
def test_a_file_may_be_written_in_these_ways(data: bytes) -> None:
    output, wrong, _ = run(data)
    assert (output, errors(wrong)) == (OUTPUT + "25,6.25\r\n", [])


def test_texts_with_commas_quotes_and_newlines_survive() -> None:
    output, wrong, _ = run(b'a\n"x,y"\n"say ""hi"""\n"two\nlines"\n"cr\r\nlf"\nplain\n', TEXTS)
    assert errors(wrong) == []
    read = list(csv.reader(io.StringIO(output, newline="")))
    assert read == [["a"], ["x,y"], ['say "hi"'], ["two\nlines"], ["cr\r\nlf"], ["plain"]]


@pytest.mark.parametrize(
    ("header", "code", "column", "words"),
    [
        ("fuel", TransformCode.MISSING_COLUMN, "distance", "lacks 'distance'; it has 'fuel'"),
        ("", TransformCode.UNKNOWN_COLUMN, "", "no parameter is called ''"),
        (
            "distance,fuel,weight",
            TransformCode.UNKNOWN_COLUMN,
            "weight",
            "no parameter is called 'weight'; there are 'distance', 'Fuel type'. "
            "A pipeline with `extraColumns: IGNORE` leaves out what it does not know",
        ),
        (
            '[{"distance": 1}]',
            TransformCode.UNKNOWN_COLUMN,
            '[{"distance": 1}]',
            "'Fuel type'. The file begins as JSON does; it is read as CSV",
        ),
        (
            "distance,fuel,Fuel type",
            TransformCode.DUPLICATE_COLUMN,
            "fuel",
            "'fuel' is there twice",
        ),
        ('distance,"fuel"x', TransformCode.INVALID_HEADER, "", "the header cannot be read"),
    ],
)
def test_a_wrong_header_refuses_the_file_and_says_why(
    header: str, code: TransformCode, column: str, words: str
) -> None:
    output, wrong, ending = run(f"{header}\n1,gas\n".encode())
    assert output == OUTPUT
    assert ending.refusal is not None
    assert ending.refusal[:3] == (0, column, code)
    assert words in ending.refusal.message
    assert errors(wrong)[0][:3] == ["0", column, code]
    assert ending.counts.rows == 0
    assert not ending.succeeded


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", TransformCode.EMPTY_INPUT),
        (b"distance,f\x81el\n", TransformCode.INVALID_ENCODING),
        ("dist\u00e4nce,".encode() + b"f\xfcel\n", TransformCode.INVALID_ENCODING),
        (b'distance,"' + bytes(MAX_RECORD), TransformCode.ROW_TOO_LARGE),
    ],
    ids=["empty", "undefined", "damaged", "endless"],
)
def test_a_file_without_a_readable_header_is_refused(data: bytes, code: TransformCode) -> None:
    output, wrong, ending = run(data)
    assert (output, ending.refusal and ending.refusal.code) == (OUTPUT, code)
    assert errors(wrong)[0][2] == code


def test_a_label_that_two_parameters_share_names_neither() -> None:
    columns = (Column("a", STRING, label="x"), Column("b", STRING, label="x"))
    plan = TransformPlan(columns=columns, steps=(FormulaStep("CONCAT(:a, :b)", "ab", STRING),))
    assert run(b"a,b\n1,2\n", plan)[0] == "ab\r\n12\r\n"
    refusal = run(b"x,b\n1,2\n", plan)[2].refusal
    assert refusal is not None
    assert (refusal.code, refusal.column) == (TransformCode.UNKNOWN_COLUMN, "x")


def test_a_label_wins_over_a_key_of_the_same_text() -> None:
    columns = (Column("a", STRING, label="b"), Column("b", STRING, label="a"))
    plan = TransformPlan(columns=columns, steps=(FormulaStep(":a", "a", STRING),))
    assert run(b"a,b\nfirst,second\n", plan)[0] == "a\r\nsecond\r\n"


def test_bad_rows_are_left_out_and_told_of_with_their_numbers() -> None:
    output, wrong, ending = run(
        rows("1,gas", "x,gas", ",gas", "5", "6,gas,7", "", "8,gas"), max_failed=4
    )
    assert output == OUTPUT + "2,0.5\r\n16,4\r\n"
    assert [line[:3] for line in errors(wrong)] == [
        ["2", "distance", "INVALID_INPUT"],
        ["3", "distance", "MISSING_VALUE"],
        ["4", "", "FIELD_COUNT"],
        ["5", "", "FIELD_COUNT"],
    ]
    assert '"the row has 3 fields, the header 2"' in wrong
    assert (ending.counts.rows, ending.counts.succeeded, ending.counts.failed) == (6, 2, 4)
    assert ending.succeeded


def test_all_unreadable_cells_of_a_row_are_told() -> None:
    plan = TransformPlan(
        columns=(Column("a", NUMBER), Column("b", BOOLEAN)),
        steps=(FormulaStep("IF(:b, :a, 0)", "c", NUMBER),),
    )
    _, wrong, ending = run(b"a,b\nx,maybe\n1,TRUE\n", plan)
    assert [line[:3] for line in errors(wrong)] == [
        ["1", "a", "INVALID_INPUT"],
        ["1", "b", "INVALID_INPUT"],
    ]
    assert ending.counts.failed == 1


def test_a_number_with_a_comma_is_refused_with_what_it_lacks() -> None:
    _, wrong, _ = run(rows('"2,5",gas'))
    message = ":distance: expected a number with a decimal point, found '2,5'"
    assert [line[3] for line in errors(wrong)] == [message]


def test_a_value_that_cannot_be_read_names_its_parameter_and_the_heading_of_its_column() -> None:
    plan = TransformPlan(
        columns=(Column("km", NUMBER, label="Strecke (km)"), Column("t", NUMBER, label="T")),
        steps=(FormulaStep(":km * :t", "b", NUMBER, "b"),),
    )
    _, wrong, _ = run(b"Strecke (km),T\nfar,heavy\n", plan)
    lines = wrong.splitlines()[1:]
    assert len(lines) == 2
    assert lines[0].startswith("1,km,")
    assert "(column 'Strecke (km)')" in lines[0]
    assert lines[1].startswith("1,t,")
    assert "(column" not in lines[1]


def test_a_formula_that_fails_names_its_output_and_place() -> None:
    plan = TransformPlan(
        columns=(Column("a", NUMBER),),
        steps=(FormulaStep("1 / :a", "b", NUMBER, "b"), FormulaStep("REF('b') + 1", "c", NUMBER)),
    )
    output, wrong, _ = run(b"a\n0\n2\n", plan)
    assert output == "b,c\r\n0.5,1.5\r\n"
    assert wrong == (
        f"{ERRORS},a\r\n"
        '1,b,DIVISION_BY_ZERO,"in the formula, line 1, column 3: division by zero",0\r\n'
    )


def test_a_damaged_row_of_utf8_is_one_bad_row() -> None:
    output, wrong, _ = run("0,gäs\n".encode().join([HEADER, b"1,g\xe4s\n2,gas\n"]))
    assert output == OUTPUT + "0,0\r\n4,1\r\n"
    assert errors(wrong) == [["2", "", "INVALID_ENCODING", "byte 4 of the row is not UTF-8"]]
    assert wrong.endswith('not UTF-8,"1,g\ufffds"\r\n')


def test_the_first_letter_beyond_ascii_tells_that_a_file_is_windows_1252() -> None:
    output, wrong, _ = run(b"a\nplain\nm\xfcll\n\x80 5\n\x81\n", TEXTS)
    assert output == "a\r\nplain\r\nmüll\r\n€ 5\r\n"
    assert errors(wrong) == [["4", "", "INVALID_ENCODING", "byte 1 of the row is not Windows-1252"]]


def test_a_header_in_windows_1252_names_its_columns() -> None:
    plan = TransformPlan((Column("m\u00fcll", STRING),), (FormulaStep("1", "n", NUMBER),))
    assert run(b"M\xdcLL\nx\n", plan)[0] == "n\r\n1\r\n"


OPTIONAL = TransformPlan(
    columns=(Column("kwh", NUMBER, required=True), Column("note", STRING)),
    steps=(FormulaStep("COALESCE(:note, 'none')", "note", STRING),),
)


def test_an_absent_optional_column_is_null() -> None:
    assert run(b"kwh\n1\n", OPTIONAL)[0] == "note\r\nnone\r\n"
    refusal = run(b"note\nx\n", OPTIONAL)[2].refusal
    assert refusal is not None
    assert (refusal.code, refusal.column) == (TransformCode.MISSING_COLUMN, "kwh")


def test_a_file_without_any_column_of_a_plan_is_refused() -> None:
    plan = msgspec.structs.replace(OPTIONAL, columns=(Column("note", STRING),), ignores_extra=True)
    refusal = run(b"remark\nx\n", plan)[2].refusal
    assert refusal is not None
    assert (refusal.code, refusal.column) == (TransformCode.MISSING_COLUMN, "note")


def test_columns_that_no_parameter_names_are_ignored_where_the_plan_says_so() -> None:
    plan = msgspec.structs.replace(OPTIONAL, ignores_extra=True)
    output, wrong, _ = run(b"plant;kwh;plant\nA;1;B\nC;x;D\nE;2\n", plan)
    assert output == "note\r\nnone\r\n"
    assert wrong.splitlines()[0] == f"{ERRORS},plant,kwh,plant"
    assert wrong.splitlines()[1].endswith(",C,x,D")
    assert [line[2] for line in errors(wrong)] == ["INVALID_INPUT", "FIELD_COUNT"]


def test_the_file_of_errors_is_an_input_again_where_extra_columns_are_ignored() -> None:
    plan = msgspec.structs.replace(OPTIONAL, ignores_extra=True)
    _, wrong, _ = run(b'kwh,note\nx,"a, ""b"""\n', plan)
    assert run(wrong.replace(",x,", ",3,").encode(), plan)[0] == 'note\r\n"a, ""b"""\r\n'


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ('1,"gas"x', "a closing quote is followed by no separator"),
        ('5" pipe,gas\n7" pipe,wood', "a line break stands in a field without quotes"),
        ('1,"never closed', "a quote is never closed"),
        ('a\rb,"c"', "a line break stands in a field without quotes"),
    ],
)
def test_quotes_out_of_place_spoil_their_row_only(record: str, words: str) -> None:
    _, wrong, ending = run(rows("1,gas", record))
    message = f"the row cannot be read: {words}"
    assert [line[:4] for line in errors(wrong)] == [["2", "", "MALFORMED_ROW", message]]
    assert (ending.counts.succeeded, ending.counts.failed) == (1, 1)


def test_a_quote_that_nobody_closes_ends_a_large_file_with_the_row_it_began_in() -> None:
    output, wrong, ending = run(rows("1,gas", '2,"gas', *["3,gas"] * (MAX_RECORD // 5)))
    assert output == OUTPUT + "2,0.5\r\n"
    assert ending.refusal is not None
    assert ending.refusal[:3] == (2, "", TransformCode.ROW_TOO_LARGE)
    assert errors(wrong)[0][:3] == ["2", "", "ROW_TOO_LARGE"]


def test_one_failed_row_too_many_refuses_the_rest() -> None:
    data = rows("x,a", "1,gas", "y,a", "2,gas", "z,a")
    output, wrong, ending = run(data, max_failed=1)
    assert output == OUTPUT + "2,0.5\r\n"
    assert ending.refusal is not None
    words = "more than 1 row failed; those below were not looked at"
    assert ending.refusal == (3, "", TransformCode.TOO_MANY_FAILED_ROWS, words)
    assert [line[0] for line in errors(wrong)] == ["1", "3", "3"]
    assert not ending.succeeded


def test_a_file_of_bad_rows_only_has_not_succeeded() -> None:
    _, _, ending = run(rows("x,a", "y,b"))
    assert ending.refusal is None
    assert ending.counts.failed == 2
    assert not ending.succeeded


def test_a_header_alone_succeeds_with_a_header_alone() -> None:
    output, wrong, ending = run(HEADER)
    assert (output, errors(wrong)) == (OUTPUT, [])
    assert ending.succeeded


def test_values_are_written_plainly() -> None:
    steps = (
        FormulaStep("1 / 4 * 1e3", "number", NUMBER),
        FormulaStep("null", "null", NUMBER),
        FormulaStep("1 > 0", "boolean", BOOLEAN),
        FormulaStep("SPLIT('a,\"b', ',')", "list", STRING),
    )
    output, wrong, _ = run(b"a\nx\n", TransformPlan(columns=(Column("a", STRING),), steps=steps))
    assert errors(wrong) == []
    assert list(csv.reader(io.StringIO(output)))[1] == ["250", "", "true", '["a","\\"b"]']


def test_datasets_are_asked() -> None:
    plan = TransformPlan(
        columns=(Column("fuel", STRING),),
        steps=(FormulaStep("LOOKUP('fuels', :fuel)", "factor", STRING),),
        datasets=(PinnedDataset(None, "fuels", LATEST, "id:1"),),
    )
    fuels = {"id:1": DatasetRows(("fuel", "factor"), [("gas", "2.3")])}
    assert run(b"fuel\ngas\nair\n", plan, datasets=fuels)[0] == 'factor\r\n2.3\r\n""\r\n'


def test_a_plan_whose_formula_cannot_be_used_is_refused_before_any_row() -> None:
    with pytest.raises(InputRefused) as refused:
        Program(TransformPlan(columns=(), steps=(FormulaStep("#gone(1)", "x", NUMBER),)))
    assert refused.value.problem[1:3] == ("x", TransformCode.INVALID_FORMULA)


def test_nothing_is_taken_after_a_refusal() -> None:
    transform = CsvTransform(Program(TRIPS))
    transform.feed(b"nonsense\n")
    assert transform.feed(b"1,gas\n") == (b"", b"")
    assert transform.finish() == (b"", b"")
    assert transform.ending.counts.rows == 0


CONSTANT = TransformPlan(columns=(), steps=(FormulaStep("1 + 1", "two", NUMBER),))


@pytest.mark.parametrize(
    "data", [b"a\n1\n2\n", b"a,b\n1,2\n3,4\n", b"a\r\n\xc3\xa4\r\n\r\nx,y\r\n", b'"a"\n"1"\n"2"']
)
def test_a_plan_without_columns_reads_the_number_of_rows_alone(data: bytes) -> None:
    transform = CsvTransform(Program(CONSTANT))
    made = transform.feed(data).concat(transform.finish())
    assert made.output == b"two\r\n2\r\n2\r\n"
    assert errors(made.errors.decode()) == []
    assert transform.ending.counts.succeeded == 2


def test_a_file_for_a_plan_without_columns_must_still_be_a_file() -> None:
    for data, code in ((b"", TransformCode.EMPTY_INPUT), (b"\x81a", "INVALID_ENCODING")):
        transform = CsvTransform(Program(CONSTANT))
        transform.feed(data)
        transform.finish()
        assert transform.ending.refusal is not None
        assert transform.ending.refusal.code == code


WIDE = TransformPlan(
    columns=(Column("x", NUMBER, required=True),),
    steps=tuple(FormulaStep(":x", f"y{n}", NUMBER) for n in range(40)),
)
WIDE_ROW = 40 * 9_003 + 1


def test_rows_with_large_results_are_processed_as_their_results_are_taken() -> None:
    transform = CsvTransform(Program(WIDE))
    sizes = [len(transform.feed(b"x\n" + b"1e-9000\n" * 100).output)]
    while transform.has_more:
        sizes.append(len(transform.take_more().output))
    heading = len(",".join(f"y{n}" for n in range(40))) + 2
    assert sum(sizes) == heading + 100 * WIDE_ROW
    assert max(sizes) < FULL + heading + WIDE_ROW
    assert transform.finish() == (b"", b"")
    assert transform.ending.counts.rows == 100


def test_results_taken_in_pieces_are_those_taken_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    data = rows("1,gas", "x,gas", *["2,gas"] * 50, "3", "4,oil")
    whole = run(data)
    for full, piece in ((1, 1), (40, 7), (10_000, 5)):
        monkeypatch.setattr(outcome, "FULL", full)
        monkeypatch.setattr(outcome, "PIECE", piece)
        assert run(data) == whole
        assert run_chunks(CsvTransform(Program(TRIPS)), cut(data, 3)) == whole


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_a_file_is_read_by_the_separator_of_its_header(separator: str) -> None:
    lines = (("Fuel TYPE", "DISTANCE"), ('"a,b;c|d\te"', "12.5"))
    data = "".join(f"{separator.join(fields)}\r\n" for fields in lines).encode()
    program = Program(
        TransformPlan(
            (Column("distance", NUMBER), Column("fuel", STRING, label="Fuel type")),
            (FormulaStep(":distance * 2", "twice", NUMBER), FormulaStep(":fuel", "fuel", STRING)),
        )
    )
    output, rejected, _ = run_chunks(CsvTransform(program), [data])
    assert output == 'twice,fuel\r\n25,"a,b;c|d\te"\r\n'
    assert rejected.count("\n") == 1


def test_a_heading_that_two_columns_have_in_other_letter_case_names_none() -> None:
    columns = (Column("KWH", NUMBER), Column("kwh", NUMBER))
    program = Program(TransformPlan(columns, (FormulaStep("1", "one", NUMBER),)))
    _, _, ending = run_chunks(CsvTransform(program), [b"kwh,KWH\n1,2\n"])
    assert ending.refusal is None
    _, _, ending = run_chunks(CsvTransform(program), [b"kWh,KWH\n1,2\n"])
    assert ending.refusal is not None
    assert ending.refusal.code == TransformCode.UNKNOWN_COLUMN
