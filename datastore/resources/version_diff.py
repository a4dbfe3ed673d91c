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
    *("id", "version", "revision", "groups", "owner", "references"),
    *("createdAt", "createdBy", "updatedAt", "updatedBy"),
}
_HIDDEN_FIELDS: Final = {(DatasetContent, "file")}
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
    their positions. A field with more than `MAX_CHANGES` changes gives a single one. Grants are not
    content.
    """
    old, new = _content(before), _content(after)
    found: list[ValueChange] = []
    for name, value in new.items():
        path = f"/{name}"
        of_field = list(islice(_diff_values(path, old[name], value), MAX_CHANGES + 1))
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


def _diff_values(path: str, before: object, after: object) -> Iterator[ValueChange]:
    if before is _ABSENT:
        yield ValueChange(ChangeOperation.ADD, path, None, after)
    elif after is _ABSENT:
        yield ValueChange(ChangeOperation.REMOVE, path, before, None)
    elif isinstance(before, dict) and isinstance(after, dict):
        yield from _diff_objects(path, before, after)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _diff_lists(path, before, after)
    elif isinstance(before, bool) is not isinstance(after, bool) or before != after:
        yield ValueChange(ChangeOperation.REPLACE, path, before, after)


def _diff_objects(
    path: str, before: Mapping[str, object], after: Mapping[str, object]
) -> Iterator[ValueChange]:
    for name in dict.fromkeys((*before, *after)):
        pointer = f"{path}/{name.replace('~', '~0').replace('/', '~1')}"
        yield from _diff_values(pointer, before.get(name, _ABSENT), after.get(name, _ABSENT))


def _diff_lists(
    path: str, before: Sequence[object], after: Sequence[object]
) -> Iterator[ValueChange]:
    shared = min(len(before), len(after))
    for n in range(shared):
        yield from _diff_values(f"{path}/{n}", before[n], after[n])
    for n in range(shared, len(after)):
        yield ValueChange(ChangeOperation.ADD, f"{path}/{n}", None, after[n])
    # The last first, because a removal moves the entries behind it.
    for n in reversed(range(shared, len(before))):
        yield ValueChange(ChangeOperation.REMOVE, f"{path}/{n}", before[n], None)
