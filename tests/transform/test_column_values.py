"""The entries of a column that are read at once have the values that each has by itself."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penstock.formula.core.errors import Fault
from penstock.formula.core.limits import MAX_STRING
from penstock.formula.core.values import FormulaParameter, FormulaType
from penstock.transform.column_values import PLAIN_LENGTH, UNREAD, InputColumn, read_columns
from penstock.transform.csv_transform import CsvTransform
from penstock.transform.plan import Column, FormulaStep, TransformPlan
from penstock.transform.program import Program, entry_reader
from tests.transform.test_row_routine import transform_pieces

PLAIN = ("1", "2.50", "0", "-0", "-2.5", "5.", ".5", "true", "false", "x")
ODD = (
    "",
    "-",
    ".",
    "1.2.3",
    "1-2",
    "+1",
    "1e3",
    "1_0",
    " 7 ",
    "NaN",
    "far",
    "TRUE",
    "\u0661",
    "\u00b2",
    "9" * 1200,
    "0" * 2100,
    "1" + "0" * PLAIN_LENGTH,
    "y" * (MAX_STRING + 1),
)
COLUMNS = st.lists(
    st.sampled_from(PLAIN)
    | st.decimals(allow_nan=False, allow_infinity=False, places=3).map(str)
    | st.sampled_from(ODD),
    min_size=1,
    max_size=70,
)


@pytest.mark.parametrize("type", FormulaType)
@example(entries=["1", "0" * 2100], required=False)
@example(entries=["1", "9" * 1200], required=True)
@given(entries=COLUMNS | st.lists(st.sampled_from(PLAIN[:7]), min_size=1), required=st.booleans())
def test_entries_read_together_are_those_read_one_by_one(
    type: FormulaType, entries: list[str], required: bool
) -> None:
    column = InputColumn(type, entry_reader(FormulaParameter("a", type, required)), 1)
    absent = column._replace(place=None)
    longest = max(len(entry.encode()) for entry in entries)
    places = {1: entries}
    found = read_columns([column, absent], places.__getitem__, len(entries), longest)
    expected = [read_alone(column, entry) for entry in entries]
    assert list(map(type_and_digits, found.columns[0])) == list(map(type_and_digits, expected))
    assert found.columns[1] == [read_alone(column, None)] * len(entries)
    odd = [place for place, value in enumerate(expected) if value is UNREAD]
    assert list(found.unread) == (list(range(len(entries))) if required else odd)


def read_alone(column: InputColumn, entry: str | None) -> object:
    try:
        return column.read(entry)
    except Fault:
        return UNREAD


def type_and_digits(value: object) -> object:
    """The value with its type and all its digits: numbers of different digits are equal."""
    return type(value), str(value)


LINES = st.lists(
    st.sampled_from(["1,x,true", "2,y,false", "far,x,true", "3,,false", ",z,true", "4,w,perhaps"]),
    min_size=1,
    max_size=40,
)


@given(LINES, st.none() | st.integers(0, 5), st.booleans())
def test_a_block_of_plain_lines_gives_what_its_lines_give(
    lines: list[str], most: int | None, returns: bool
) -> None:
    columns = (
        Column("a", FormulaType.NUMBER, required=True),
        Column("b", FormulaType.STRING),
        Column("c", FormulaType.BOOLEAN),
    )
    steps = (
        FormulaStep("6 / (:a - 2)", "share", FormulaType.NUMBER, "share"),
        FormulaStep("IF(:c, REF('share'), LEN(:b))", "either", FormulaType.NUMBER),
    )
    program = Program(TransformPlan(columns, steps))
    end = "\r\n" if returns else "\n"
    pieces = [f"{line}{end}".encode() for line in ["a,b,c", *lines]]
    whole = transform_pieces(CsvTransform(program, most), [b"".join(pieces)])
    alone = transform_pieces(CsvTransform(program, most), pieces)
    assert whole[0] == alone[0]
    assert whole[1].succeeded == alone[1].succeeded
