"""Values of formulas, failures of rows, and how a row comes to its value."""

from enum import Enum

import strawberry

from penstock.datastore.evaluation.evaluator import MAX_PARTS, Explained, Shown
from penstock.formula.core.errors import FormulaFailure, Position
from penstock.formula.core.values import Kind, Value, kind_of
from penstock.formula.evaluate import RowError


@strawberry.enum(description="What a value of a formula is.")
class FormulaValueType(Enum):
    NUMBER = "NUMBER"
    TEXT = "TEXT"
    BOOLEAN = "BOOLEAN"
    LIST = "LIST"
    NULL = "NULL"


_TYPES = {kind: FormulaValueType[kind.name or ""] for kind in Kind}


@strawberry.type(description="A value of a formula, with every digit.")
class FormulaValue:
    type: FormulaValueType = strawberry.field(description="What it is.")
    text: str | None = strawberry.field(
        description="The value as a text: numbers plain, `true` or `false`, lists as JSON."
    )

    @classmethod
    def of(cls, value: Value, text: str | None) -> "FormulaValue":
        return cls(type=_TYPES[kind_of(value)], text=text)


@strawberry.type(description="A place in a formula.")
class FormulaPosition:
    line: int = strawberry.field(description="From 1.")
    column: int = strawberry.field(description="From 1.")

    @classmethod
    def of(cls, at: Position) -> "FormulaPosition":
        return cls(line=at.line, column=at.column)


@strawberry.type(description="Why a row has no value.")
class EvaluationError:
    row: int = strawberry.field(description="The position of the row, from 0.")
    column: str | None = strawberry.field(description="The key of the input at fault, if one is.")
    code: str = strawberry.field(description="What went wrong, for a program.")
    message: str = strawberry.field(description="What went wrong, for a person.")
    at: FormulaPosition | None = strawberry.field(description="The operation at fault, if one is.")

    @classmethod
    def of(cls, row: int, error: RowError | FormulaFailure) -> "EvaluationError":
        return cls(
            row=row,
            column=error.column,
            code=error.code.value,
            message=error.message,
            at=None if error.at is None else FormulaPosition.of(error.at),
        )


@strawberry.type(description="A part of a formula, and its value for the row.")
class ExplainedPart:
    depth: int = strawberry.field(description="How deep it lies below the lines of the formula.")
    parent: int | None = strawberry.field(
        description="The position among `parts` of the one that it belongs to."
    )
    called: bool = strawberry.field(
        description="Whether it is a line of the calculation that the parent calls."
    )
    text: str = strawberry.field(description="The part, spaced evenly; cut at 200 characters.")
    at: FormulaPosition = strawberry.field(description="Where it stands in its formula.")
    evaluated: bool = strawberry.field(
        description="False for branches not taken, and for what an error kept from being reached."
    )
    value: FormulaValue | None = strawberry.field(description="Its value, if it was evaluated.")
    operator: str | None = strawberry.field(
        description="Within a chain such as `a + b - c`: what stands before it."
    )
    so_far: FormulaValue | None = strawberry.field(
        description="Within a chain: the value of the chain up to here."
    )

    @classmethod
    def of(cls, shown: Shown) -> "ExplainedPart":
        part = shown.part
        so_far = None if part.so_far is None else FormulaValue.of(part.so_far, shown.so_far)
        return cls(
            depth=shown.depth,
            parent=shown.parent,
            called=shown.called,
            text=part.text,
            at=FormulaPosition.of(part.at),
            evaluated=part.evaluated,
            value=FormulaValue.of(part.value, shown.text) if part.evaluated else None,
            operator=part.operator,
            so_far=so_far,
        )


@strawberry.type(description="How a row comes to its value.")
class Explanation:
    parts: list[ExplainedPart] = strawberry.field(
        description=f"Every part, each before its own parts; at most {MAX_PARTS}."
    )
    value: FormulaValue = strawberry.field(description="The value of the row.")
    error: EvaluationError | None = strawberry.field(description="Why there is none.")

    @classmethod
    def of(cls, row: int, explained: Explained) -> "Explanation":
        failure = explained.failure
        return cls(
            parts=[ExplainedPart.of(shown) for shown in explained.parts],
            value=FormulaValue.of(explained.value, explained.text),
            error=None if failure is None else EvaluationError.of(row, failure),
        )
