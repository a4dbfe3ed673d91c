"""The problems of a file as a whole, and of single rows."""

from enum import StrEnum
from typing import Final, NamedTuple

MAX_MESSAGE: Final = 500
"""Characters of a message that are kept."""


class TransformCode(StrEnum):
    """The complete list of codes, besides those of formulas in `penstock.formula.core.errors`."""

    # nothing can be done with the file, or with the rest of it
    EMPTY_INPUT = "EMPTY_INPUT"
    UNREADABLE_FILE = "UNREADABLE_FILE"
    INPUT_TOO_LARGE = "INPUT_TOO_LARGE"
    CONVERSION_TOO_LONG = "CONVERSION_TOO_LONG"
    INVALID_HEADER = "INVALID_HEADER"
    MISSING_COLUMN = "MISSING_COLUMN"
    UNKNOWN_COLUMN = "UNKNOWN_COLUMN"
    DUPLICATE_COLUMN = "DUPLICATE_COLUMN"
    ROW_TOO_LARGE = "ROW_TOO_LARGE"
    INVALID_ROWS = "INVALID_ROWS"
    TOO_MANY_STEPS = "TOO_MANY_STEPS"
    OUTPUT_TOO_LARGE = "OUTPUT_TOO_LARGE"
    TOO_MANY_FAILED_ROWS = "TOO_MANY_FAILED_ROWS"
    INVALID_FORMULA = "INVALID_FORMULA"
    DUPLICATE_KEY = "DUPLICATE_KEY"
    # one row is left out
    FIELD_COUNT = "FIELD_COUNT"
    MALFORMED_ROW = "MALFORMED_ROW"
    INVALID_ENCODING = "INVALID_ENCODING"
    # one row is left out of a pipeline that keeps its rows
    ROW_WITHOUT_KEY = "ROW_WITHOUT_KEY"
    KEY_TOO_LONG = "KEY_TOO_LONG"
    ROW_WITHOUT_TIME = "ROW_WITHOUT_TIME"
    ROW_OUT_OF_REACH = "ROW_OUT_OF_REACH"
    GROUP_OUT_OF_REACH = "GROUP_OUT_OF_REACH"


ERROR_HEADINGS: Final = ("row", "column", "code", "message")
"""The columns in front of a file of rejected rows."""


class TransformProblem(NamedTuple):
    """The reason why a row is left out; `row` counts from 1 below the header, with blank lines.

    `column` is the parameter or output at fault, if there is one. The refusal of a whole file has
    row 0 unless it concerns one row.
    """

    row: int
    column: str
    code: str
    message: str


class InputRefused(Exception):
    """The file, or the rest of it, cannot be processed."""

    def __init__(self, code: str, message: str, column: str = "", row: int = 0) -> None:
        super().__init__(message)
        self.problem = TransformProblem(row, column, code, message[:MAX_MESSAGE])
