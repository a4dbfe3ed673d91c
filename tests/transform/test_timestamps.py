"""Timestamps of outputs are written as ISO 8601 where a plan says so, and as milliseconds else."""

from decimal import Decimal

import pytest

from penstock.formula.core.errors import Fault
from penstock.formula.core.values import FormulaType, Value
from penstock.transform.plan import Column, FormulaStep, TransformPlan
from penstock.transform.problems import TransformProblem
from penstock.transform.program import Program
from penstock.transform.row_identity import RowIdentity
from penstock.transform.timestamps import iso_cell, milliseconds_of, show_moment
from tests.transform.sample_files import run

MOMENTS = [
    ("-62135596800000", "0001-01-01T00:00:00.000Z"),
    ("-1", "1969-12-31T23:59:59.999Z"),
    ("0", "1970-01-01T00:00:00.000Z"),
    ("1709164800001", "2024-02-29T00:00:00.001Z"),
    ("253402300799999", "9999-12-31T23:59:59.999Z"),
]


@pytest.mark.parametrize(("milliseconds", "text"), MOMENTS)
def test_a_moment_is_written_and_read_back(milliseconds: str, text: str) -> None:
    assert iso_cell(Decimal(milliseconds)) == text
    assert show_moment(milliseconds) == text
    assert milliseconds_of(text) == int(milliseconds)


@pytest.mark.parametrize("value", [Decimal("0.5"), Decimal("253402300800000"), Decimal("1e30"), ""])
def test_what_is_no_moment_is_a_fault(value: Value) -> None:
    with pytest.raises(Fault, match="no whole number of milliseconds"):
        iso_cell(value)


@pytest.mark.parametrize("text", ["253402300800000", "", "0.5", "later"])
def test_a_stored_text_that_is_no_moment_stays(text: str) -> None:
    assert show_moment(text) == text


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("2024-05-17", 1715904000000),
        ("2024-05-17T02:00:00+02:00", 1715904000000),
        ("0001-01-01T00:00:00+02:00", None),
        ("20240517", None),
        ("1715904000000", None),
        ("2024-05-17T00:00:00.0005Z", None),
        ("2024-02-30", None),
        ("May", None),
    ],
)
def test_only_times_with_days_are_read(text: str, milliseconds: int | None) -> None:
    assert milliseconds_of(text) == milliseconds


def plan(*formulas: str, iso: bool = True, rows: RowIdentity | None = None) -> TransformPlan:
    columns = (Column("n", FormulaType.NUMBER),)
    steps = tuple(
        FormulaStep(formula, f"o{n}", FormulaType.TIMESTAMP, f"o{n}")
        for n, formula in enumerate(formulas)
    )
    return TransformPlan(columns, steps, rows=rows, iso_timestamps=iso)


@pytest.mark.parametrize(
    ("iso", "cells"), [(True, "1970-01-01T00:00:00.000Z,1970-01-01T00:00:00.001Z"), (False, "0,1")]
)
def test_a_later_formula_reads_the_milliseconds_of_an_output(iso: bool, cells: str) -> None:
    output, _, ending = run(b"n\n0\n", plan(":n", "REF('o0') + 1", iso=iso))
    assert (output, ending.counts.failed) == (f"o0,o1\r\n{cells}\r\n", 0)


def test_a_row_whose_timestamp_is_no_moment_is_rejected_and_the_others_stay() -> None:
    output, wrong, ending = run(b'n\n0\n0.5\n""\n86400000\n', plan(":n"))
    assert output.splitlines() == [
        "o0",
        "1970-01-01T00:00:00.000Z",
        '""',
        "1970-01-02T00:00:00.000Z",
    ]
    assert wrong.splitlines()[1].startswith("2,o0,INVALID_DATE,")
    assert (ending.counts.succeeded, ending.counts.failed) == (3, 1)


@pytest.mark.parametrize("iso", [True, False])
def test_kept_rows_have_times_of_the_same_years_in_both_forms(iso: bool) -> None:
    identity = RowIdentity(key=(0,), time=0, group=None, owner="/usa")
    made = Program(plan(":n", iso=iso, rows=identity))
    years = range(-62_104_060_800_000, 253_339_228_800_000)
    found = []
    for n in (years.start - 1, years.start, years.stop - 1, years.stop):
        problems: list[TransformProblem] = []
        made.evaluate_row(1, made.read_values(1, [str(n)], problems), problems)
        found.append([problem.code for problem in problems])
    assert found == [["ROW_WITHOUT_TIME"], [], [], ["ROW_WITHOUT_TIME"]]
