"""The limits of the files of reference datasets; the settings read them, so nothing is imported."""

from typing import Final, NamedTuple

MAX_BYTES = 4 * 1024 * 1024
MAX_ROWS = 50_000
MAX_CELLS = 250_000

COPIED_BYTES: Final = 4 * 2**30
"""Bytes of copies of indexes that are kept beyond those in use."""


class CsvLimits(NamedTuple):
    """The most bytes, rows and fields of a file."""

    size: int
    rows: int
    fields: int


IN_MEMORY: Final = CsvLimits(MAX_BYTES, MAX_ROWS, MAX_CELLS)
"""The limits of a file that is looked up in memory."""

LARGEST: Final = CsvLimits(512 * 2**20, 5_000_000, 25_000_000)
"""The limits of a file with an index, unless a server has others."""
