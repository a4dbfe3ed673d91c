"""Updates of entities, exactly as their sender wrote them, and segments: files of events.

A segment has one event in each line. It is written once, and read again after a crash.
"""

import gzip
import zlib
from asyncio import to_thread
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from hashlib import sha256
from typing import Any, Final, Generic, TypeAlias, TypeVar

import msgspec

from penstock.datastore.errors import LimitExceeded, Unavailable
from penstock.datastore.objects.chunks import limit_size, single_chunk
from penstock.datastore.objects.own_keys import walk_keys
from penstock.datastore.objects.port import Files
from penstock.datastore.table import limits
from penstock.datastore.table.port import Value
from penstock.datastore.unreadable_json import JSON_ERRORS

Json: TypeAlias = Any
"""Texts, truth values, None, integers, lists and objects; any other number is a `Raw`."""

MAX_NESTING: Final = 64
"""The deepest nesting of a value, twice that of an item; deeper values cannot be decoded."""

MAX_KEPT_NESTING: Final = 256
"""The deepest nesting of an unreadable entity: a dead letter is decoded wherever it is read."""

_SEPARATOR = "\x1f"


def raw_number(text: str) -> msgspec.Raw:
    """Keep a number with a fraction or an exponent exactly as it was written."""
    return msgspec.Raw(text.encode())


read_json = msgspec.json.Decoder(float_hook=raw_number).decode
write_json = msgspec.json.Encoder().encode


class SegmentStruct(msgspec.Struct, frozen=True, array_like=True):
    """The base of the values in segments."""


class Metadata(SegmentStruct, frozen=True, array_like=True):
    """One entry of an attribute's metadata."""

    name: str
    type: str
    value: Json


class NotifiedAttribute(SegmentStruct, frozen=True, array_like=True):
    """An attribute of a notified entity."""

    name: str
    type: str
    value: Json
    metadata: tuple[Metadata, ...] = ()


class EntityUpdate(SegmentStruct, frozen=True, array_like=True):
    """One entity of a notification: a context element of NGSI, an event of the sink."""

    entity_id: str
    entity_type: str
    attributes: tuple[NotifiedAttribute, ...]


class Poison(SegmentStruct, frozen=True, array_like=True):
    """An entity of a notification that cannot be read, and the reason."""

    reason: str
    payload: Json


def identity_digest(*parts: str) -> str:
    """A digest of the parts that identify a thing: 64 hexadecimal digits."""
    text = _SEPARATOR.join(part.replace(_SEPARATOR, _SEPARATOR * 2) for part in parts)
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def is_nested_deeper(value: Json, most: int) -> bool:
    """Whether objects and lists lie in each other more than `most` levels deep, however deep."""
    level = [value]
    for _ in range(most + 1):
        level = [inner for each in level for inner in _members(each)]
        if not level:
            return False
    return True


def _members(value: Json) -> Iterable[Json]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def text_of(value: Json) -> str | None:
    """A value as text: numbers, truth values and objects as compact JSON.

    None for null.
    """
    if value is None or isinstance(value, str):
        return value
    return write_json(value).decode()


def native_value(value: Json) -> Value:
    """A value as a table stores it; as text if the table cannot store it exactly."""
    try:
        converted = _convert_value(value)
        limits.value_size(converted)
    except (LimitExceeded, ValueError, ArithmeticError):
        # A Decimal takes no exponent of 19 digits or more.
        return text_of(value)
    return converted


def _convert_value(value: Json) -> Value:
    if isinstance(value, msgspec.Raw):
        return Decimal(bytes(value).decode())
    if isinstance(value, Mapping):
        return {name: _convert_value(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_convert_value(each) for each in value]
    plain: Value = value
    return plain


T = TypeVar("T")

CONTENT_TYPE: Final = "application/gzip"
MOST_PACKED: Final = 256 * 1024 * 1024
"""Bytes of a file as it is stored: far more than the events that a server holds in memory."""

THREADED_BYTES: Final = 64 * 1024
LINES_THREADED: Final = 200

_COMPRESSION_LEVEL = 1
_SIZE_BYTES = 4
_MOST_RATIO = 1_032
"""Bytes that DEFLATE makes of one packed byte at most."""


class DamagedLines(Unavailable):
    """The file is there, and cannot be read."""


@dataclass(frozen=True, slots=True)
class LineFiles(Generic[T]):
    """Compressed files of JSON lines, each line one value of a type."""

    files: Files
    decoder: "msgspec.json.Decoder[T]"

    @classmethod
    def of(cls, files: Files, kind: type[T]) -> "LineFiles[T]":
        return cls(files, msgspec.json.Decoder(kind, float_hook=raw_number))

    async def write(self, key: str, values: Sequence[T]) -> None:
        """Write a file; on return it is durable, on the disk or in the bucket."""
        large = len(values) > LINES_THREADED
        packed = await to_thread(_compress_lines, values) if large else _compress_lines(values)
        await self.files.write(key, single_chunk(packed), content_type=CONTENT_TYPE)

    async def read(self, key: str) -> list[T]:
        """Read a file; raises NotFound, DamagedLines and Unavailable."""
        packed = await self.read_packed(key)
        if unpacked_size(packed) > THREADED_BYTES:
            return await to_thread(self.unpack, key, packed)
        return self.unpack(key, packed)

    async def read_packed(self, key: str) -> bytes:
        """Read the bytes of a file as they are stored; raises NotFound and Unavailable."""
        chunks = limit_size(self.files.read(key), MOST_PACKED)
        return b"".join([chunk async for chunk in chunks])

    def unpack(self, key: str, packed: bytes) -> list[T]:
        """The values in the bytes of a file, of which each has one; raises DamagedLines."""
        try:
            values = self.decoder.decode_lines(gzip.decompress(packed))
        except (OSError, EOFError, zlib.error, *JSON_ERRORS) as error:
            raise DamagedLines(f"The file {key} is damaged.") from error
        if not values:
            # No bytes at all are a file of gzip for Python.
            raise DamagedLines(f"The file {key} is empty.")
        return values


def unpacked_size(packed: bytes) -> int:
    """The bytes of the lines in a file, which stand at its end.

    Where a file is damaged, they are no more than so many bytes can hold.
    """
    return min(int.from_bytes(packed[-_SIZE_BYTES:], "little"), _MOST_RATIO * len(packed))


async def walk_old_files(
    files: Files, folder: str, moment: datetime
) -> AsyncIterator[Sequence[str]]:
    """Yield the files of a folder that lie in the folders of the days before, page by page."""
    day = f"{folder}/{moment:%Y-%m-%d}/"
    async with aclosing(walk_keys(files, f"{folder}/2")) as pages:
        async for keys in pages:
            if old := [key for key in keys if key < day]:
                yield old
            if len(old) < len(keys):
                return


async def delete_old_files(files: Files, folder: str, moment: datetime) -> int:
    """Delete the files that `walk_old_files` yields; return their number."""
    deleted = 0
    async for page in walk_old_files(files, folder, moment):
        for key in page:
            await files.delete(key)
        deleted += len(page)
    return deleted


def _compress_lines(values: Sequence[Any]) -> bytes:
    lines = b"".join(write_json(value) + b"\n" for value in values)
    # Without a timestamp, so that equal events give equal bytes.
    return gzip.compress(lines, _COMPRESSION_LEVEL, mtime=0)
