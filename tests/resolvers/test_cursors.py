"""Cursors open only in the list that made them, and page arguments have one meaning."""

from base64 import urlsafe_b64encode
from dataclasses import fields
from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastore.errors import BadArgument
from penstock.datastore.manifest.lists import RunListFilter
from penstock.datastore.manifest.records import ManifestName, RunState
from penstock.datastore.ngsi.directory import Entity, Service, ServicePath
from penstock.datastore.ngsi.reading.series import TimeSpan
from penstock.datastore.records import Tag
from penstock.datastore.resources.reading import ListRequest
from penstock.datastore.roles import GroupPath
from penstock.datastore.tag_search.tags import TagFilter
from penstock.resolvers.cursors import Cursors, digest_of_list
from penstock.schema.core.context import PageArguments, page_arguments

CURSORS = Cursors(b"k" * 32)
SCOPES = st.text(max_size=40)
POSITIONS = st.text(max_size=120)
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_="


def is_refused(scope: str, cursor: str, cursors: Cursors = CURSORS) -> bool:
    with pytest.raises(BadArgument) as caught:
        cursors.open(scope, cursor)
    return caught.value.message == "Invalid cursor."


@given(SCOPES, POSITIONS)
def test_a_cursor_opens_in_its_own_scope(scope: str, position: str) -> None:
    cursor = CURSORS.seal(scope, position)
    assert CURSORS.open(scope, cursor) == position
    assert CURSORS.seal(scope, position) == cursor
    assert set(cursor) <= set(ALPHABET) - {"="}


@given(SCOPES, POSITIONS, st.data())
def test_a_changed_character_is_refused(scope: str, position: str, data: st.DataObject) -> None:
    cursor = CURSORS.seal(scope, position)
    at = data.draw(st.integers(0, len(cursor) - 1))
    other = data.draw(st.sampled_from(ALPHABET).filter(lambda one: one != cursor[at]))
    assert is_refused(scope, cursor[:at] + other + cursor[at + 1 :])


@given(SCOPES, POSITIONS, st.data())
def test_a_shortened_or_lengthened_cursor_is_refused(
    scope: str, position: str, data: st.DataObject
) -> None:
    cursor = CURSORS.seal(scope, position)
    assert is_refused(scope, cursor[: data.draw(st.integers(0, len(cursor) - 1))])
    assert is_refused(scope, cursor + data.draw(st.text(ALPHABET, min_size=1, max_size=4)))


@given(SCOPES, SCOPES, POSITIONS)
def test_a_cursor_of_another_scope_is_refused(scope: str, other: str, position: str) -> None:
    if scope != other:
        assert is_refused(other, CURSORS.seal(scope, position))


def test_the_border_between_scope_and_position_is_sealed_too() -> None:
    assert is_refused("ab", CURSORS.seal("a", "bc"))
    assert is_refused("list:ann", CURSORS.seal("list", ":annx"))


def test_a_cursor_of_another_key_is_refused() -> None:
    assert is_refused("list", Cursors(b"z" * 32).seal("list", "p"))


@given(st.text(max_size=60))
def test_any_text_is_refused_with_the_same_words(text: str) -> None:
    assert is_refused("list", text)


def test_an_overlong_cursor_is_refused() -> None:
    assert is_refused("list", CURSORS.seal("list", "p" * 4_000))


def test_a_typical_cursor_is_short() -> None:
    assert len(CURSORS.seal("pipelines:/usa", "0192f0c1-7b7e-7000-8000-000000000001")) == 64


def test_a_short_key_is_no_key() -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        Cursors(b"short")


def test_the_first_twenty_are_meant_where_nothing_is_said() -> None:
    assert page_arguments() == PageArguments(20, None, backward=False)
    assert page_arguments(after="c") == PageArguments(20, "c", backward=False)


def test_a_page_is_read_forwards_or_backwards() -> None:
    assert page_arguments(first=1) == PageArguments(1, None, backward=False)
    assert page_arguments(first=100, after="c") == PageArguments(100, "c", backward=False)
    assert page_arguments(last=5, before="c") == PageArguments(5, "c", backward=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"first": 1, "last": 1}, "Give `first` or `last`, not both."),
        ({"first": 0}, "`first` is 1 to 100, not 0."),
        ({"first": 101}, "`first` is 1 to 100, not 101."),
        ({"last": -1}, "`last` is 1 to 100, not -1."),
        ({"first": 1, "before": "c"}, "`before` goes with `last`."),
        ({"before": "c"}, "`before` goes with `last`."),
        ({"last": 1, "after": "c"}, "`after` goes with `first`."),
        ({"last": 1, "after": "c", "before": "d"}, "`after` goes with `first`."),
    ],
)
def test_arguments_that_cannot_stand_are_named(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(BadArgument) as caught:
        page_arguments(**arguments)  # type: ignore[arg-type]
    assert caught.value.message == message


NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
TAGS = TagFilter(all=(Tag(key="scope", value="1"),))
IDENTITIES: tuple[tuple[object, ...], ...] = (
    ("pipelines", ListRequest(group=GroupPath("/usa"), tags=TAGS, newest_first=False)),
    ("pipelines", ListRequest(group=GroupPath("/usa"), tags=TAGS)),
    ("pipelines", ListRequest(group=None, tags=TAGS)),
    ("calculations", ListRequest(group=None, tags=TAGS)),
    ("runs", ManifestName(GroupPath("/usa"), "loads"), RunListFilter(state=RunState.NEW)),
    ("runs", ManifestName(GroupPath("/usa"), "loads"), RunListFilter(start=NOON)),
    ("runs", ManifestName(GroupPath("/usa"), "loads"), RunListFilter(end=NOON)),
    ("series", Entity("s", "/p", "car1", "car"), TimeSpan(end=NOON)),
    ("series", Entity("s", "/p", "car1", "car"), TimeSpan(start=NOON)),
    ("paths", Service("s")),
    ("paths", ServicePath("s", "/p")),
)


def test_lists_with_other_arguments_have_other_digests() -> None:
    digests = {digest_of_list(user, one) for one in IDENTITIES for user in ("ann", "bob")}
    assert len(digests) == 2 * len(IDENTITIES)


@pytest.mark.parametrize("identity", IDENTITIES)
def test_the_names_of_classes_are_not_sealed(identity: tuple[object, ...]) -> None:
    name, *parts = identity
    renamed = tuple(_with_another_class_name(part) for part in parts)
    assert digest_of_list("ann", (name, *renamed)) == digest_of_list("ann", identity)
    assert [type(one).__name__ for one in renamed] == ["Renamed"] * len(parts)


def _with_another_class_name(value: object) -> object:
    """Copy an object to one of a class of another name."""
    if isinstance(value, tuple):
        return type("Renamed", (type(value),), {"__slots__": ()})(*value)
    if isinstance(value, msgspec.Struct):
        renamed = msgspec.defstruct("Renamed", [], bases=(type(value),))
        return renamed(*msgspec.structs.astuple(value))
    values = {field.name: getattr(value, field.name) for field in fields(value)}  # type: ignore[arg-type]
    return type("Renamed", (type(value),), {"__slots__": ()})(**values)


def test_a_position_that_is_no_text_is_refused() -> None:
    payload = b"\xff\xfe"
    raw = CURSORS._seal("list", payload) + payload
    assert is_refused("list", urlsafe_b64encode(raw).rstrip(b"=").decode())
