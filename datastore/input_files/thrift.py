"""A struct in the compact protocol of Thrift, in which Parquet tells what a file holds.

Each step of the walk takes a byte at least, and none calls itself: whatever the bytes say, it takes
time by their number, and memory by the depth of its structs, which is bounded.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple, Protocol, TypeAlias

I32: Final = 5
I64: Final = 6
BINARY: Final = 8
LIST: Final = 9
STRUCT: Final = 12

_BITS: Final = {4: 16, I32: 32, I64: 64}
"""The bits of a number of each type; the first is that of the identifiers of fields."""

_BOOLEANS: Final = (1, 2)
_LENGTHS: Final = {1: 1, 2: 1, 3: 1, 7: 8}
"""The bytes of an item that is a boolean, a byte or a decimal."""

MOST_DEPTH: Final = 32
"""Structs and lists that lie in one another; the footer of Parquet has 9."""

MOST_ITEMS: Final = 2_000_000
"""Items of all lists: a reader makes objects of each, of up to 100 bytes."""

Path: TypeAlias = tuple[int, ...]


class DamagedStruct(Exception):
    """The bytes are no struct, or one that no program writes."""


class Bytes(Protocol):
    """Bytes that lie in memory or in a file."""

    def __getitem__(self, place: int, /) -> int: ...


class Field(NamedTuple):
    """A field of a struct or an item of a list, by the identifiers of the fields that lead to it.

    The path of an item ends with 0, which is no identifier. `value` is the number, the length of a
    text, or the number of items, of the type `item`.
    """

    path: Path
    type: int
    value: int = 0
    item: int = 0


class _Frame:
    """A struct or a list that is being read."""

    __slots__ = ("item", "last", "left", "path")

    def __init__(self, path: Path, item: int = 0, left: int = 0) -> None:
        self.path = path
        self.item = item
        self.left = left
        self.last = 0


class StructReader:
    """Reads the struct that begins at a place; `place` is behind it once all was read."""

    __slots__ = ("_data", "_end", "_items", "place")

    def __init__(self, data: Bytes, place: int, end: int) -> None:
        self._data = data
        self._end = end
        self._items = MOST_ITEMS
        self.place = place

    def read_fields(self) -> Iterator[Field]:
        """Yield the fields in their order; raises DamagedStruct, also between two of them."""
        frames = [_Frame(())]
        while frames:
            frame = frames[-1]
            path, type = self._read_head(frame)
            if not type:
                frames.pop()
            elif type == STRUCT:
                yield Field(path, type)
                frames.append(_Frame(path))
            elif type == LIST:
                item, count = self._read_list_head()
                yield Field(path, type, count, item)
                frames.append(_Frame((*path, 0), item, count))
            else:
                yield Field(path, type, self._read_value(type, is_item=bool(frame.item)))
            if len(frames) > MOST_DEPTH:
                raise DamagedStruct

    def _read_head(self, frame: _Frame) -> tuple[Path, int]:
        """The path and the type of what comes next in a frame; no type at its end."""
        if frame.item:
            frame.left -= 1
            return frame.path, frame.item if frame.left >= 0 else 0
        head = self._read_byte()
        if not head:
            return frame.path, 0
        step = head >> 4
        found = frame.last + step if step else self._read_number(4)
        # Who reads a field twice merges both, so that neither says what is in it.
        if found <= frame.last or not head & 15:
            raise DamagedStruct
        frame.last = found
        return (*frame.path, found), head & 15

    def _read_list_head(self) -> tuple[int, int]:
        head = self._read_byte()
        count = head >> 4
        if count == 15:
            count = self._read_varint(31)
        self._items -= count
        # An item has a byte at least.
        if count > self._end - self.place or self._items < 0:
            raise DamagedStruct
        if not head & 15 and count:
            raise DamagedStruct
        return head & 15 or STRUCT, count

    def _read_value(self, type: int, *, is_item: bool) -> int:
        if type in _BITS:
            return self._read_number(type)
        if type in _BOOLEANS and not is_item:
            return type
        length = self._read_varint(31) if type == BINARY else _LENGTHS.get(type)
        if length is None or length > self._end - self.place:
            raise DamagedStruct
        self.place += length
        return length

    def _read_number(self, type: int) -> int:
        found = self._read_varint(_BITS[type])
        return (found >> 1) ^ -(found & 1)

    def _read_varint(self, bits: int) -> int:
        found = 0
        for shift in range(0, bits, 7):
            byte = self._read_byte()
            found |= (byte & 127) << shift
            if byte < 128:
                if found >> bits:
                    break
                return found
        raise DamagedStruct

    def _read_byte(self) -> int:
        if self.place >= self._end:
            raise DamagedStruct
        self.place += 1
        return self._data[self.place - 1]
