"""Changes between versions, applied one after another, turn the one version into the other."""

from copy import deepcopy
from decimal import Decimal
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastore.records import (
    DatasetColumn,
    Output,
    Pipeline,
    RowKeeping,
    State,
    Tag,
    Transform,
    Transformer,
    ValueType,
)
from penstock.datastore.resources.version_diff import (
    MAX_CHANGES,
    ChangeOperation,
    ValueChange,
    _content,
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


def number(index: int, key: str | None, label: str | None = None) -> Output:
    return Output(index=index, key=key, label=label, type=ValueType.NUMBER)


def transformer(*entries: tuple[str | None, str]) -> Transformer:
    """A transformer whose transforms have these keys of outputs and formulas."""
    transforms = tuple(
        Transform(index=n, formula=formula, outputs=(number(0, key),))
        for n, (key, formula) in enumerate(entries)
    )
    return Transformer(parameters=(), transforms=transforms)


def paths(before: Transformer, after: Transformer) -> list[str]:
    found = diff_versions(of_kind("P", transformer=before), of_kind("P", transformer=after))
    return [f"{one.op} {one.path.removeprefix('/transformer/transforms')}" for one in found]


FIVE = [(key, f":{key}") for key in "abcde"]


def test_a_transform_in_front_of_five_is_one_change() -> None:
    after = transformer(("new", "1"), *FIVE)
    (change,) = diff_versions(
        of_kind("P", transformer=transformer(*FIVE)), of_kind("P", transformer=after)
    )
    assert (change.op, change.path) == (ChangeOperation.ADD, "/transformer/transforms/0")
    assert change.after == {
        "formula": "1",
        "outputs": [{"key": "new", "label": None, "description": None, "type": "NUMBER"}],
    }
    assert paths(after, transformer(*FIVE)) == ["remove /0"]


def test_entries_are_found_again_by_their_keys() -> None:
    five = transformer(*FIVE)
    changed = [("a", "1"), ("x", ":x"), ("c", ":c"), ("e", "2")]
    assert paths(five, transformer(*changed)) == [
        "replace /0/formula",
        "replace /1/formula",
        "replace /1/outputs/0/key",
        "remove /3",
        "replace /3/formula",
    ]
    assert paths(five, transformer(*FIVE[1:], FIVE[0])) == ["remove /0", "add /4"]
    assert paths(five, transformer(("A", ":a"), *FIVE[1:])) == ["replace /0/outputs/0/key"]


def test_entries_without_keys_are_found_again_by_what_they_hold() -> None:
    bare = [(None, str(n)) for n in range(5)]
    assert paths(transformer(*bare), transformer((None, "9"), *bare)) == ["add /0"]
    assert paths(transformer(*bare), transformer(*bare[:2], (None, "9"), *bare[3:])) == [
        "replace /2/formula"
    ]


def test_tags_and_columns_and_lists_of_names_are_compared_by_key() -> None:
    tags = tuple(Tag(key=key, value="1") for key in "abc")
    assert diff_versions(of_kind("P", tags=tags), of_kind("P", tags=tags[1:])) == [
        (ChangeOperation.REMOVE, "/tags/0", {"key": "a", "value": "1"}, None)
    ]
    column = DatasetColumn(name="new", type=ValueType.NUMBER)
    before = of_kind("D")
    wider = msgspec.structs.replace(
        before.content, columns=(column, *before.content.columns), key_column="k"
    )
    (change,) = diff_versions(before, msgspec.structs.replace(before, content=wider))
    assert (change.op, change.path) == (ChangeOperation.ADD, "/content/columns/0")
    keeping = [RowKeeping(key=tuple(names)) for names in ("bc", "abc")]
    kept = [msgspec.structs.replace(TRANSFORMER, rows=rows) for rows in keeping]
    found = diff_versions(*(of_kind("P", transformer=one) for one in kept))
    assert found == [(ChangeOperation.ADD, "/transformer/rows/key/0", None, "a")]


ENTRIES = st.lists(
    st.tuples(st.none() | st.sampled_from("abAé"), st.sampled_from(["1", "2"])), max_size=6
)


@given(ENTRIES, ENTRIES)
def test_changes_of_entries_done_one_after_another_turn_one_list_into_the_other(
    before: list[tuple[str | None, str]], after: list[tuple[str | None, str]]
) -> None:
    one, other = [of_kind("P", transformer=transformer(*each)) for each in (before, after)]
    document = deepcopy(_content(one))
    for change in diff_versions(one, other):
        document = apply_patch(document, change)
    assert document == _content(other)
    assert diff_versions(one, one) == []
