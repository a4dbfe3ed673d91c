"""All errors of formulas, as one tree.

    FormulaError
    ├── FormulaInvalid          the formula cannot be used; `problems` holds all its problems
    │   └── FormulaSyntax       it cannot be parsed; its one problem has the place and expectation
    └── FormulaFailure          a usable formula has no value for this row

`Fault` is the form without a place, which functions and datasets raise; it never leaves the
package.
"""

from collections.abc import Sequence
from enum import StrEnum

import msgspec


class FormulaCode(StrEnum):
    """The complete list of codes of formula errors."""

    # the formula cannot be read
    SYNTAX = "SYNTAX"
    FORMULA_TOO_LONG = "FORMULA_TOO_LONG"
    FORMULA_TOO_DEEP = "FORMULA_TOO_DEEP"
    FORMULA_TOO_COMPLEX = "FORMULA_TOO_COMPLEX"
    # the formula cannot mean anything
    UNKNOWN_FUNCTION = "UNKNOWN_FUNCTION"
    UNSUPPORTED_FUNCTION = "UNSUPPORTED_FUNCTION"
    WRONG_ARITY = "WRONG_ARITY"
    UNKNOWN_OPTION = "UNKNOWN_OPTION"
    DUPLICATE_OPTION = "DUPLICATE_OPTION"
    UNSUPPORTED_OPTION = "UNSUPPORTED_OPTION"
    OPTION_NOT_LITERAL = "OPTION_NOT_LITERAL"
    CONFLICTING_OPTIONS = "CONFLICTING_OPTIONS"
    UNDECLARED_PARAMETER = "UNDECLARED_PARAMETER"
    UNUSED_PARAMETER = "UNUSED_PARAMETER"
    UNWRITABLE_PARAMETER = "UNWRITABLE_PARAMETER"
    DUPLICATE_PARAMETER = "DUPLICATE_PARAMETER"
    SHADOWED_PARAMETER = "SHADOWED_PARAMETER"
    UNUSED_VALUE = "UNUSED_VALUE"
    NO_VALUE = "NO_VALUE"
    UNKNOWN_CALCULATION = "UNKNOWN_CALCULATION"
    INVALID_CALCULATION = "INVALID_CALCULATION"
    CALCULATION_CYCLE = "CALCULATION_CYCLE"
    UNKNOWN_OUTPUT = "UNKNOWN_OUTPUT"
    # there is no value for this row
    MISSING_VALUE = "MISSING_VALUE"
    INVALID_INPUT = "INVALID_INPUT"
    NULL_OPERAND = "NULL_OPERAND"
    WRONG_TYPE = "WRONG_TYPE"
    INVALID_ARGUMENT = "INVALID_ARGUMENT"
    DIVISION_BY_ZERO = "DIVISION_BY_ZERO"
    UNDEFINED_POWER = "UNDEFINED_POWER"
    EXPONENT_TOO_LARGE = "EXPONENT_TOO_LARGE"
    NUMBER_OUT_OF_RANGE = "NUMBER_OUT_OF_RANGE"
    NOT_A_NUMBER = "NOT_A_NUMBER"
    STRING_TOO_LONG = "STRING_TOO_LONG"
    WORK_LIMIT = "WORK_LIMIT"
    INDEX_OUT_OF_RANGE = "INDEX_OUT_OF_RANGE"
    NO_CASE_MATCHES = "NO_CASE_MATCHES"
    IMPACT_NOT_FOUND = "IMPACT_NOT_FOUND"
    UNKNOWN_DATASET = "UNKNOWN_DATASET"
    INVALID_DATE = "INVALID_DATE"
    INVALID_DATE_PATTERN = "INVALID_DATE_PATTERN"
    UNKNOWN_TIMEZONE = "UNKNOWN_TIMEZONE"
    UNKNOWN_LOCALE = "UNKNOWN_LOCALE"
    UNKNOWN_UNIT = "UNKNOWN_UNIT"
    AMBIGUOUS_UNIT = "AMBIGUOUS_UNIT"
    INCOMPATIBLE_UNITS = "INCOMPATIBLE_UNITS"
    INVALID_JSON = "INVALID_JSON"
    INVALID_PATH = "INVALID_PATH"
    PATH_NOT_FOUND = "PATH_NOT_FOUND"
    INVALID_REGEX = "INVALID_REGEX"


class Position(msgspec.Struct, frozen=True, order=True):
    """A place in a formula's text; line and column count characters from 1."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"


START = Position(1, 1)


class FormulaProblem(msgspec.Struct, frozen=True):
    """One problem of a formula; `excerpt` shows its line with a caret below the place."""

    code: FormulaCode
    message: str
    at: Position
    excerpt: str = ""


class FormulaError(Exception):
    """A formula is invalid or has no value."""


class FormulaInvalid(FormulaError):
    """The formula cannot be used, because of `problems`."""

    def __init__(self, problems: Sequence[FormulaProblem]) -> None:
        super().__init__("\n".join(f"{p.at}: {p.message}" for p in problems))
        self.problems = tuple(problems)


class FormulaSyntax(FormulaInvalid):
    """The formula cannot be parsed; `expected` says in users' words what could have stood there."""

    def __init__(self, problem: FormulaProblem, expected: Sequence[str] = ()) -> None:
        super().__init__((problem,))
        self.problem = problem
        self.expected = tuple(expected)


class FormulaFailure(FormulaError):
    """The formula has no value for a row.

    `at` is the operation at fault; for an input at fault it is None and `column` names the input.
    """

    def __init__(
        self, code: FormulaCode, message: str, at: Position | None = None, column: str | None = None
    ) -> None:
        super().__init__(f"{at}: {message}" if at else message)
        self.code = code
        self.message = message
        self.at = at
        self.column = column


class Fault(Exception):
    """An error of a function or a dataset; the evaluator adds the place."""

    def __init__(self, code: FormulaCode, message: str, column: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.column = column


def excerpt(text: str, at: Position) -> str:
    """Return the line of `at` (80 characters around it at most) with a caret below the place."""
    lines = text.split("\n")
    line = lines[at.line - 1] if at.line <= len(lines) else ""
    line = "".join(c if c.isprintable() else " " for c in line)
    start = max(0, at.column - 41)
    return f"{line[start : start + 80]}\n{' ' * (at.column - 1 - start)}^"


def problem(text: str, code: FormulaCode, message: str, at: Position) -> FormulaProblem:
    """Return a problem of the formula `text` with its excerpt."""
    return FormulaProblem(code, message, at, excerpt(text, at))
