"""Parquet files made byte by byte, such as no program writes."""

import struct
from collections.abc import Sequence

MAGIC = b"PAR1"
I32, I64, BINARY, LIST, STRUCT = 5, 6, 8, 9, 12


def varint(number: int) -> bytes:
    made = b""
    while number > 127:
        made += bytes([number & 127 | 128])
        number >>= 7
    return made + bytes([number])


def number(step: int, value: int, type: int = I32) -> bytes:
    """A field of a number, so many identifiers behind the one before."""
    return bytes([step << 4 | type]) + varint(value << 1 if value >= 0 else (-value << 1) - 1)


def text(step: int, value: bytes) -> bytes:
    return bytes([step << 4 | BINARY]) + varint(len(value)) + value


def items(step: int, type: int, values: Sequence[bytes], count: int | None = None) -> bytes:
    """A field of a list, which may say another number of items than it has."""
    head = bytes([step << 4 | LIST, 0xF0 | type])
    return head + varint(len(values) if count is None else count) + b"".join(values)


def structure(step: int, value: bytes) -> bytes:
    return bytes([step << 4 | STRUCT]) + value + b"\0"


def group_element(name: bytes, children: int) -> bytes:
    return text(4, name) + number(1, children) + b"\0"


def leaf_element(name: bytes = b"a") -> bytes:
    return number(1, 1) + number(2, 0) + text(1, name) + b"\0"


def list_element(name: bytes = b"a") -> bytes:
    return number(3, 2) + text(1, name) + number(1, 1) + b"\0"


def chunk(begin: int, values: int, size: int = 0) -> bytes:
    facts = number(1, 1) + number(4, values, I64) + number(2, size, I64) + number(2, begin, I64)
    return number(2, begin, I64) + structure(1, facts) + b"\0"


def row_group(chunks: Sequence[bytes], rows: int) -> bytes:
    return items(1, STRUCT, chunks) + number(1, 0, I64) + number(1, rows, I64) + b"\0"


def page(kind: int, values: int, body: bytes, *, unpacked: int | None = None) -> bytes:
    """A page of data (0) or a dictionary (2), which may say that it unpacks to more."""
    sizes = number(1, len(body) if unpacked is None else unpacked) + number(1, len(body))
    head = number(1, values) + number(1, 0) + number(1, 3) + number(1, 3)
    return number(1, kind) + sizes + structure(4 if kind == 2 else 2, head) + b"\0" + body


def file_of(elements: Sequence[bytes], groups: Sequence[bytes] = (), pages: bytes = b"") -> bytes:
    footer = number(1, 1) + items(1, STRUCT, elements)
    return with_footer(footer + number(1, 0, I64) + items(1, STRUCT, groups) + b"\0", pages)


def with_footer(footer: bytes, pages: bytes = b"") -> bytes:
    return MAGIC + pages + footer + struct.pack("<I", len(footer)) + MAGIC


def one_column(pages: bytes, values: int = 1, rows: int = 1, begin: int = 4) -> bytes:
    """A file of a column with these pages."""
    elements = [group_element(b"s", 1), leaf_element()]
    return file_of(elements, [row_group([chunk(begin, values, len(pages))], rows)], pages)
