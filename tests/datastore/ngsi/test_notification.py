"""Notifications as Orion really sends them, in every form, and other inputs."""

import codecs
import json
from typing import Any

import pytest
from msgspec import Raw

from penstock.datastore.errors import BadArgument, LimitExceeded
from penstock.datastore.ngsi import notification
from penstock.datastore.ngsi.events import EntityUpdate, Metadata, NotifiedAttribute
from penstock.datastore.ngsi.notification import (
    Format,
    NotificationDefaults,
    NotificationHeaders,
    read_headers,
    read_notification,
)
from tests.datastore.ngsi.sample_notifications import heading, read, updates

ORION = {
    "fiware-servicepath": "/Madrid/A",
    "ngsiv2-attrsformat": "normalized",
    "content-type": "application/json; charset=utf-8",
    "user-agent": "orion/3.10.1",
    "fiware-correlator": "c1; cbnotif=1",
}
ROOM = {"id": "Room1", "type": "Room"}


def plain(value: Any) -> Any:
    return bytes(value).decode() if isinstance(value, Raw) else value


def test_the_headers_of_orion_are_read() -> None:
    found = read_headers(ORION, NotificationDefaults())
    assert found == NotificationHeaders(
        "default", ("/Madrid/A",), Format.NORMALIZED, "c1; cbnotif=1"
    )


def test_absent_headers_have_defaults() -> None:
    assert heading() == NotificationHeaders("default", ("/",), None, None)
    assert read_headers({}, NotificationDefaults("vehicles", "/4wheels")).paths == ("/4wheels",)


@pytest.mark.parametrize(
    ("header", "paths"),
    [("/a, /b", ("/a", "/b")), ("/a/", ("/a",)), ("/", ("/",)), ("/a/b/c", ("/a/b/c",))],
)
def test_service_paths_are_trimmed(header: str, paths: tuple[str, ...]) -> None:
    assert heading(fiware_servicepath=header).paths == paths


def test_a_path_may_have_ten_levels_of_fifty_characters() -> None:
    longest = ("/" + "p" * 50) * 10
    assert heading(fiware_servicepath=longest).paths == (longest,)
    for path in (longest + "/p", "/" + "p" * 51):
        with pytest.raises(BadArgument, match="up to 10 levels"):
            heading(fiware_servicepath=path)


@pytest.mark.parametrize(
    "path",
    [
        *(
            "a",
            "//",
            "/a//b",
            "/a b",
            "/#",
            "/a,",
            ",",
            "/é",
            "/a/../:",
            "/a\nb",
            "/a\0b",
            "/a\x7f",
        ),
        *("/.", "/..", "/...", "/../zoo", "/./zoo", "/a/..", "/a/../", "/a/./b", "/ok,/../zoo"),
    ],
)
def test_what_is_no_service_path_is_refused(path: str) -> None:
    with pytest.raises(BadArgument, match="Fiware-ServicePath"):
        heading(fiware_servicepath=path)


@pytest.mark.parametrize(
    ("header", "most"),
    [
        (",".join(["/a"] * 9000), 1000),
        ("," * 30_000, 1000),
        (",".join(f"/{at}" for at in range(4500)), 1000),
        (",".join(f"/{at}" for at in range(41)), 40),
        (",".join(f"{' ' * at}/a, /{at}" for at in range(41)), 40),
    ],
)
def test_too_many_service_paths_are_refused_before_one_is_checked(
    header: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notification, "check_path", pytest.fail)
    with pytest.raises(LimitExceeded, match=f"more than the maximum of {most}"):
        heading(fiware_servicepath=header)


def test_a_service_path_that_comes_again_is_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    checked = list[str]()

    def note_check(path: str) -> str:
        checked.append(path)
        return path

    monkeypatch.setattr(notification, "check_path", note_check)
    assert heading(fiware_servicepath=",".join(["/a", " /b"] * 500)).paths == ("/a", "/b") * 500
    assert sorted(checked) == ["/a", "/b"]


@pytest.mark.parametrize("path", ["/.a", "/a.", "/..a", "/a..b", "/a.../b", "/-", "/_/." + "_"])
def test_dots_may_stand_beside_other_signs(path: str) -> None:
    assert heading(fiware_servicepath=path, fiware_service=".a.").paths == (path,)


@pytest.mark.parametrize("service", ["a/b", "s" * 51, "a b", "é", "a,b", ".", "..", "a\n"])
def test_what_is_no_service_is_refused(service: str) -> None:
    with pytest.raises(BadArgument, match="Fiware-Service"):
        heading(fiware_service=service)


@pytest.mark.parametrize("name", ["values", "JSON", ""])
def test_a_format_that_nobody_can_read_is_refused(name: str) -> None:
    with pytest.raises(BadArgument, match="Ngsiv2-AttrsFormat"):
        heading(ngsiv2_attrsformat=name)


def test_a_normalized_notification_of_orion_is_read() -> None:
    body = b"""{"subscriptionId": "51c0ac9ed714fb3b37d7d5a8", "data": [{"id": "Room1", "type":
      "Room", "temperature": {"type": "Number", "value": 23.0, "metadata": {"unit": {"type":
      "Text", "value": "C"}}}, "on": {"type": "Boolean", "value": true, "metadata": {}}}]}"""
    found = read_notification(read_headers(ORION, NotificationDefaults()), body)
    assert (found.service, found.repeatable) == ("default", True)
    ((path, entry),) = found.entries
    assert path == "/Madrid/A"
    assert isinstance(entry, EntityUpdate)
    temperature, on = entry.attributes
    assert (temperature.name, temperature.type, plain(temperature.value)) == (
        "temperature",
        "Number",
        "23.0",
    )
    assert temperature.metadata == (Metadata("unit", "Text", "C"),)
    assert on == NotifiedAttribute("on", "Boolean", True)


def test_a_legacy_notification_is_read_whatever_its_status_codes_say() -> None:
    element = {
        "id": "car1",
        "type": "car",
        "isPattern": "false",
        "attributes": [
            {"name": "speed", "type": "float", "value": "112.9"},
            {
                "name": "speed",
                "type": "float",
                "value": "113",
                "metadatas": [{"name": "TimeInstant", "type": "ISO8601", "value": "now"}],
            },
        ],
    }
    body = {
        "subscriptionId": "s",
        "originator": "localhost",
        "contextResponses": [{"contextElement": element, "statusCode": {"code": "404"}}],
    }
    expected = EntityUpdate(
        "car1",
        "car",
        (
            NotifiedAttribute("speed", "float", "112.9"),
            NotifiedAttribute(
                "speed", "float", "113", (Metadata("TimeInstant", "ISO8601", "now"),)
            ),
        ),
    )
    assert updates(read(body)) == updates(read(body, ngsiv2_attrsformat="legacy")) == [expected]


BARE = {**ROOM, "t": 1, "f": 1.5, "b": False, "n": None, "s": "x", "o": {"a": [1]}}


@pytest.mark.parametrize("headers", [{}, {"ngsiv2_attrsformat": "keyValues"}])
def test_bare_values_have_the_types_that_orion_gives_them(headers: dict[str, str]) -> None:
    (update,) = updates(read({"subscriptionId": "s", "data": [BARE]}, **headers))
    assert [(each.name, each.type, plain(each.value)) for each in update.attributes] == [
        ("t", "Number", 1),
        ("f", "Number", "1.5"),
        ("b", "Boolean", False),
        ("n", "None", None),
        ("s", "Text", "x"),
        ("o", "StructuredValue", {"a": [1]}),
    ]


def test_an_entity_without_an_envelope_is_read() -> None:
    (bare,) = updates(read({**ROOM, "t": 1}, ngsiv2_attrsformat="simplifiedKeyValues"))
    assert bare == EntityUpdate("Room1", "Room", (NotifiedAttribute("t", "Number", 1),))
    (seen,) = updates(read({**ROOM, "t": {"type": "Number", "value": 1}}))
    assert seen == bare
    (named,) = updates(read({**ROOM, "t": {"value": 1}}, ngsiv2_attrsformat="simplifiedNormalized"))
    assert named == bare


@pytest.mark.parametrize(
    "template",
    [
        {"subscriptionId": "s", "data": [{**ROOM, "t": {"value": "${t}"}}]},
        {"data": [{**ROOM, "t": "${t}"}]},
        {**ROOM, "t": "${t}"},
        {**ROOM, "t": {"type": "Number", "value": "${t}"}},
    ],
)
def test_a_custom_notification_of_orion_is_read_by_its_shape(template: Any) -> None:
    """The `json` of a subscription, as doc/manuals/orion-api.md of telefonicaid/fiware-orion says.

    A macro that covers a whole text becomes the attribute's value, here a number.
    """
    body = json.dumps(template).replace('"${t}"', "10").encode()
    (update,) = updates(read(body, ngsiv2_attrsformat="custom"))
    assert update == EntityUpdate("Room1", "Room", (NotifiedAttribute("t", "Number", 10),))


@pytest.mark.parametrize("body", [{"t": 10, "h": [1, 2], "v": 4}, ["foo", 10], "null", "X:null:Y"])
def test_a_custom_notification_without_an_entity_is_refused(body: Any) -> None:
    with pytest.raises(BadArgument):
        read(body, ngsiv2_attrsformat="custom")


def test_a_byte_order_mark_is_no_part_of_the_body() -> None:
    body = json.dumps({"data": [{**ROOM, "t": 1}]}).encode()
    assert updates(read(b"\xef\xbb\xbf" + body)) == updates(read(body))
    with pytest.raises(BadArgument, match="no body"):
        read(b"\xef\xbb\xbf")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32", "utf-32-le"])
def test_a_body_in_another_encoding_is_refused(encoding: str) -> None:
    body = json.dumps({"data": [{**ROOM, "t": 1}]}).encode(encoding)
    for marked in (body, codecs.BOM_UTF16_BE + body, codecs.BOM_UTF16_LE + body):
        with pytest.raises(BadArgument, match="The body cannot be read"):
            read(marked)


def test_numbers_are_kept_as_they_were_written() -> None:
    body = b'{"id":"a","n":[1e3,5.0,1E400,123456789012345678901234567890,-0.0]}'
    ((_, update),) = read(body, ngsiv2_attrsformat="simplifiedKeyValues").entries
    assert isinstance(update, EntityUpdate)
    assert [str(plain(each)) for each in update.attributes[0].value] == [
        "1e3",
        "5.0",
        "1E400",
        "123456789012345678901234567890",
        "-0.0",
    ]


def test_what_orion_leaves_out_is_nothing_odd() -> None:
    body = {"data": [{"id": "a", "t": {"value": 1}, "u": {"type": "X"}}]}
    (update,) = updates(read(body, ngsiv2_attrsformat="normalized"))
    assert update == EntityUpdate(
        "a", "", (NotifiedAttribute("t", "Number", 1), NotifiedAttribute("u", "X", None))
    )


def test_one_service_path_stands_for_all_entities_and_several_are_one_for_each() -> None:
    body = {"data": [{"id": "a"}, {"id": "b"}]}
    assert [path for path, _ in read(body, fiware_servicepath="/p").entries] == ["/p", "/p"]
    found = read(body, fiware_servicepath="/p, /q")
    assert found.paths == ("/p", "/q")
    with pytest.raises(BadArgument, match="3 service paths for 2 entities"):
        read(body, fiware_servicepath="/p,/q,/r")


def test_a_notification_without_a_correlator_is_like_no_other() -> None:
    body = {"data": [{"id": "a"}]}
    one, other = read(body), read(body)
    assert one.identity != other.identity
    assert not one.repeatable


def test_a_notification_with_a_correlator_is_known_again() -> None:
    body = {"subscriptionId": "s", "data": [{"id": "a", "t": 1}]}
    first = read(body, fiware_correlator="c; cbnotif=1")
    assert read(body, fiware_correlator="c; cbnotif=1") == first
    others = [
        read(body, fiware_correlator="c; cbnotif=2"),
        read({**body, "subscriptionId": "t"}, fiware_correlator="c; cbnotif=1"),
        read(body, fiware_correlator="c; cbnotif=1", fiware_service="x"),
        read(body, fiware_correlator="c; cbnotif=1", fiware_servicepath="/x"),
        read({**body, "data": [{"id": "a", "t": 2}]}, fiware_correlator="c; cbnotif=1"),
    ]
    assert len({first.identity, *(other.identity for other in others)}) == 6


LONG = "c" * 300
READINGS = [
    {"fiware_correlator": f"{LONG}1"},
    {"fiware_correlator": f"{LONG}2"},
    {"ngsiv2_attrsformat": "normalized"},
    {"ngsiv2_attrsformat": "keyValues"},
    {"fiware_timeindex_attribute": "measuredAt"},
    {"fiware_timeindex_attribute": "sentAt"},
    {"content_type": "application/ld+json"},
    {"content_type": "application/ld+json", "ngsild_attribute_format": "simplified"},
    {},
]


def test_notifications_that_are_read_in_other_ways_are_no_retries() -> None:
    body = {"data": [{"id": "a", "type": "T", "t": {"type": "Number", "value": 1}}]}
    found = [read(body, **{"fiware_correlator": LONG, **headers}) for headers in READINGS]
    assert len({one.identity for one in found}) == len(READINGS)
    again = [read(body, **{"fiware_correlator": LONG, **headers}) for headers in READINGS]
    assert again == found
