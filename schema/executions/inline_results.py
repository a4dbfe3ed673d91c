"""The results of rows that came with a request: outputs, and problems of rejected rows."""

import strawberry

from penstock.datastore.executions.workers import inline as answer_records
from penstock.schema.core.scalars import JSON


@strawberry.type(description="The reason why a row was rejected.")
class RowProblem:
    row: int = strawberry.field(
        description="The number of the row, counted from 1; 0 if the problem concerns the whole "
        "input."
    )
    column: str | None = strawberry.field(
        description="The parameter or output that has the problem; null if it concerns the whole "
        "row."
    )
    code: str = strawberry.field(description="The code of the problem, for programs.")
    message: str = strawberry.field(description="The description of the problem, for people.")


@strawberry.type(description="The results of an execution with the mode INLINE.")
class InlineResults:
    rows: list[JSON] = strawberry.field(
        description="One object for each row that succeeded, in input order, with the headings of "
        "the outputs as keys. A number outside the range of IEEE 754 doubles is a text in plain "
        "decimal notation."
    )
    problems: list[RowProblem] = strawberry.field(
        description="The problems of the rows that were rejected."
    )


def inline_results(found: answer_records.InlineOutput) -> InlineResults:
    problems = [
        RowProblem(row=one.row, column=one.column, code=one.code, message=one.message)
        for one in found.problems
    ]
    return InlineResults(rows=[JSON(row) for row in found.rows], problems=problems)
