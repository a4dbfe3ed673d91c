"""The footer of a Parquet file, read before an engine trusts what it says.

An engine makes objects of as many columns and pieces as the footer counts, outside of the memory
that it may take, and plans and reads in steps that nothing ends: they take more than linear time by
the columns, and double with each list.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from penstock.datastore.input_files import thrift
from penstock.datastore.input_files.parquet_schema import (
    MOST_ELEMENTS,
    MOST_NAMES,
    Element,
    RefusedFile,
    count_leaves,
)
from penstock.datastore.input_files.thrift import (
    BINARY,
    I32,
    I64,
    LIST,
    STRUCT,
    DamagedStruct,
    Field,
    Path,
    StructReader,
)

MAGIC: Final = b"PAR1"
_LENGTH: Final = 4

MOST_FOOTER: Final = 16 * 1024 * 1024
"""Bytes of the footer; a piece of a column takes some 80."""

MOST_CHUNKS: Final = 100_000
"""Pieces of columns: as many as columns in each group of rows."""

_SCHEMA: Final = (2,)
_ELEMENT: Final = (*_SCHEMA, 0)
_REPETITION: Final = (*_ELEMENT, 3)
_NAME: Final = (*_ELEMENT, 4)
_CHILDREN: Final = (*_ELEMENT, 5)
_GROUPS: Final = (4,)
_GROUP: Final = (*_GROUPS, 0)
_GROUP_ROWS: Final = (*_GROUP, 3)
_CHUNKS: Final = (*_GROUP, 1)
_CHUNK: Final = (*_CHUNKS, 0)
_FACTS: Final = (*_CHUNK, 3)
_VALUES: Final = (*_FACTS, 5)
_SIZE: Final = (*_FACTS, 7)
_DATA: Final = (*_FACTS, 9)
_DICTIONARY: Final = (*_FACTS, 11)

_REPEATED: Final = 2

_TYPES: Final[Mapping[Path, int]] = {
    _REPETITION: I32,
    _NAME: BINARY,
    _CHILDREN: I32,
    _GROUP_ROWS: I64,
    _VALUES: I64,
    _SIZE: I64,
    _DATA: I64,
    _DICTIONARY: I64,
}
"""The types of the fields that are read: one of another type is nothing to an engine."""

_ITEMS: Final[Mapping[Path, int]] = {
    _SCHEMA: STRUCT,
    _GROUPS: STRUCT,
    _CHUNKS: STRUCT,
    (*_FACTS, 2): I32,
    (*_FACTS, 3): BINARY,
    (*_FACTS, 8): STRUCT,
    (*_FACTS, 13): STRUCT,
    (*_FACTS, 16, 2): I64,
    (*_FACTS, 16, 3): I64,
    (*_FACTS, 17, 2): I32,
    (*_CHUNK, 8, 2, 1): BINARY,
    (*_GROUP, 4): STRUCT,
    (5,): STRUCT,
    (7,): STRUCT,
}
"""The types of the items of lists: an engine reads items of these, whatever the list says."""


class Content(thrift.Bytes, Protocol):
    """The bytes of a file, of which a part can be read."""

    def __len__(self) -> int: ...
    def find(self, part: bytes, begin: int, end: int, /) -> int: ...


class Chunk(NamedTuple):
    """A piece of a column: where its first page begins, and how many values its pages have."""

    begin: int
    values: int


def read_chunks(data: Content) -> tuple[list[Chunk], int]:
    """Return the pieces of columns by their places, and the place where the footer begins.

    Raises RefusedFile and DamagedStruct.
    """
    begin, end = _find_footer(data)
    footer = _Footer()
    for one in StructReader(data, begin, end).read_fields():
        footer.add(one)
    leaves = count_leaves(footer.elements)
    return sorted(footer.list_chunks(leaves, begin)), begin


def _find_footer(data: Content) -> tuple[int, int]:
    end = len(data) - len(MAGIC) - _LENGTH
    if end < len(MAGIC) or data.find(MAGIC, len(data) - len(MAGIC), len(data)) < 0:
        raise DamagedStruct
    length = sum(data[end + n] << 8 * n for n in range(_LENGTH))
    if length > end - len(MAGIC):
        raise DamagedStruct
    if length > MOST_FOOTER:
        raise RefusedFile(f"its footer has more than {MOST_FOOTER} bytes")
    return end - length, end


@dataclass(slots=True)
class _Group:
    """A group of rows: the numbers of each piece of a column, by their paths."""

    rows: int = 0
    chunks: list[dict[Path, int]] = field(default_factory=list)


@dataclass(slots=True)
class _Footer:
    """The columns that a footer tells of, gathered from its fields."""

    elements: list[Element] = field(default_factory=list)
    _groups: list[_Group] = field(default_factory=list)
    _pieces: int = 0
    _names: int = 0

    def add(self, one: Field) -> None:
        """Take the next field; raises where an engine reads another one, or there are too many."""
        path, type, value, item = one
        if path in _TYPES:
            if type != _TYPES[path]:
                raise DamagedStruct
            self._note(path, value)
        elif type == LIST:
            if value and _ITEMS.get(path, item) != item:
                raise DamagedStruct
            self._require_few(path, value)
        elif type == STRUCT:
            self._begin(path)

    def _require_few(self, path: Path, count: int) -> None:
        if path == _SCHEMA and count > MOST_ELEMENTS:
            raise RefusedFile(f"its columns have more than {MOST_ELEMENTS} elements")
        if path in (_GROUPS, _CHUNKS):
            self._pieces += count
        if self._pieces > MOST_CHUNKS:
            raise RefusedFile(f"its columns have more than {MOST_CHUNKS} pieces")

    def _begin(self, path: Path) -> None:
        if path == _ELEMENT:
            self.elements.append(Element())
        elif path == _GROUP:
            self._groups.append(_Group())
        elif path == _CHUNK:
            self._groups[-1].chunks.append({})

    def _note(self, path: Path, value: int) -> None:
        if path == _CHILDREN:
            self.elements[-1].children = value
        elif path == _NAME:
            self._add_name(value)
        elif path == _REPETITION:
            self.elements[-1].is_repeated = value == _REPEATED
        elif path == _GROUP_ROWS:
            self._groups[-1].rows = value
        else:
            self._groups[-1].chunks[-1][path] = value

    def _add_name(self, length: int) -> None:
        self._names += length
        if self._names > MOST_NAMES:
            raise RefusedFile(f"the names of its columns have more than {MOST_NAMES} bytes")

    def list_chunks(self, leaves: int, end: int) -> Iterator[Chunk]:
        """Yield the pieces that have values, which lie before `end`; each group has all columns."""
        for group in self._groups:
            if len(group.chunks) != leaves or group.rows < 0:
                raise DamagedStruct
            for one in group.chunks:
                chunk = _place_chunk(one, group.rows, end)
                if chunk.values:
                    yield chunk


def _place_chunk(numbers: Mapping[Path, int], rows: int, end: int) -> Chunk:
    """The piece with these numbers; an engine reads a value for each row, whatever they say."""
    try:
        values, begin = numbers[_VALUES], numbers[_DATA]
    except KeyError:
        raise DamagedStruct from None
    dictionary = numbers.get(_DICTIONARY, 0)
    # Some programs write a dictionary's place where there is none.
    if dictionary >= len(MAGIC):
        begin = dictionary
    size = numbers.get(_SIZE, 0)
    if min(values, begin, size) < 0 or begin + size > end:
        raise DamagedStruct
    return Chunk(begin, max(values, rows))
