"""Transforms of rows given as JSON."""

from math import ceil

import pytest

from penstock.formula.core.limits import MAX_BATCH_STEPS
from penstock.formula.core.values import FormulaType
from penstock.transform.json_transform import SLICE_STEPS, JsonTransform
from penstock.transform.outcome import TransformEnding
from penstock.transform.plan import FormulaStep, TransformPlan
from penstock.transform.problems import TransformCode
from penstock.transform.program import Program
from tests.transform.sample_files import OUTPUT, TRIPS, cut, errors, run_chunks


def run_json(text: str, max_failed: int | None = None) -> tuple[str, str, TransformEnding]:
    return run_chunks(JsonTransform(Program(TRIPS), max_failed), cut(text.encode(), 7))


def test_rows_are_objects_named_by_label_or_key_with_exact_numbers() -> None:
    output, wrong, ending = run_json(
        '[{"distance": 12.5, "Fuel type": "gas"}, {"fuel": null, "distance": "0.10"},'
        ' {"distance": 12345678901234567890.1}]'
    )
    assert output == OUTPUT + "25,6.25\r\n0.2,0\r\n24691357802469135780.2,0\r\n"
    assert errors(wrong) == []
    assert ending.counts.succeeded == 3


def test_bad_rows_are_left_out() -> None:
    _, wrong, ending = run_json(
        '[{"distance": true}, {}, {"distance": 1, "x": 2}, {"distance": 1, "fuel": "a",'
        ' "Fuel type": "b"}, {"distance": 1, "fuel": 7}]'
    )
    assert [line[:3] for line in errors(wrong)] == [
        ["1", "distance", "INVALID_INPUT"],
        ["2", "distance", "MISSING_VALUE"],
        ["3", "x", "UNKNOWN_COLUMN"],
        ["4", "fuel", "DUPLICATE_COLUMN"],
        ["5", "fuel", "INVALID_INPUT"],
    ]
    assert ending.counts.failed == 5
    assert not ending.succeeded


def test_a_threshold_refuses_the_rest() -> None:
    _, _, ending = run_json("[{},{},{}]", max_failed=0)
    assert ending.refusal is not None
    assert (ending.refusal.code, ending.counts.rows) == (TransformCode.TOO_MANY_FAILED_ROWS, 1)


@pytest.mark.parametrize("text", ["", "{}", "[1]", '[{"fuel": "\\ud800"}]', '[{"a": }]', "[{}"])
def test_what_is_no_list_of_objects_is_refused(text: str) -> None:
    output, _, ending = run_json(text)
    assert ending.refusal is not None
    assert (output, ending.refusal.code) == (OUTPUT, TransformCode.INVALID_ROWS)


def test_some_rows_are_processed_at_a_time() -> None:
    plan = TransformPlan((), (FormulaStep("+".join(["1"] * 501), "sum", FormulaType.NUMBER),))
    program = Program(plan)
    transform = JsonTransform(program)
    assert transform.feed(b"[" + b",".join([b"{}"] * 100) + b"]").output == b""
    taken = [transform.finish()]
    while transform.has_more:
        assert taken[-1].output == b""
        taken.append(transform.take_more())
    assert len(taken) == ceil(100 / (SLICE_STEPS // program.cost))
    assert taken[-1].output == b"sum\r\n" + b"501\r\n" * 100
    assert transform.ending.counts.rows == 100


def test_no_rows_succeed() -> None:
    assert run_json("[]")[2].succeeded


def test_rows_that_ask_for_too_much_are_refused_before_any_is_run() -> None:
    plan = TransformPlan((), (FormulaStep("+".join(["1"] * 501), "sum", FormulaType.NUMBER),))
    program = Program(plan)
    assert program.cost >= 500
    most = MAX_BATCH_STEPS // program.cost
    for rows, code in ((most, None), (most + 1, TransformCode.TOO_MANY_STEPS)):
        text = f"[{','.join(['{}'] * rows)}]"
        _, _, ending = run_chunks(JsonTransform(program), [text.encode()])
        assert (ending.refusal and ending.refusal.code) == code
        assert ending.counts.rows == (0 if code else rows)
