"""Notifications as the documentation and the tests of brokers show them, and what they say.

Each names the repository on GitHub and the path that it comes from. What a test of the broker
matches with a pattern, such as the id of a notification, has a value here.
"""

from dataclasses import dataclass, field
from typing import Any, Final

from penstock.datastore.ngsi.events import EntityUpdate, Metadata, NotifiedAttribute

CORE: Final = "https://uri.etsi.org/ngsi-ld/v1/ngsi-ld-core-context-v1.6.jsonld"
LINK: Final = f'<{CORE}>; rel="http://www.w3.org/ns/json-ld#context"; type="application/ld+json"'
SUB_R1: Final = Metadata("Sub-R1", "Relationship", "urn:E1")


@dataclass(frozen=True, slots=True)
class BrokerNotification:
    """A notification: where it comes from, its headers and its body, and the updates in it."""

    source: str
    headers: dict[str, str]
    body: dict[str, Any]
    updates: tuple[EntityUpdate, ...]
    service: str = field(default="default")


def envelope(*entities: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {
        "id": "urn:ngsi-ld:Notification:65925510-b64c-4bfa-942d-395803a9a784",
        "type": "Notification",
        "subscriptionId": "urn:ngsi-ld:Subscription:01",
        "notifiedAt": "2021-07-16T15:51:54.654005Z",
        "data": list(entities),
        **members,
    }


def orion_ld(form: str, **headers: str) -> dict[str, str]:
    return {
        "user-agent": "orionld/1.6.0",
        "content-type": "application/json",
        "link": LINK,
        "ngsild-attribute-format": form,
        **headers,
    }


_ORION_LD = "FIWARE/context.Orion-LD test/functionalTest/cases/0000_ngsild/"
_SCORPIO = "ScorpioBroker/ScorpioBroker docs/en/source/"
_CREATED = "2020-08-04T12:55:05.276000Z"
_SYSTEM_TIMES = (
    Metadata("createdAt", "DateTime", _CREATED),
    Metadata("modifiedAt", "DateTime", _CREATED),
)

NOTIFICATIONS: Final = {
    "Orion-LD, concise": BrokerNotification(
        _ORION_LD + "ngsild_new_notification_with_concise.test",
        {"content-type": "application/ld+json", "ngsild-attribute-format": "Concise"},
        envelope(
            {
                "P1": {"Sub-R1": {"object": "urn:E1"}, "value": 1},
                "P2": "ok",
                "id": "urn:ngsi-ld:E01",
                "type": "T",
            },
            **{
                "@context": "https://fiware.github.io/NGSI-LD_TestSuite/ldContext/testContext.jsonld"
            },
        ),
        (
            EntityUpdate(
                "urn:ngsi-ld:E01",
                "T",
                (
                    NotifiedAttribute("P1", "Property", 1, (SUB_R1,)),
                    NotifiedAttribute("P2", "Property", "ok"),
                ),
            ),
        ),
    ),
    "Orion-LD, a tenant": BrokerNotification(
        _ORION_LD + "ngsild_notification-with-autorization-and-tenant-header.test",
        {
            "fiware-servicepath": "/",
            "x-auth-token": "xauth",
            "ngsiv2-attrsformat": "normalized",
            "ngsild-tenant": "t1",
            "content-type": "application/json; charset=utf-8",
            "link": LINK,
        },
        envelope(
            {
                "P1": {"type": "Property", "value": 1},
                "R1": {"object": "urn:ngsi-ld:relationships:r1", "type": "Relationship"},
                "id": "urn:ngsi-ld:entities:E1",
                "type": "T",
            }
        ),
        (
            EntityUpdate(
                "urn:ngsi-ld:entities:E1",
                "T",
                (
                    NotifiedAttribute("P1", "Property", 1),
                    NotifiedAttribute("R1", "Relationship", "urn:ngsi-ld:relationships:r1"),
                ),
            ),
        ),
        "ngsild:t1",
    ),
    "Orion-LD, languages": BrokerNotification(
        _ORION_LD + "ngsild_langprop-and-notifications-new.test",
        orion_ld("Normalized"),
        envelope(
            {
                "L1": {
                    "languageMap": {"en": "english", "es": "ingles", "sv": "engelska"},
                    "type": "LanguageProperty",
                },
                "id": "urn:ngsi-ld:entities:E1",
                "type": "T",
            },
            {
                "L2": {"lang": "en", "type": "Property", "value": "english"},
                "id": "urn:ngsi-ld:entities:E2",
                "type": "T",
            },
        ),
        (
            EntityUpdate(
                "urn:ngsi-ld:entities:E1",
                "T",
                (
                    NotifiedAttribute(
                        "L1",
                        "LanguageProperty",
                        {"en": "english", "es": "ingles", "sv": "engelska"},
                    ),
                ),
            ),
            EntityUpdate(
                "urn:ngsi-ld:entities:E2",
                "T",
                (
                    NotifiedAttribute(
                        "L2", "Property", "english", (Metadata("lang", "Text", "en"),)
                    ),
                ),
            ),
        ),
    ),
    "Orion-LD, simplified": BrokerNotification(
        _ORION_LD + "ngsild_langprop-and-notifications-with-normalized-concise-simplified.test",
        orion_ld("Simplified"),
        envelope({"L": "yes", "id": "urn:E1", "type": "T"}),
        (EntityUpdate("urn:E1", "T", (NotifiedAttribute("L", "Property", "yes"),)),),
    ),
    "Orion-LD, a place": BrokerNotification(
        _ORION_LD + "ngsild_issue_0241_location-in-notifications.test",
        {
            "fiware-servicepath": "/",
            "ngsiv2-attrsformat": "normalized",
            "content-type": "application/ld+json",
        },
        envelope(
            {
                "id": "urn:ngsi-ld:Vehicle:A4501",
                "location": {
                    "type": "GeoProperty",
                    "value": {"coordinates": [8, 41], "type": "Point"},
                },
                "type": "Vehicle",
            },
            **{"@context": "http://uri.etsi.org/ngsi-ld/v1/ngsi-ld-core-context.jsonld"},
        ),
        (
            EntityUpdate(
                "urn:ngsi-ld:Vehicle:A4501",
                "Vehicle",
                (
                    NotifiedAttribute(
                        "location", "GeoProperty", {"coordinates": [8, 41], "type": "Point"}
                    ),
                ),
            ),
        ),
    ),
    "Orion-LD, a deleted entity": BrokerNotification(
        _ORION_LD + "ngsild_new_notifications_entity_delete.test",
        orion_ld("Normalized"),
        envelope({"deletedAt": "2024-02-13T18:15:00.100Z", "id": "urn:E1", "type": "T"}),
        (
            EntityUpdate(
                "urn:E1",
                "T",
                (NotifiedAttribute("deletedAt", "DateTime", "2024-02-13T18:15:00.100Z"),),
            ),
        ),
    ),
    "Stellio": BrokerNotification(
        "stellio-hub/stellio-context-broker docs/user/API_walkthrough.md",
        {"content-type": "application/json", "link": LINK},
        envelope(
            {
                "id": "urn:ngsi-ld:BeeHive:01",
                "type": "BeeHive",
                "temperature": {
                    "type": "Property",
                    "observedBy": {
                        "type": "Relationship",
                        "createdAt": "2021-07-16T15:51:54.215352Z",
                        "object": "urn:ngsi-ld:Sensor:01",
                    },
                    "createdAt": "2021-07-16T15:51:54.215300Z",
                    "value": 42,
                    "observedAt": "2025-10-26T22:35:52.986010Z",
                    "unitCode": "CEL",
                },
                "@context": [
                    "https://easy-global-market.github.io/ngsild-api-data-models/apic/"
                    "jsonld-contexts/apic-compound.jsonld"
                ],
            }
        ),
        (
            EntityUpdate(
                "urn:ngsi-ld:BeeHive:01",
                "BeeHive",
                (
                    NotifiedAttribute(
                        "temperature",
                        "Property",
                        42,
                        (
                            Metadata("observedBy", "Relationship", "urn:ngsi-ld:Sensor:01"),
                            Metadata(
                                "observedBy.createdAt", "DateTime", "2021-07-16T15:51:54.215352Z"
                            ),
                            Metadata("createdAt", "DateTime", "2021-07-16T15:51:54.215300Z"),
                            Metadata("observedAt", "DateTime", "2025-10-26T22:35:52.986010Z"),
                            Metadata("unitCode", "Text", "CEL"),
                        ),
                    ),
                ),
            ),
        ),
    ),
    "Stellio, a tenant": BrokerNotification(
        "stellio-hub/stellio-context-broker subscription-service/src/test/kotlin/com/egm/stellio/"
        "subscription/service/NotificationServiceTests.kt",
        {"content-type": "application/ld+json", "ngsild-tenant": "urn:ngsi-ld:tenant:01"},
        envelope(
            {
                "id": "urn:ngsi-ld:Apiary:XYZ01",
                "type": "Apiary",
                "name": {"type": "Property", "value": "ApiarySophia"},
                "managedBy": {"type": "Relationship", "object": "urn:ngsi-ld:Beekeeper:01"},
            }
        ),
        (
            EntityUpdate(
                "urn:ngsi-ld:Apiary:XYZ01",
                "Apiary",
                (
                    NotifiedAttribute("name", "Property", "ApiarySophia"),
                    NotifiedAttribute("managedBy", "Relationship", "urn:ngsi-ld:Beekeeper:01"),
                ),
            ),
        ),
        "ngsild:urn:ngsi-ld:tenant:01",
    ),
    "Scorpio": BrokerNotification(
        _SCORPIO + "API_walkthrough.rst",
        {"content-type": "application/json"},
        {
            "id": "ngsildbroker:notification:-5983263741316604694",
            "type": "Notification",
            "data": [
                {
                    "id": "house2:smartrooms:room1",
                    "type": "urn:mytypes:room",
                    "createdAt": _CREATED,
                    "modifiedAt": "2020-08-07T13:53:56.781000Z",
                    "myuniqueuri:isPartOf": {
                        "type": "Relationship",
                        "createdAt": _CREATED,
                        "object": "smartcity:houses:house2",
                        "modifiedAt": _CREATED,
                    },
                    "myuniqueuri:temperature": {
                        "type": "Property",
                        "createdAt": _CREATED,
                        "providedBy": {
                            "type": "Relationship",
                            "createdAt": _CREATED,
                            "object": "smartbuilding:house2:sensor0815",
                            "modifiedAt": _CREATED,
                        },
                        "value": 22,
                        "modifiedAt": _CREATED,
                    },
                }
            ],
            "notifiedAt": "2020-08-07T13:53:57.640000Z",
            "subscriptionId": "urn:subscription:1",
        },
        (
            EntityUpdate(
                "house2:smartrooms:room1",
                "urn:mytypes:room",
                (
                    NotifiedAttribute("createdAt", "DateTime", _CREATED),
                    NotifiedAttribute("modifiedAt", "DateTime", "2020-08-07T13:53:56.781000Z"),
                    NotifiedAttribute(
                        "myuniqueuri:isPartOf",
                        "Relationship",
                        "smartcity:houses:house2",
                        _SYSTEM_TIMES,
                    ),
                    NotifiedAttribute(
                        "myuniqueuri:temperature",
                        "Property",
                        22,
                        (
                            Metadata("createdAt", "DateTime", _CREATED),
                            Metadata(
                                "providedBy", "Relationship", "smartbuilding:house2:sensor0815"
                            ),
                            Metadata("providedBy.createdAt", "DateTime", _CREATED),
                            Metadata("providedBy.modifiedAt", "DateTime", _CREATED),
                            Metadata("modifiedAt", "DateTime", _CREATED),
                        ),
                    ),
                ),
            ),
        ),
    ),
    "Scorpio, previous values": BrokerNotification(
        _SCORPIO + "previousValue.rst",
        {"content-type": "application/json"},
        envelope(
            {
                "id": "urn:ngsi-ld:Smartfarm:001",
                "type": "Farm",
                "humiditySensor": {"type": "Property", "previousValue": 40, "value": 56},
            }
        ),
        (
            EntityUpdate(
                "urn:ngsi-ld:Smartfarm:001",
                "Farm",
                (
                    NotifiedAttribute(
                        "humiditySensor", "Property", 56, (Metadata("previousValue", "Number", 40),)
                    ),
                ),
            ),
        ),
    ),
    "QuantumLeap, a typed value": BrokerNotification(
        "orchestracities/ngsi-timeseries-api src/reporter/tests/test_notify.py",
        {"content-type": "application/json"},
        envelope(
            {
                "id": "urn:ngsi-ld:Device:filling001",
                "type": "FillingSensor",
                "dateObserved": {
                    "type": "Property",
                    "value": {"@type": "DateTime", "@value": "2018-08-07T12:00:00Z"},
                },
            }
        ),
        (
            EntityUpdate(
                "urn:ngsi-ld:Device:filling001",
                "FillingSensor",
                (
                    NotifiedAttribute(
                        "dateObserved",
                        "Property",
                        "2018-08-07T12:00:00Z",
                        (Metadata("@type", "Text", "DateTime"),),
                    ),
                ),
            ),
        ),
    ),
}
