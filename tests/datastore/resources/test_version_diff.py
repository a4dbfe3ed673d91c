"""Changes between versions, applied one after another, turn the one version into the other."""

from copy import deepcopy
from decimal import Decimal
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastore.records import Pipeline, State, Tag
from penstock.datastore.resources.version_diff import (
    MAX_CHANGES,
    ChangeOperation,
    ValueChange,
    diff_versions,
)
from penstock.datastore.table.layout import KINDS
from tests.support.sample_resources import OWN, TRANSFORMER, USA

LEAVES = st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from(["", "a", "/", "~1"])
VALUES = st.recursive(
    LEAVES | st.just(Decimal("0.1")),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab/~"), inner, max_size=3)
    ),
    max_leaves=12,
)
OBJECTS = st.none() | st.dictionaries(st.sampled_from("ab/~"), VALUES, max_size=3)


def of_kind(letter: str, **content: Any) -> Any:
    (kind,) = (kind for kind in KINDS if kind.letter == letter)
    stamps = {"created_at": "t", "created_by": "u", "updated_at": "t", "updated_by": "u"}
    fixed = {"id": "1", "state": State.ENABLED, "version": 1, "revision": 1, "owner": USA}
    named = {"name": "one", "tags": (), "groups": (USA,)}
    return kind.record(**{**fixed, **stamps, **named, **OWN[letter], **content})


def with_attributes(attributes: Any) -> Pipeline:
    pipeline: Pipeline = of_kind("P", attributes=attributes)
    return pipeline


def typed_value(value: Any) -> Any:
    """A value that equals no other of another type: true is not 1."""
    if isinstance(value, dict):
        return {name: typed_value(one) for name, one in value.items()}
    if isinstance(value, list):
        return [typed_value(one) for one in value]
    return (isinstance(value, bool), value)


def apply_patch(document: Any, change: ValueChange) -> Any:
    """Apply one operation as RFC 6902 defines it."""
    *above, last = change.path.split("/")[1:]
    place = document
    for step in above:
        name = step.replace("~1", "/").replace("~0", "~")
        place = place[int(name)] if isinstance(place, list) else place[name]
    name = last.replace("~1", "/").replace("~0", "~")
    key: Any = int(name) if isinstance(place, list) else name
    if change.op is not ChangeOperation.ADD:
        assert typed_value(place[key]) == typed_value(change.before)
    if change.op is ChangeOperation.REMOVE:
        del place[key]
    elif change.op is ChangeOperation.ADD and isinstance(place, list):
        place.insert(key, change.after)
    else:
        place[key] = change.after
    return document


@given(OBJECTS, OBJECTS)
def test_the_changes_done_one_after_another_turn_one_version_into_the_other(
    before: Any, after: Any
) -> None:
    found = diff_versions(with_attributes(before), with_attributes(after))
    document = {"attributes": deepcopy(before)}
    for change in found:
        assert change.path.startswith("/attributes")
        document = apply_patch(document, change)
    assert typed_value(document) == typed_value({"attributes": after})


@given(OBJECTS)
def test_nothing_differs_from_itself(attributes: Any) -> None:
    assert diff_versions(with_attributes(attributes), with_attributes(attributes)) == []


def test_the_fields_are_named_as_clients_know_them() -> None:
    before = of_kind("C", tags=(Tag(key="a", value="b"),))
    after = of_kind(
        "C",
        name="two",
        state=State.FROZEN,
        version=7,
        updated_by="v",
        groups=(),
        formula="2",
        tags=(Tag(key="a", value="c"), Tag(key="d", value="e")),
    )
    assert diff_versions(before, after) == [
        (ChangeOperation.REPLACE, "/name", "one", "two"),
        (ChangeOperation.REPLACE, "/state", "ENABLED", "FROZEN"),
        (ChangeOperation.REPLACE, "/tags/0/value", "b", "c"),
        (ChangeOperation.ADD, "/tags/1", None, {"key": "d", "value": "e"}),
        (ChangeOperation.REPLACE, "/formula", "1", "2"),
    ]
    assert [change.op for change in diff_versions(after, before)] == [
        *[ChangeOperation.REPLACE] * 3,
        ChangeOperation.REMOVE,
        ChangeOperation.REPLACE,
    ]


def test_a_field_with_very_many_changes_is_told_as_one() -> None:
    few, many = ({"n": list(range(count))} for count in (MAX_CHANGES, MAX_CHANGES + 1))
    empty: dict[str, Any] = {"n": []}
    assert len(diff_versions(with_attributes(empty), with_attributes(few))) == MAX_CHANGES
    assert diff_versions(with_attributes(empty), with_attributes(many)) == [
        (ChangeOperation.REPLACE, "/attributes", empty, many)
    ]


def test_transforms_are_compared_by_their_places() -> None:
    transform = TRANSFORMER.transforms[0]
    twice = msgspec.structs.replace(
        TRANSFORMER, transforms=(transform, msgspec.structs.replace(transform, index=1))
    )
    (change,) = diff_versions(of_kind("P"), of_kind("P", transformer=twice))
    assert (change.op, change.path) == (ChangeOperation.ADD, "/transformer/transforms/1")
    assert change.after == {
        "index": 1,
        "formula": "1",
        "outputs": [
            {"index": 0, "key": None, "label": None, "description": None, "type": "NUMBER"}
        ],
    }
