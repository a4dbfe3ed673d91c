"""Entities of NGSI-LD as each broker sends them, and every member that an attribute may have."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from penstock.datastore.ngsi.events import EntityUpdate, Metadata, NotifiedAttribute, Poison
from penstock.datastore.ngsi.linked_data.entities import VALUE_MEMBERS, read_linked_entity
from tests.datastore.ngsi.linked_data.broker_notifications import (
    NOTIFICATIONS,
    BrokerNotification,
    envelope,
)
from tests.datastore.ngsi.sample_notifications import read, updates
from tests.datastore.ngsi.test_malformed_notifications import anything

POINT = {"type": "Point", "coordinates": [8, 41]}


def attributes(simplified: bool = False, **members: Any) -> list[NotifiedAttribute]:
    entity = {"id": "urn:e", "type": "T", **members}
    found = read_linked_entity(entity, simplified=simplified)
    assert isinstance(found, EntityUpdate), found
    return list(found.attributes)


def refusal(**members: Any) -> str:
    found = read_linked_entity({"id": "urn:e", "type": "T", **members}, simplified=False)
    assert isinstance(found, Poison)
    return found.reason


@pytest.mark.parametrize("sent", NOTIFICATIONS.values(), ids=NOTIFICATIONS)
def test_a_notification_of_a_broker_is_read(sent: BrokerNotification) -> None:
    headers = {name.replace("-", "_"): value for name, value in sent.headers.items()}
    found = read(sent.body, **headers)
    assert (found.service, found.paths) == (sent.service, ("/",))
    assert tuple(updates(found)) == sent.updates


@pytest.mark.parametrize("sent", NOTIFICATIONS.values(), ids=NOTIFICATIONS)
def test_it_is_read_alike_without_its_headers(sent: BrokerNotification) -> None:
    assert tuple(updates(read(sent.body))) == sent.updates


def test_each_form_gives_the_same_values() -> None:
    normalized = attributes(
        speed={"type": "Property", "value": 50},
        owner={"type": "Relationship", "object": "urn:o"},
        at={"type": "GeoProperty", "value": POINT},
        name={"type": "LanguageProperty", "languageMap": {"en": "a"}},
        kind={"type": "VocabProperty", "vocab": "b"},
        raw={"type": "JsonProperty", "json": {"value": 1}},
        many={"type": "ListProperty", "valueList": [1, 2]},
        others={"type": "ListRelationship", "objectList": [{"object": "urn:p"}]},
    )
    concise = attributes(
        speed=50,
        owner={"object": "urn:o"},
        at=POINT,
        name={"languageMap": {"en": "a"}},
        kind={"vocab": "b"},
        raw={"json": {"value": 1}},
        many={"valueList": [1, 2]},
        others={"objectList": [{"object": "urn:p"}]},
    )
    assert concise == normalized
    simplified = attributes(
        True,
        speed=50,
        owner="urn:o",
        at=POINT,
        name={"languageMap": {"en": "a"}},
        kind={"vocab": "b"},
        raw={"json": {"value": 1}},
        many={"valueList": [1, 2]},
        others={"objectList": [{"object": "urn:p"}]},
    )
    # A simplified relationship is a text like others.
    normalized[1] = NotifiedAttribute("owner", "Property", "urn:o")
    assert simplified == normalized


@pytest.mark.parametrize(
    "kind",
    ["GeoProperty", "geoproperty", "https://uri.etsi.org/ngsi-ld/GeoProperty", "a:GeoProperty"],
)
def test_a_type_has_one_name_however_it_is_spelled(kind: str) -> None:
    (found,) = attributes(at={"type": kind, "value": POINT})
    assert found == NotifiedAttribute("at", "GeoProperty", POINT)


def test_members_beside_the_value_are_metadata() -> None:
    (found,) = attributes(
        speed={
            "type": "Property",
            "value": 50,
            "unitCode": "KMH",
            "observedAt": "2021-07-16T15:51:54Z",
            "accuracy": {
                "value": 1,
                "unitCode": "P1",
                "by": {"type": "Relationship", "object": "urn:s"},
            },
            "previousValue": {"a": 1},
        }
    )
    assert found.metadata == (
        Metadata("unitCode", "Text", "KMH"),
        Metadata("observedAt", "DateTime", "2021-07-16T15:51:54Z"),
        Metadata("accuracy", "Property", 1),
        Metadata("accuracy.unitCode", "Text", "P1"),
        Metadata("accuracy.by", "Relationship", "urn:s"),
        Metadata("previousValue", "StructuredValue", {"a": 1}),
    )


def test_each_dataset_is_an_attribute_of_its_own() -> None:
    listed = [
        {"type": "Property", "value": 1},
        {"type": "Property", "value": 2, "datasetId": "urn:d:2"},
        {"type": "Property", "value": 3, "datasetId": "@none"},
    ]
    found = attributes(speed=listed)
    assert [(each.name, each.value) for each in found] == [
        ("speed", 1),
        ("speed@urn:d:2", 2),
        ("speed", 3),
    ]
    assert found[1].metadata == (Metadata("datasetId", "Text", "urn:d:2"),)
    assert attributes(speed=listed[1]) == [found[1]]
    (default, other) = attributes(True, speed={"dataset": {"@none": 1, "urn:d:2": 2}})
    assert (default.name, other.name) == ("speed", "speed@urn:d:2")


def test_a_list_of_values_is_a_value() -> None:
    assert attributes(n={"type": "Property", "value": [1, 2]})[0].value == [1, 2]
    assert attributes(n=[1, {"a": 2}])[0].value == [1, {"a": 2}]
    assert attributes(n=[])[0].value == []


def test_a_deleted_attribute_is_null() -> None:
    (found,) = attributes(
        speed={"type": "Property", "value": "urn:ngsi-ld:null", "deletedAt": "2024-01-01T00:00:00Z"}
    )
    assert found.value is None
    assert found.metadata == (Metadata("deletedAt", "DateTime", "2024-01-01T00:00:00Z"),)


def test_an_attribute_without_a_value_is_null() -> None:
    (found,) = attributes(speed={"type": "Property", "observedAt": "2024-01-01T00:00:00Z"})
    assert (found.type, found.value) == ("Property", None)
    assert found.metadata == (Metadata("observedAt", "DateTime", "2024-01-01T00:00:00Z"),)
    assert attributes(owner={"type": "Relationship"}) == [
        NotifiedAttribute("owner", "Relationship", None)
    ]


def test_several_types_of_an_entity_have_one_order() -> None:
    for types in (["Vehicle", "Car"], ["Car", "Vehicle"]):
        (update,) = updates(read(envelope({"id": "urn:e", "type": types, "n": 1})))
        assert update.entity_type == "Car,Vehicle"


def test_a_scope_is_stored_and_gives_no_service_path() -> None:
    found = read(envelope({"id": "urn:e", "type": "T", "scope": ["/a", "/b"]}))
    assert found.paths == ("/",)
    (update,) = updates(found)
    assert update.attributes == (NotifiedAttribute("scope", "StructuredValue", ["/a", "/b"]),)


def test_numbers_are_exact_in_every_form() -> None:
    body = b"""{"type": "Notification", "data": [{"id": "urn:e", "type": "T",
      "a": {"type": "Property", "value": 22.0}, "b": {"value": 1e3}, "c": 5.50}]}"""
    (update,) = updates(read(body))
    assert [each.value for each in update.attributes] == [Raw(b"22.0"), Raw(b"1e3"), Raw(b"5.50")]


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({"id": 1}, "The entity's id is missing or not a text."),
        ({"type": [1]}, "The entity's type is not a text."),
        ({"": 1}, "An attribute's name is missing or not a text."),
        ({"n" * 257: 1}, "An attribute's name is longer than 256 characters."),
        ({"n": {"value": 1, "datasetId": 2}}, "The datasetId of 'n' is missing or not a text."),
        (
            {"n": {"value": 1, "datasetId": "d" * 255}},
            "An attribute's name is longer than 256 characters.",
        ),
        ({"n": {"value": 1, "": 2}}, "A metadata's name is missing or not a text."),
        ({"n": [{"value": 1}] * 501}, "The entity has more than 500 attributes."),
    ],
)
def test_an_entity_that_cannot_be_read_says_why(members: dict[str, Any], reason: str) -> None:
    assert refusal(**members) == reason


def test_attributes_within_attributes_have_a_bound() -> None:
    deep: Any = {"value": 1}
    for _ in range(66):
        deep = {"value": 1, "s": deep}
    assert "64 levels" in refusal(n=deep)


def test_an_entity_that_cannot_be_read_spoils_no_other() -> None:
    good = {"id": "urn:e", "type": "T", "n": {"value": 1, "unitCode": "KMH"}}
    found = read(envelope(good, {"type": "T"}, good))
    assert [type(entry) for _, entry in found.entries] == [EntityUpdate, Poison, EntityUpdate]


def test_the_id_of_a_notification_tells_a_retry() -> None:
    body = envelope({"id": "urn:e", "type": "T", "n": 1})
    first = read(body)
    assert first.repeatable
    assert read(body) == first
    assert read({**body, "id": "urn:other"}).identity != first.identity
    assert read(body, ngsild_tenant="t1").identity != first.identity
    assert not read({**body, "id": 1}).repeatable


members = st.dictionaries(
    st.sampled_from(("type", "datasetId", "observedAt", "dataset", "x", *VALUE_MEMBERS)),
    anything,
    max_size=4,
)


@given(
    st.dictionaries(
        st.text(max_size=6), st.one_of(members, st.lists(members, max_size=3)), max_size=4
    ),
    st.booleans(),
)
def test_whatever_an_entity_holds_is_read_or_refused(
    entity: dict[str, Any], simplified: bool
) -> None:
    found = read_linked_entity({"id": "urn:e", **entity}, simplified=simplified)
    assert isinstance(found, EntityUpdate) or found.reason


@pytest.mark.parametrize("kind", [["Point"], {"Point": 1}, 1, None, "Circle"])
def test_coordinates_of_no_geometry_are_a_property(kind: object) -> None:
    value = {"type": kind, "coordinates": [8, 41]}
    for simplified in (False, True):
        (found,) = attributes(simplified, place=value)
        assert (found.type, found.value) == ("Property", value)
