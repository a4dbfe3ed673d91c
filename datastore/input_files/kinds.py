"""The kinds of input files that are made CSV in UTF-8 before their rows are read."""

from enum import StrEnum
from typing import Final

from penstock.transform.problems import InputRefused, TransformCode

HEAD_BYTES: Final = 8
"""The first bytes of a file, which tell its kind."""


class InputKind(StrEnum):
    """The kind of a file that is not CSV already."""

    GZIP = "gzip"
    UTF_16 = "UTF-16"
    EXCEL = "Excel"
    PARQUET = "Parquet"


_SIGNATURES: Final = (
    (b"\x1f\x8b", InputKind.GZIP),
    (b"PK\x03\x04", InputKind.EXCEL),
    (b"PAR1", InputKind.PARQUET),
    (b"\xff\xfe", InputKind.UTF_16),
    (b"\xfe\xff", InputKind.UTF_16),
)
_OLD_EXCEL: Final = b"\xd0\xcf\x11\xe0"


def kind_of(head: bytes) -> InputKind | None:
    """Return the kind of a file by its first bytes; None for CSV of one byte for each ASCII letter.

    Raises InputRefused for what no kind can read.
    """
    if head.startswith(_OLD_EXCEL):
        raise unreadable_file("it is of an old Excel; save it as .xlsx or as CSV")
    if head.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")):
        raise InputRefused(
            TransformCode.INVALID_ENCODING, "the file is in UTF-32; save it as UTF-8"
        )
    for signature, kind in _SIGNATURES:
        if head.startswith(signature):
            return kind
    return InputKind.UTF_16 if wide_order(head) else None


def wide_order(head: bytes) -> str:
    """Return the codec of UTF-16 without a mark, by the zero in an ASCII letter; or empty."""
    match head[:2]:
        case bytes() as two if len(two) == 2 and two[0] and not two[1]:
            return "utf-16-le"
        case bytes() as two if len(two) == 2 and two[1] and not two[0]:
            return "utf-16-be"
    return ""


def unreadable_file(reason: str) -> InputRefused:
    """The refusal of a file that cannot be read, with the reason."""
    return InputRefused(TransformCode.UNREADABLE_FILE, f"the file cannot be read: {reason}")
