"""A file of rejected rows is an input again, and its reasons are counted."""

import pytest
from msgspec.structs import replace

from penstock.transform.outcome import RejectionCount, sum_rejections
from penstock.transform.plan import Column, FormulaStep, TransformPlan
from tests.transform.sample_files import ERRORS, NUMBER, OUTPUT, STRING, TRIPS, errors, rows, run

NAMESAKES = TransformPlan(
    columns=(Column("code", STRING), Column("message", STRING), Column("count", NUMBER)),
    steps=(FormulaStep(":count", "count", NUMBER), FormulaStep(":code", "of", STRING)),
)


def test_a_corrected_file_of_rejected_rows_is_an_input() -> None:
    _, wrong, _ = run(rows("1,gas", "x,gas", 'y,"a, ""b"""'))
    output, again, ending = run(wrong.replace(",x,", ",2,").replace(",y,", ",3,").encode())
    assert output == OUTPUT + "4,1\r\n6,0\r\n"
    assert again == f"{ERRORS},distance,Fuel type\r\n"
    assert ending.read_as == "UTF-8, separated by commas, without the columns of rejected rows"


def test_rows_that_are_rejected_again_have_the_four_columns_once() -> None:
    _, wrong, _ = run(rows("x,gas", "1", "2,gas,more"))
    _, again, _ = run(wrong.encode())
    assert again == wrong


def test_a_line_that_tells_of_a_further_problem_is_no_row() -> None:
    required = replace(TRIPS, columns=tuple(replace(one, type=NUMBER) for one in TRIPS.columns))
    _, wrong, ending = run(rows("x,y"), replace(required, steps=required.steps[:1]))
    assert [line[1] for line in errors(wrong)] == ["distance", "fuel"]
    assert (ending.counts.rows, ending.counts.failed) == (1, 1)
    output, _, ending = run(
        wrong.replace("x,y", "4,5").encode(), replace(required, steps=required.steps[:1])
    )
    assert output == "there and back\r\n8\r\n"
    assert (ending.counts.rows, ending.counts.failed) == (1, 0)


def test_the_line_that_tells_why_a_file_was_given_up_is_no_row() -> None:
    _, wrong, _ = run(rows("x,a", "y,a", "1,gas"), max_failed=1)
    assert errors(wrong)[-1][2] == "TOO_MANY_FAILED_ROWS"
    output, again, ending = run(wrong.replace(",x,", ",1,").replace(",y,", ",2,").encode())
    assert output == OUTPUT + "2,0\r\n4,0\r\n"
    assert (errors(again), ending.counts.rows) == ([], 2)


def test_rejected_rows_may_come_back_from_a_spreadsheet() -> None:
    data = b"row;column;code;message;distance;Fuel type\r\n7;distance;INVALID_INPUT;m;3;gas\r\n"
    output, again, _ = run(data)
    assert output == OUTPUT + "6,1.5\r\n"
    assert again == f"{ERRORS},distance,Fuel type\r\n"


def test_columns_of_parameters_stay_where_no_others_have_their_names() -> None:
    data = b"row,column,code,message,count\n1,a,C,m,5\n"
    ignoring = replace(NAMESAKES, ignores_extra=True)
    output, wrong, _ = run(data, ignoring)
    assert output == "count,of\r\n5,C\r\n"
    assert wrong == f"{ERRORS},row,column,code,message,count\r\n"


@pytest.mark.parametrize("ignores_extra", [False, True])
def test_parameters_with_the_names_of_the_four_columns_are_read_behind_them(
    *, ignores_extra: bool
) -> None:
    plan = replace(NAMESAKES, ignores_extra=ignores_extra)
    _, wrong, _ = run(b"code,message,count\nC,m,x\n", plan)
    output, again, _ = run(wrong.replace(",x", ",5").encode(), plan)
    assert output == "count,of\r\n5,C\r\n"
    assert again == f"{ERRORS},code,message,count\r\n"


def test_a_plan_without_columns_leaves_the_four_out_too() -> None:
    plan = TransformPlan(columns=(), steps=(FormulaStep("1 / 0", "one", NUMBER),))
    _, wrong, _ = run(b"a,b\n1,2\n3,4\n", plan)
    assert run(wrong.encode(), plan)[1] == wrong
    data = f"{ERRORS}\n1,a,C,m\n".encode()
    assert run(data, plan)[2].counts.rows == 1


def test_rejected_rows_are_counted_by_the_reason_of_their_first_problem() -> None:
    data = rows("x,a", "1", "1,gas", "y,b", '2,"a"b')
    ending = run(data)[2]
    assert ending.rejections == (
        RejectionCount("INVALID_INPUT", "distance", 2),
        RejectionCount("FIELD_COUNT", "", 1),
        RejectionCount("MALFORMED_ROW", "", 1),
    )
    assert sum(one.rows for one in ending.rejections) == ending.counts.failed


def test_the_reasons_of_parts_are_added_in_the_order_of_the_rows() -> None:
    one, other = (run(rows(*lines))[2].rejections for lines in (["1", "x,a"], ["y,a", '2,"a"b']))
    assert sum_rejections(one, other) == run(rows("1", "x,a", "y,a", '2,"a"b'))[2].rejections
