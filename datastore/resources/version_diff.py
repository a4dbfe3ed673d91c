"""The differences between two versions of a resource, as JSON pointers (RFC 6901) with values."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import Enum, StrEnum
from itertools import islice
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from penstock.datastore.records import DatasetContent, Output, Parameter, Resource, Transform
from penstock.datastore.text import comparison_form

MAX_CHANGES = 1000
"""The maximum of changes of one field that are listed one by one."""

_NO_CONTENT: Final = {
    *("id", "version", "revision", "groups", "owner", "references"),
    *("createdAt", "createdBy", "updatedAt", "updatedBy", "activeFrom", "undated"),
    *("dates", "labels"),
}
_HIDDEN_FIELDS: Final = {
    *((DatasetContent, field) for field in ("file", "index_bytes", "index_checksum")),
    # The index of an entry is its position, which the path tells.
    *((entry, "index") for entry in (Parameter, Output, Transform)),
}
_FREE_FIELD: Final = "attributes"
"""The field whose lists are of any length and any content."""
_ABSENT: Final = object()


class ChangeOperation(StrEnum):
    """The kind of a change, with the name it has in JSON Patch (RFC 6902)."""

    ADD = "add"
    REMOVE = "remove"
    REPLACE = "replace"


class ValueChange(NamedTuple):
    """One changed value; `before` of an added value and `after` of a removed one are None."""

    op: ChangeOperation
    path: str
    before: object | None
    after: object | None


def diff_versions(before: Resource, after: Resource) -> list[ValueChange]:
    """List the changes of content from one version to another, in the order of the fields.

    Applied one after another they turn the one into the other. Entries of lists are compared by
    their keys, or by what they hold; in free attributes by their positions. A field with more than
    `MAX_CHANGES` changes gives a single one. Grants are not content.
    """
    old, new = _content(before), _content(after)
    found: list[ValueChange] = []
    for name, value in new.items():
        path = f"/{name}"
        align = _align_by_position if name == _FREE_FIELD else _align_by_key
        changes = _Comparison(align).of_values(path, old[name], value)
        of_field = list(islice(changes, MAX_CHANGES + 1))
        if len(of_field) > MAX_CHANGES:
            of_field = [ValueChange(ChangeOperation.REPLACE, path, old[name], value)]
        found += of_field
    return found


def _content(resource: Resource) -> dict[str, Any]:
    return {
        name: value for name, value in _client_view(resource).items() if name not in _NO_CONTENT
    }


def _client_view(value: object) -> Any:
    """A record as clients see it: names of fields in camel case, enumerations by their names."""
    if isinstance(value, msgspec.Struct):
        fields = msgspec.structs.fields(value)
        return {
            field.encode_name: _client_view(getattr(value, field.name))
            for field in fields
            if (type(value), field.name) not in _HIDDEN_FIELDS
        }
    if isinstance(value, tuple):
        return [_client_view(one) for one in value]
    return value.name if isinstance(value, Enum) else value


class _Stretch(NamedTuple):
    """Entries from `start` to `end` of one list that stand in the place of those of another."""

    start: int
    end: int
    new_start: int
    new_end: int


Align: TypeAlias = Callable[[Sequence[object], Sequence[object]], Iterator[_Stretch]]
"""Aligns two lists: the stretches that stand for each other, in the order of both."""


@dataclass(frozen=True, slots=True)
class _Comparison:
    """The comparison of two values, whose lists it aligns in one way."""

    align: Align

    def of_values(self, path: str, before: object, after: object) -> Iterator[ValueChange]:
        if before is _ABSENT:
            yield ValueChange(ChangeOperation.ADD, path, None, after)
        elif after is _ABSENT:
            yield ValueChange(ChangeOperation.REMOVE, path, before, None)
        elif isinstance(before, dict) and isinstance(after, dict):
            yield from self._of_objects(path, before, after)
        elif isinstance(before, list) and isinstance(after, list):
            for stretch in self.align(before, after):
                yield from self._of_stretch(path, stretch, before, after)
        elif isinstance(before, bool) is not isinstance(after, bool) or before != after:
            yield ValueChange(ChangeOperation.REPLACE, path, before, after)

    def _of_objects(
        self, path: str, before: Mapping[str, object], after: Mapping[str, object]
    ) -> Iterator[ValueChange]:
        for name in dict.fromkeys((*before, *after)):
            pointer = f"{path}/{name.replace('~', '~0').replace('/', '~1')}"
            old, new = before.get(name, _ABSENT), after.get(name, _ABSENT)
            yield from self.of_values(pointer, old, new)

    def _of_stretch(
        self, path: str, one: _Stretch, before: Sequence[object], after: Sequence[object]
    ) -> Iterator[ValueChange]:
        """The changes of a stretch, where all before it is changed already."""
        shared = min(one.end - one.start, one.new_end - one.new_start)
        for n in range(shared):
            pointer = f"{path}/{one.new_start + n}"
            yield from self.of_values(pointer, before[one.start + n], after[one.new_start + n])
        for n in range(one.new_start + shared, one.new_end):
            yield ValueChange(ChangeOperation.ADD, f"{path}/{n}", None, after[n])
        # The last first, because a removal moves the entries behind it.
        for n in reversed(range(shared, one.end - one.start)):
            pointer = f"{path}/{one.new_start + n}"
            yield ValueChange(ChangeOperation.REMOVE, pointer, before[one.start + n], None)


def _align_by_position(before: Sequence[object], after: Sequence[object]) -> Iterator[_Stretch]:
    yield _Stretch(0, len(before), 0, len(after))


def _align_by_key(before: Sequence[object], after: Sequence[object]) -> Iterator[_Stretch]:
    """Align entries with the same key, and let what stands between them stand for each other."""
    found = SequenceMatcher(None, [*map(_key_of, before)], [*map(_key_of, after)], autojunk=False)
    for _, *ends in found.get_opcodes():
        yield _Stretch(*ends)


def _key_of(entry: object) -> Hashable:
    """The key of an entry of a list: of a transform that of its output; without one, the whole."""
    match entry:
        case {"key": str(key)} | {"outputs": [{"key": str(key)}, *_]}:
            return comparison_form(key)
        case {"name": str(name)}:
            return name
        case _:
            return msgspec.json.encode(entry, order="sorted")
