"""The differences between two versions of a resource, as JSON pointers (RFC 6901) with values."""

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum, StrEnum
from itertools import islice
from typing import Any, Final, NamedTuple

import msgspec

from penstock.datastore.records import DatasetContent, Resource

MAX_CHANGES = 1000
"""The maximum of changes of one field that are listed one by one."""

_NO_CONTENT: Final = {
    *("id", "version", "revision", "groups", "owner"),
    *("createdAt", "createdBy", "updatedAt", "updatedBy"),
}
_UNSEEN: Final = {(DatasetContent, "file")}
_ABSENT: Final = object()


class Operation(StrEnum):
    """The kind of a change, with the name it has in JSON Patch (RFC 6902)."""

    ADD = "add"
    REMOVE = "remove"
    REPLACE = "replace"


class Change(NamedTuple):
    """One changed value; `before` of an added value and `after` of a removed one are None."""

    op: Operation
    path: str
    before: object | None
    after: object | None


def changes(before: Resource, after: Resource) -> list[Change]:
    """List the changes of content from one version to another, in the order of the fields.

    Applied one after another they turn the one into the other. Entries of lists are compared by
    their positions. A field with more than `MAX_CHANGES` changes gives a single one. Grants are not
    content.
    """
    old, new = _content(before), _content(after)
    found: list[Change] = []
    for name, value in new.items():
        path = f"/{name}"
        of_field = list(islice(_compared(path, old[name], value), MAX_CHANGES + 1))
        if len(of_field) > MAX_CHANGES:
            of_field = [Change(Operation.REPLACE, path, old[name], value)]
        found += of_field
    return found


def _content(resource: Resource) -> dict[str, Any]:
    return {name: value for name, value in _plain(resource).items() if name not in _NO_CONTENT}


def _plain(value: object) -> Any:
    """A record as clients see it: names of fields in camel case, enumerations by their names."""
    if isinstance(value, msgspec.Struct):
        fields = msgspec.structs.fields(value)
        return {
            field.encode_name: _plain(getattr(value, field.name))
            for field in fields
            if (type(value), field.name) not in _UNSEEN
        }
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return value.name if isinstance(value, Enum) else value


def _compared(path: str, before: object, after: object) -> Iterator[Change]:
    if before is _ABSENT:
        yield Change(Operation.ADD, path, None, after)
    elif after is _ABSENT:
        yield Change(Operation.REMOVE, path, before, None)
    elif isinstance(before, dict) and isinstance(after, dict):
        yield from _compared_names(path, before, after)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _compared_places(path, before, after)
    elif isinstance(before, bool) is not isinstance(after, bool) or before != after:
        yield Change(Operation.REPLACE, path, before, after)


def _compared_names(
    path: str, before: Mapping[str, object], after: Mapping[str, object]
) -> Iterator[Change]:
    for name in dict.fromkeys((*before, *after)):
        pointer = f"{path}/{name.replace('~', '~0').replace('/', '~1')}"
        yield from _compared(pointer, before.get(name, _ABSENT), after.get(name, _ABSENT))


def _compared_places(
    path: str, before: Sequence[object], after: Sequence[object]
) -> Iterator[Change]:
    shared = min(len(before), len(after))
    for n in range(shared):
        yield from _compared(f"{path}/{n}", before[n], after[n])
    for n in range(shared, len(after)):
        yield Change(Operation.ADD, f"{path}/{n}", None, after[n])
    # The last first, because a removal moves the entries behind it.
    for n in reversed(range(shared, len(before))):
        yield Change(Operation.REMOVE, f"{path}/{n}", before[n], None)
