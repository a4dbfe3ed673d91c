"""Bodies with each sign of NGSI-LD, and NGSIv2 that looks like it.

What Orion-LD converts to NGSIv2 is from issue 623 of FIWARE/context.Orion-LD.
"""

from typing import Any, Final

from tests.datastore.ngsi.linked_data.broker_notifications import CORE, envelope


def entity(**attributes: Any) -> dict[str, Any]:
    return {"id": "urn:ngsi-ld:Vehicle:A4567", "type": "Vehicle", **attributes}


SPEED: Final = {"type": "Property", "value": 50}
LD_BODIES: Final = {
    "Orion-LD, normalized": envelope(entity(speed=SPEED)),
    "Orion-LD, concise": envelope(entity(speed={"value": 50, "unitCode": "KMH"})),
    "Orion-LD, simplified": envelope(entity(speed=50)),
    "Orion-LD, ld+json": envelope(entity(speed=SPEED), **{"@context": CORE}),
    "context around NGSIv2": {"@context": [CORE], "data": [{"id": "a"}]},
    "context in an entity": {"data": [entity(**{"@context": CORE}, speed=1)]},
    "relationship": {"data": [entity(owner={"type": "Relationship", "object": "urn:x"})]},
    "geo property of Stellio": {
        "data": [entity(at={"type": "GeoProperty", "value": {}, "createdAt": "2021-07-16"})]
    },
    "language property": {"data": [entity(n={"type": "LanguageProperty", "languageMap": {}})]},
    "vocabulary": {"data": [entity(n={"type": "VocabProperty", "vocab": "a"})]},
    "several instances": {"data": [entity(speed=[SPEED, {**SPEED, "datasetId": "urn:d:1"}])]},
    "beside an entity of NGSIv2": {
        "data": [{"id": "car1", "type": "car"}, entity(speed={**SPEED, "observedAt": "2021"})]
    },
    "only types of NGSI-LD": {
        "data": [entity(speed=SPEED, at={"type": "GeoProperty", "value": 1})]
    },
    "bare": entity(speed=SPEED),
    "bare, concise": entity(speed={"value": 1, "observedAt": "2021-07-16T15:51:54Z"}),
    "concise, with a unit": {"data": [entity(speed={"value": 1, "unitCode": "KMH"}, name="a")]},
    "concise, several instances": {
        "data": [
            entity(
                speed=[{"value": 1, "datasetId": "urn:d:1"}, {"value": 2, "datasetId": "urn:d:2"}]
            )
        ]
    },
    "an expanded type": envelope(
        entity(speed=SPEED), type="https://uri.etsi.org/ngsi-ld/Notification"
    ),
    "a list of types": envelope(entity(speed=SPEED), type=["Notification"]),
    "a list of expanded types": envelope(
        entity(speed=SPEED), type=["https://uri.etsi.org/ngsi-ld/Notification", "a"]
    ),
}
"""Bodies of NGSI-LD, each sent as plain `application/json`."""

V2_BODIES: Final = {
    "converted by Orion-LD": {
        "subscriptionId": "urn:ngsi-ld:Subscription:5fd1f31e8b9b83697b855a5d",
        "data": [
            {
                "id": "urn:ngsi-ld:Device:filling001",
                "type": "FillingSensor",
                "fillingLevel": {
                    "type": "Property",
                    "value": 0.33,
                    "metadata": {"accuracy": {"type": "Property", "value": 0.05}},
                },
                "controllingAsset": {
                    "type": "Relationship",
                    "value": "urn:ngsi-ld:Building:farm001",
                    "metadata": {},
                },
            }
        ],
    },
    "of Orion with types of NGSI-LD": {
        "subscriptionId": "57458eb60962ef754e7c0998",
        "data": [entity(speed={**SPEED, "metadata": {}})],
    },
    "without metadata": {"data": [{"id": "car1", "type": "car", "speed": SPEED}]},
    "of mixed types": {"data": [entity(speed=SPEED, oil={"type": "Number", "value": 1})]},
    "an entity of the type Notification": {
        "data": [{"id": "a", "type": "Notification", "notifiedAt": {"type": "Text", "value": "1"}}]
    },
    "values with members of NGSI-LD": {
        "data": [{"id": "car1", "type": "car", "speed": {"value": 1, "unitCode": "KMH"}}]
    },
    "a value without a type": {"data": [entity(speed={"value": 1})]},
    "metadata with the names of members": {
        "data": [
            entity(
                speed={"type": "Number", "value": 1, "metadata": {"unitCode": {"value": "KMH"}}},
                observedAt={"type": "DateTime", "value": "2021-07-16T15:51:54Z"},
            )
        ]
    },
    "an attribute named @context": {
        "data": [{"id": "a", "type": "t", "@context": {"type": "Text", "value": "b"}}]
    },
    "legacy": {
        "contextResponses": [
            {
                "contextElement": {
                    "id": "urn:ngsi-ld:Vehicle:A4567",
                    "type": "Vehicle",
                    "attributes": [{"name": "speed", "type": "Property", "value": "50"}],
                }
            }
        ]
    },
}
"""Bodies of NGSIv1 and NGSIv2 that share words with NGSI-LD."""
