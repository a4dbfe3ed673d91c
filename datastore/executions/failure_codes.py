"""The codes of executions that fail, beside those of files in `penstock.transform.problems`."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from penstock.transform.problems import TransformCode


class FailureCode(StrEnum):
    """The reasons for a failure that are not those of a file."""

    ALL_ROWS_FAILED = "ALL_ROWS_FAILED"
    ATTEMPTS_EXHAUSTED = "ATTEMPTS_EXHAUSTED"
    DATASET_GONE = "DATASET_GONE"
    INPUT_GONE = "INPUT_GONE"
    INTERNAL_ERROR = "INTERNAL_ERROR"
    NO_INPUT = "NO_INPUT"
    NOT_STARTED = "NOT_STARTED"
    ROWS_NOT_STORED = "ROWS_NOT_STORED"
    WORKER_FAILED = "WORKER_FAILED"


WORKER_CODES: Final[Sequence[str]] = (
    FailureCode.ALL_ROWS_FAILED,
    FailureCode.DATASET_GONE,
    FailureCode.INPUT_GONE,
    FailureCode.WORKER_FAILED,
    TransformCode.CONVERSION_TOO_LONG,
    TransformCode.DUPLICATE_COLUMN,
    TransformCode.EMPTY_INPUT,
    TransformCode.INPUT_TOO_LARGE,
    TransformCode.INVALID_ENCODING,
    TransformCode.INVALID_FORMULA,
    TransformCode.INVALID_HEADER,
    TransformCode.MISSING_COLUMN,
    TransformCode.OUTPUT_TOO_LARGE,
    TransformCode.ROW_TOO_LARGE,
    TransformCode.TOO_MANY_FAILED_ROWS,
    TransformCode.UNKNOWN_COLUMN,
    TransformCode.UNREADABLE_FILE,
)
"""The codes that an external worker may report; the others say what a server found or did."""
