"""The bounds of a Parquet file, which hold before an engine reads it."""

import mmap
from itertools import pairwise
from pathlib import Path
from typing import Final

from penstock.datastore.input_files import thrift
from penstock.datastore.input_files.kinds import unreadable_file
from penstock.datastore.input_files.parquet_footer import (
    Chunk,
    Content,
    read_chunks,
)
from penstock.datastore.input_files.parquet_schema import RefusedFile
from penstock.datastore.input_files.thrift import I32, DamagedStruct, StructReader

MOST_PAGE: Final = 256 * 1024 * 1024
"""Bytes of a page, packed or not; those that programs write have 1 MiB, or some more."""

MOST_DICTIONARY: Final = 2_000_000
"""Values of a dictionary: an engine has 16 bytes for each, outside of the memory that it counts."""

_DATA: Final = 0
_DICTIONARY: Final = 2
_DATA_2: Final = 3

_TYPE: Final[thrift.Path] = (1,)
_UNPACKED: Final[thrift.Path] = (2,)
_PACKED: Final[thrift.Path] = (3,)
_LEVELS: Final = ((8, 5), (8, 6))
_COUNTS: Final = {_DATA: (5, 1), _DICTIONARY: (7, 1), _DATA_2: (8, 1)}
_NUMBERS: Final = frozenset((_TYPE, _UNPACKED, _PACKED, *_LEVELS, *_COUNTS.values()))


def require_bounded(path: Path) -> None:
    """Raise InputRefused for a file that takes an engine more than its bytes, by what it says."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            _require_bounded_content(data)
    except RefusedFile as error:
        raise unreadable_file(str(error)) from None
    except (DamagedStruct, ValueError):
        raise unreadable_file("it is no whole Parquet file") from None


def _require_bounded_content(data: Content) -> None:
    chunks, end = read_chunks(data)
    for chunk, behind in pairwise([*chunks, Chunk(end, 0)]):
        _require_bounded_pages(data, chunk, behind.begin)


def _require_bounded_pages(data: Content, chunk: Chunk, end: int) -> None:
    """Look at the heads of the pages with the values of a piece, which lie before `end`."""
    place, missing = chunk
    while missing > 0:
        reader = StructReader(data, place, end)
        numbers = _read_numbers(reader)
        place = reader.place + numbers[_PACKED]
        if place > end:
            raise DamagedStruct
        if numbers[_TYPE] != _DICTIONARY:
            missing -= numbers[_COUNTS[numbers[_TYPE]]]


def _read_numbers(reader: StructReader) -> dict[thrift.Path, int]:
    """Read the numbers of the head of a page; raises for such as no page has."""
    numbers: dict[thrift.Path, int] = dict.fromkeys(_LEVELS, 0)
    for path, type, value, _ in reader.read_fields():
        if path in _NUMBERS:
            if type != I32 or value < 0:
                raise DamagedStruct
            numbers[path] = value
    kind = numbers.get(_TYPE, -1)
    if kind not in _COUNTS or not {_UNPACKED, _PACKED, _COUNTS[kind]} <= numbers.keys():
        raise DamagedStruct
    least = min(numbers[_UNPACKED], numbers[_PACKED])
    if sum(numbers[one] for one in _LEVELS) > least:
        raise DamagedStruct
    if numbers[_UNPACKED] > MOST_PAGE:
        raise RefusedFile(f"a page of it has more than {MOST_PAGE} bytes")
    if kind == _DICTIONARY and numbers[_COUNTS[kind]] > MOST_DICTIONARY:
        raise RefusedFile(f"a dictionary of it has more than {MOST_DICTIONARY} values")
    return numbers
