"""Covers: square PNG pictures of one colour."""

import zlib
from struct import pack


def png(red: int, green: int, blue: int, side: int = 64) -> bytes:
    """A picture of so many pixels each way."""
    header = pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    rows = (b"\0" + bytes((red, green, blue)) * side) * side
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(map(_chunk, *zip(*chunks, strict=True)))


def _chunk(name: bytes, content: bytes) -> bytes:
    checksum = zlib.crc32(name + content)
    return pack(">I", len(content)) + name + content + pack(">I", checksum)
