"""Segments: events in files, one a line, written once and read again after a crash."""

import gzip
import zlib
from asyncio import to_thread
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

import msgspec

from penstock.datastore.errors import Unavailable
from penstock.datastore.files import Files
from penstock.datastore.ngsi.events import raw_number, write_json

T = TypeVar("T")

CONTENT_TYPE: Final = "application/gzip"
THREADED_BYTES: Final = 64 * 1024
LINES_THREADED: Final = 200

_QUICK = 1


@dataclass(frozen=True, slots=True)
class Lines(Generic[T]):
    """Files of lines in JSON, each of them one value of a type, compressed."""

    files: Files
    decoder: "msgspec.json.Decoder[T]"

    @classmethod
    def of(cls, files: Files, kind: type[T]) -> "Lines[T]":
        return cls(files, msgspec.json.Decoder(kind, float_hook=raw_number))

    async def write(self, key: str, values: Sequence[T]) -> None:
        """Put a file in place, on the disk or in the bucket, before this returns."""
        large = len(values) > LINES_THREADED
        packed = await to_thread(_packed, values) if large else _packed(values)
        await self.files.write(key, _once(packed), content_type=CONTENT_TYPE)

    async def read(self, key: str) -> list[T]:
        """Read a file; raises NotFound, and Unavailable for one that is damaged."""
        packed = b"".join([chunk async for chunk in self.files.read(key)])
        try:
            if len(packed) > THREADED_BYTES:
                return await to_thread(self._unpacked, packed)
            return self._unpacked(packed)
        except (OSError, EOFError, zlib.error, msgspec.MsgspecError) as error:
            raise Unavailable(f"The file {key} is damaged.") from error

    def _unpacked(self, packed: bytes) -> list[T]:
        return self.decoder.decode_lines(gzip.decompress(packed))


def _packed(values: Sequence[Any]) -> bytes:
    lines = b"".join(write_json(value) + b"\n" for value in values)
    # Without a time, so that the same events are the same bytes.
    return gzip.compress(lines, _QUICK, mtime=0)


async def _once(content: bytes) -> AsyncIterator[bytes]:
    yield content
