"""NGSI-LD is known by every sign of it, and proper NGSIv1 and NGSIv2 is never taken for it."""

from collections.abc import Callable
from typing import Any

import pytest

from penstock.datastore.ngsi.events import EntityUpdate, Metadata, NotifiedAttribute
from penstock.datastore.ngsi.notification import read_any_entity
from tests.datastore.ngsi.linked_data.broker_notifications import LINK, envelope
from tests.datastore.ngsi.linked_data.sample_signs import LD_BODIES, SPEED, V2_BODIES, entity
from tests.datastore.ngsi.sample_notifications import heading, read, updates


def is_wrapped(value: Any) -> bool:
    """Whether a value is an attribute of NGSI-LD that was taken for a value."""
    return isinstance(value, dict) and not value.keys().isdisjoint(("object", "unitCode", "value"))


@pytest.mark.parametrize("body", LD_BODIES.values(), ids=LD_BODIES)
def test_the_values_of_ngsi_ld_are_read_and_not_their_wrapping(body: dict[str, Any]) -> None:
    found = [each for update in updates(read(body)) for each in update.attributes]
    assert not any(each.name == "@context" or is_wrapped(each.value) for each in found)
    sent: dict[str, tuple[Any, ...]] = {
        "speed": (1, 2, 50),
        "owner": ("urn:x",),
        "at": ({}, 1),
        "n": ({}, "a"),
        "name": ("a",),
    }
    assert all(each.value in sent[each.name.partition("@")[0]] for each in found)


@pytest.mark.parametrize(
    "spell", [str.lower, str.upper, "https://uri.etsi.org/ngsi-ld/{}".format, "ngsi-ld:{}".format]
)
def test_its_types_are_known_however_they_are_spelled(spell: Callable[[str], str]) -> None:
    for kind in ("Property", "Relationship", "LanguageProperty", "ListProperty"):
        (update,) = updates(read({"data": [entity(speed={**SPEED, "type": spell(kind)})]}))
        assert update.attributes == (NotifiedAttribute("speed", kind, 50),)
    body = {"id": "urn:n", "type": spell("Notification"), "data": [entity(speed={"object": "a"})]}
    (update,) = updates(read(body))
    assert update.attributes == (NotifiedAttribute("speed", "Relationship", "a"),)


@pytest.mark.parametrize(
    ("headers", "simplified"),
    [
        ({"ngsild_attribute_format": "Simplified"}, True),
        ({"ngsild_attribute_format": "keyValues"}, True),
        ({"ngsild_attribute_format": "Concise"}, False),
        ({"link": LINK}, False),
        ({"content_type": "application/ld+json"}, False),
        ({"content_type": "Application/LD+JSON; charset=utf-8"}, False),
        ({"content_type": 'application/json; profile="application/ld+json"'}, False),
    ],
)
def test_a_header_of_ngsi_ld_says_how_an_entity_is_read(
    headers: dict[str, str], simplified: bool
) -> None:
    value = {"value": 1, "a": 2}
    (update,) = updates(read({"data": [{"id": "car1", "type": "car", "n": value}]}, **headers))
    split = NotifiedAttribute("n", "Property", 1, (Metadata("a", "Number", 2),))
    assert update.attributes == (
        NotifiedAttribute("n", "Property", value) if simplified else split,
    )


@pytest.mark.parametrize(
    "headers",
    [
        {"link": '<https://a>; rel="next"'},
        {"content_type": "application/json; charset=utf-8"},
        {"fiware_service": "ngsild"},
        {"accept": "application/ld+json"},
        {"ngsild_tenant": "t1"},
    ],
)
def test_other_headers_are_no_sign_of_it(headers: dict[str, str]) -> None:
    assert not heading(**headers).linked


@pytest.mark.parametrize("body", V2_BODIES.values(), ids=V2_BODIES)
def test_what_only_looks_like_ngsi_ld_is_read_as_ngsiv2(body: dict[str, Any]) -> None:
    for update in updates(read(body)):
        assert update.attributes
        for each in update.attributes:
            assert "@" not in each.name[1:]
            assert each.value is not None


def test_the_header_of_ngsiv2_does_not_hide_an_envelope_of_ngsi_ld() -> None:
    body = envelope(entity(owner={"type": "Relationship", "object": "urn:o"}))
    (update,) = updates(read(body, ngsiv2_attrsformat="normalized"))
    assert update.attributes == (NotifiedAttribute("owner", "Relationship", "urn:o"),)
    (update,) = updates(read(envelope(entity(n={"value": 1})), ngsiv2_attrsformat="keyValues"))
    assert update.attributes == (NotifiedAttribute("n", "Property", {"value": 1}),)


def test_under_the_header_of_ngsiv2_types_alone_say_nothing() -> None:
    """Orion-LD may leave out empty metadata when it converts to NGSIv2."""
    body = {"data": [entity(speed={**SPEED, "type": "property"})]}
    (update,) = updates(read(body, ngsiv2_attrsformat="normalized"))
    assert update.attributes == (NotifiedAttribute("speed", "property", 50),)
    (update,) = updates(read(body))
    assert update.attributes == (NotifiedAttribute("speed", "Property", 50),)


def test_values_of_keys_may_be_any_object() -> None:
    value = {"type": "Relationship", "object": "urn:x"}
    (update,) = updates(read({"data": [entity(a=value)]}, ngsiv2_attrsformat="keyValues"))
    assert update.attributes[0].value == value


def test_a_bare_entity_of_ngsiv2_may_be_called_a_notification() -> None:
    body = {"id": "n1", "type": "Notification", "notifiedAt": "2021", "data": [1]}
    (update,) = updates(read(body, ngsiv2_attrsformat="simplifiedKeyValues"))
    assert [each.name for each in update.attributes] == ["notifiedAt", "data"]


def test_an_entity_of_a_dead_letter_is_read_again_in_its_form() -> None:
    found = read_any_entity(entity(speed={"value": 1, "unitCode": "KMH"}))
    assert isinstance(found, EntityUpdate)
    (speed,) = found.attributes
    assert speed == NotifiedAttribute(
        "speed", "Property", 1, (Metadata("unitCode", "Text", "KMH"),)
    )
