"""The values of formulas, the errors of rows, and the explanation of a value."""

from enum import Enum

import strawberry

from penstock.datastore.evaluation.evaluator import MAX_PARTS, ExplainedFormula, ShownPart
from penstock.formula.core.errors import FormulaFailure, Position
from penstock.formula.core.values import Value, ValueKind, kind_of
from penstock.formula.evaluate import RowError
from penstock.schema.core.descriptions import describe_values


@strawberry.enum(description="The type of a value that a formula gives.")
class FormulaValueType(Enum):
    NUMBER = "NUMBER"
    TEXT = "TEXT"
    BOOLEAN = "BOOLEAN"
    LIST = "LIST"
    NULL = "NULL"


describe_values(
    FormulaValueType,
    {
        FormulaValueType.NUMBER: "An exact decimal number.",
        FormulaValueType.TEXT: "A string of characters.",
        FormulaValueType.BOOLEAN: "Either true or false.",
        FormulaValueType.LIST: "A list of values.",
        FormulaValueType.NULL: "The absence of a value.",
    },
)


_TYPES = {kind: FormulaValueType[kind.name or ""] for kind in ValueKind}


@strawberry.type(description="A value that a formula gives, with all its digits.")
class FormulaValue:
    type: FormulaValueType = strawberry.field(description="The type of the value.")
    text: str | None = strawberry.field(
        description=(
            "The value as text: a number in plain decimal notation, a boolean as `true` or "
            "`false`, a list as JSON. It is null for a value of the type `NULL`."
        )
    )

    @classmethod
    def from_value(cls, value: Value, text: str | None) -> "FormulaValue":
        return cls(type=_TYPES[kind_of(value)], text=text)


@strawberry.type(description="A position in the text of a formula.")
class FormulaPosition:
    line: int = strawberry.field(description="The number of the line, counted from 1.")
    column: int = strawberry.field(
        description="The number of the character in the line, counted from 1."
    )

    @classmethod
    def from_position(cls, at: Position) -> "FormulaPosition":
        return cls(line=at.line, column=at.column)


@strawberry.type(description="The reason why a row has no value.")
class EvaluationError:
    row: int = strawberry.field(description="The position of the row in the input, counted from 0.")
    column: str | None = strawberry.field(
        description="The key of the input that caused the error; null if no single input did."
    )
    code: str = strawberry.field(description="The kind of error as a code, for programs.")
    message: str = strawberry.field(description="The description of the error, for people.")
    at: FormulaPosition | None = strawberry.field(
        description="The position of the operation that failed; null if no single operation did."
    )

    @classmethod
    def from_error(cls, row: int, error: RowError | FormulaFailure) -> "EvaluationError":
        return cls(
            row=row,
            column=error.column,
            code=error.code.value,
            message=error.message,
            at=None if error.at is None else FormulaPosition.from_position(error.at),
        )


@strawberry.type(description="A part of a formula and its value for one row.")
class ExplainedPart:
    depth: int = strawberry.field(
        description=(
            "The number of levels from a line of the formula down to this part; 0 for a "
            "line itself."
        )
    )
    parent: int | None = strawberry.field(
        description=(
            "The index, counted from 0, in `parts` of the part that contains this one; null for "
            "a top-level line of the formula."
        )
    )
    called: bool = strawberry.field(
        description="True if the part is a line of another calculation, which the parent calls."
    )
    text: str = strawberry.field(
        description="The text of the part with even spacing, cut after 200 characters."
    )
    at: FormulaPosition = strawberry.field(description="The position of the part in its formula.")
    evaluated: bool = strawberry.field(
        description=(
            "True if the part was evaluated. It is false in a branch that was not taken, "
            "and behind an error."
        )
    )
    value: FormulaValue | None = strawberry.field(
        description="The value of the part; null if the part was not evaluated."
    )
    operator: str | None = strawberry.field(
        description=(
            "The operator before this part, if the part belongs to a chain such as `a + b - "
            "c`; null otherwise."
        )
    )
    so_far: FormulaValue | None = strawberry.field(
        description="The value of the chain up to and including this part; null outside of a chain."
    )

    @classmethod
    def from_part(cls, shown: ShownPart) -> "ExplainedPart":
        part = shown.part
        so_far = None if part.so_far is None else FormulaValue.from_value(part.so_far, shown.so_far)
        return cls(
            depth=shown.depth,
            parent=shown.parent,
            called=shown.called,
            text=part.text,
            at=FormulaPosition.from_position(part.at),
            evaluated=part.evaluated,
            value=FormulaValue.from_value(part.value, shown.text) if part.evaluated else None,
            operator=part.operator,
            so_far=so_far,
        )


@strawberry.type(description="The steps by which a row comes to its value.")
class Explanation:
    parts: list[ExplainedPart] = strawberry.field(
        description=(
            f"The parts of the formula, at most {MAX_PARTS}. A part comes before the parts "
            "that it contains."
        )
    )
    value: FormulaValue = strawberry.field(description="The value of the row.")
    error: EvaluationError | None = strawberry.field(
        description="The reason why the row has no value; null if it has one."
    )

    @classmethod
    def from_explained(cls, row: int, explained: ExplainedFormula) -> "Explanation":
        failure = explained.failure
        return cls(
            parts=[ExplainedPart.from_part(shown) for shown in explained.parts],
            value=FormulaValue.from_value(explained.value, explained.text),
            error=None if failure is None else EvaluationError.from_error(row, failure),
        )
