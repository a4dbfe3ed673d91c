"""Text files that are compressed or in UTF-16, as streams of UTF-8."""

import gzip
import zlib
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

from penstock.datastore.input_files.kinds import (
    HEAD_BYTES,
    InputKind,
    kind_of,
    unreadable_file,
    wide_order,
)
from penstock.transform.problems import InputRefused, TransformCode

CHUNK: Final = 1024 * 1024


def read_chunks(path: Path) -> Iterator[bytes]:
    """Yield the content of a local file."""
    with path.open("rb") as file:
        yield from _chunks_of(file)


def unpack_gzip(path: Path) -> Iterator[bytes]:
    """Yield what a gzip file holds; raises InputRefused where it is damaged or ends too early."""
    try:
        with gzip.open(path) as file:
            yield from _chunks_of(file)
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise unreadable_file("it is no whole gzip file") from None


def unpack_text(path: Path) -> tuple[bool, Iterator[bytes]]:
    """Return the text that a gzip file holds as UTF-8, and whether it was UTF-16."""
    chunks = unpack_gzip(path)
    first = next(chunks, b"")
    kind = kind_of(first[:HEAD_BYTES])
    if kind not in (None, InputKind.UTF_16):
        raise unreadable_file(f"it is {kind} in gzip; send it without gzip")
    whole = _join(first, chunks)
    return (True, decode_wide(whole)) if kind else (False, whole)


def decode_wide(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield UTF-16 as UTF-8; its mark or its first letter tells the order of bytes."""
    decoder = None
    try:
        for chunk in chunks:
            if decoder is None:
                decoder = getincrementaldecoder(wide_order(chunk) or "utf-16")()
            yield decoder.decode(chunk).encode()
        if decoder is not None:
            yield decoder.decode(b"", final=True).encode()
    except UnicodeError:
        message = "the file is not UTF-16 throughout"
        raise InputRefused(TransformCode.INVALID_ENCODING, message) from None


def _join(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


def _chunks_of(file: BinaryIO | gzip.GzipFile) -> Iterator[bytes]:
    while chunk := file.read(CHUNK):
        yield chunk
