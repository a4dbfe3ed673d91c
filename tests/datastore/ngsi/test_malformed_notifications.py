"""Malformed notifications are refused, and unreadable entities do not affect the others."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastore.errors import BadArgument, LimitExceeded
from penstock.datastore.ngsi.events import EntityUpdate, Poison
from penstock.datastore.ngsi.notification import Format, NotificationHeaders, read_notification
from tests.datastore.ngsi.sample_notifications import poison, read, updates


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"  ",
        b"{",
        b"[]",
        b"null",
        b'{"data": []}',
        b'{"data": {}}',
        b"{}",
        b'{"contextResponses": []}',
        b'{"subscriptionId": 1, "data": [{"id": "a"}]}',
        b'{"data": [{"id": "\xff"}]}',
        b'{"data": [{"id": "\\ud800"}]}',
        b"[" * 5000 + b"]" * 5000,
        b'{"data": [{"id": "a", "n": ' + b"1" * 5000 + b"}]}",
    ],
)
def test_a_body_that_is_no_notification_is_refused(body: bytes) -> None:
    with pytest.raises(BadArgument):
        read(body)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"{", "it is no JSON"),
        (b'{"data": [{"id": "\xff"}]}', "it is no JSON"),
        (b"[" * 5000 + b"]" * 5000, "it is nested too deep"),
    ],
)
def test_a_body_is_refused_in_words_of_our_own(body: bytes, words: str) -> None:
    with pytest.raises(BadArgument) as refused:
        read(body)
    assert refused.value.message == f"The body cannot be read: {words}."


@pytest.mark.parametrize(
    ("entity", "reason"),
    [
        (1, "The entity is not an object."),
        ({}, "The entity's id is missing or not a text."),
        ({"id": 1}, "The entity's id is missing or not a text."),
        ({"id": "a" * 257}, "The entity's id is longer than 256 characters."),
        ({"id": "a\u0000"}, "The entity's id holds the character U+0000."),
        ({"id": "a", "type": 1}, "The entity's type is not a text."),
        ({"id": "a", "t": 1}, "The attribute 't' is not an object."),
        ({"id": "a", "": {"value": 1}}, "An attribute's name is missing or not a text."),
        ({"id": "a", "t": {"value": 1, "type": 2}}, "The attribute 't''s type is not a text."),
        ({"id": "a", "t": {"metadata": []}}, None),
        ({"id": "a", "t": {"metadata": [1]}}, "The metadata of 't' is not an object."),
        ({"id": "a", "t": {"metadata": {"m": 1}}}, "A metadata is not an object."),
        (
            {"id": "a", **{f"t{n}": {"value": 1} for n in range(501)}},
            "The entity has more than 500 attributes.",
        ),
    ],
)
def test_an_entity_that_cannot_be_understood_says_why(entity: Any, reason: str | None) -> None:
    if reason is None:
        assert updates(read({"data": [entity]}, ngsiv2_attrsformat="normalized"))
    else:
        assert poison(entity, ngsiv2_attrsformat="normalized") == reason


def test_a_value_that_is_nested_too_deep_is_poison() -> None:
    deep: Any = 1
    for _ in range(66):
        deep = [deep]
    assert "64 levels" in poison({"id": "a", "t": deep}, ngsiv2_attrsformat="keyValues")


NESTED = [b"[%s]", b'{"b": %s}']


@pytest.mark.parametrize("around", NESTED)
@pytest.mark.parametrize("headers", [{}, {"content_type": "application/ld+json"}])
def test_an_entity_of_some_hundred_levels_is_a_dead_letter_and_of_more_is_no_notification(
    around: bytes, headers: dict[str, str]
) -> None:
    ((_, entry),) = read(_nested_entity(around, 250), **headers).entries
    assert isinstance(entry, Poison)
    for levels in (257, 400, 900):
        with pytest.raises(BadArgument, match="nested too deep"):
            read(_nested_entity(around, levels), **headers)


def _nested_entity(around: bytes, levels: int) -> bytes:
    before, after = around.split(b"%s")
    value = before * levels + b"1" + after * levels
    return b'{"data": [{"id": "urn:x:1", "type": "T", "a": ' + value + b"}]}"


@pytest.mark.parametrize("element", [1, {}, {"contextElement": {"id": "a", "attributes": {}}}])
def test_a_legacy_response_that_cannot_be_understood_is_poison(element: Any) -> None:
    ((_, entry),) = read({"contextResponses": [element]}).entries
    assert isinstance(entry, Poison)
    assert entry.payload == element


def test_a_poisoned_entity_spoils_no_other() -> None:
    found = read({"data": [{"id": "a"}, {}, {"id": "b"}]})
    assert [type(entry) for _, entry in found.entries] == [EntityUpdate, Poison, EntityUpdate]


def test_a_notification_holds_at_most_a_thousand_entities_and_forty_paths() -> None:
    with pytest.raises(LimitExceeded) as refused:
        read({"data": [{"id": "a"}] * 1001})
    assert (refused.value.maximum, refused.value.actual) == (1000, 1001)
    paths = ",".join(f"/p{n}" for n in range(41))
    with pytest.raises(LimitExceeded):
        read({"data": [{"id": "a"}] * 41}, fiware_servicepath=paths)


anything = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(anything, st.sampled_from([None, *Format]))
def test_whatever_is_sent_is_read_or_refused_with_a_reason(body: Any, form: Format | None) -> None:
    headers = {} if form is None else {"ngsiv2_attrsformat": form.value}
    for sent in (body, {"data": [body]}, {"contextResponses": [{"contextElement": body}]}):
        with suppress(BadArgument):
            found = read(sent, **headers)
            assert all(not isinstance(e, Poison) or e.reason for _, e in found.entries)


words = st.sampled_from(
    (
        *("@context", "@type", "@value", "coordinates", "dataset", "datasetId", "languageMap"),
        *("metadata", "name", "object", "observedAt", "scope", "type", "value", "values"),
        *("Point", "Property", "Notification", "DateTime", "urn:ngsi-ld:null", "@none"),
        *("2024-02-30T25:00:00Z", "id", "contextElement", "attributes", "TimeInstant"),
    )
)
telling = st.recursive(
    st.one_of(st.none(), st.integers(-1, 1), words),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(words, inner, max_size=4)),
    max_leaves=12,
)
"""What readers look for, in places where it does not belong."""


@given(
    st.dictionaries(words, telling, max_size=4),
    st.sampled_from(({}, {"content_type": "application/ld+json"})),
    st.sampled_from(
        (
            {},
            {"ngsild_attribute_format": "simplified"},
            *({"ngsiv2_attrsformat": one} for one in Format),
        )
    ),
)
def test_telling_words_in_any_place_are_read_or_refused_with_a_reason(
    members: dict[str, Any], media: dict[str, str], form: dict[str, str]
) -> None:
    entity = {"id": "urn:e", "t": members, **members}
    for sent in ({"data": [entity]}, entity, {"type": "Notification", "data": entity}):
        with suppress(BadArgument):
            found = read(sent, **media, **form)
            assert all(not isinstance(e, Poison) or e.reason for _, e in found.entries)


@given(st.binary(max_size=60))
def test_whatever_bytes_are_sent_are_read_or_refused(body: bytes) -> None:
    with pytest.raises(BadArgument):
        read_notification(NotificationHeaders("s", ("/",), Format.NORMALIZED, None), body)
