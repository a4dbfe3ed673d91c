"""NGSI-LD is refused by every sign of it, and proper NGSIv1 and NGSIv2 never is."""

from collections.abc import Callable
from typing import Any

import pytest

from penstock.datastore.errors import ErrorCode, UnreadFormat
from penstock.datastore.ngsi.events import EntityUpdate
from tests.datastore.ngsi.sample_ngsi_ld import (
    LD_BODIES,
    LINK,
    SPEED,
    V2_BODIES,
    entity,
    envelope,
)
from tests.datastore.ngsi.sample_notifications import heading, read


@pytest.mark.parametrize("body", LD_BODIES.values(), ids=LD_BODIES)
def test_a_body_of_ngsi_ld_is_refused_with_what_to_do(body: dict[str, Any]) -> None:
    with pytest.raises(UnreadFormat, match="Subscribe with NGSIv2") as refused:
        read(body)
    assert refused.value.code is ErrorCode.UNSUPPORTED_MEDIA_TYPE


@pytest.mark.parametrize(
    "spell",
    [str.lower, str.upper, "https://uri.etsi.org/ngsi-ld/{}".format, "ngsi-ld:{}".format],
)
def test_its_types_are_known_however_they_are_spelled(spell: Callable[[str], str]) -> None:
    for kind in ("Property", "Relationship", "LanguageProperty", "ListProperty"):
        with pytest.raises(UnreadFormat):
            read({"data": [entity(speed={**SPEED, "type": spell(kind)})]})
    with pytest.raises(UnreadFormat):
        read({"id": "urn:n", "type": spell("Notification"), "data": [{"id": "a", "type": "b"}]})


@pytest.mark.parametrize(
    "headers",
    [
        {"ngsild_tenant": "openiot"},
        {"ngsild_tenant": ""},
        {"ngsild_attribute_format": "Simplified"},
        {"ngsild_path": "/a"},
        {"link": LINK},
        {"link": f'<https://a>; rel="next", {LINK}'},
        {"content_type": "application/ld+json"},
        {"content_type": "Application/LD+JSON; charset=utf-8"},
        {"content_type": 'application/json; profile="application/ld+json"'},
    ],
)
def test_a_header_of_ngsi_ld_is_refused(headers: dict[str, str]) -> None:
    with pytest.raises(UnreadFormat):
        heading(**headers)


@pytest.mark.parametrize(
    "headers",
    [
        {"link": '<https://a>; rel="next"'},
        {"content_type": "application/json; charset=utf-8"},
        {"fiware_service": "ngsild"},
        {"accept": "application/ld+json"},
    ],
)
def test_other_headers_are_no_sign_of_it(headers: dict[str, str]) -> None:
    assert heading(**headers).paths == ("/",)


@pytest.mark.parametrize("body", V2_BODIES.values(), ids=V2_BODIES)
def test_what_only_looks_like_ngsi_ld_is_read(body: dict[str, Any]) -> None:
    for _, entry in read(body).entries:
        assert isinstance(entry, EntityUpdate)
        assert entry.attributes


@pytest.mark.parametrize("form", ["normalized", "keyValues"])
def test_the_header_of_ngsiv2_does_not_make_an_envelope_of_ngsi_ld_readable(form: str) -> None:
    with pytest.raises(UnreadFormat):
        read(envelope(entity(speed=SPEED)), ngsiv2_attrsformat=form)


def test_under_the_header_of_ngsiv2_types_alone_say_nothing() -> None:
    """Orion-LD may leave out empty metadata when it converts to NGSIv2."""
    body = {"data": [entity(speed=SPEED)]}
    ((_, entry),) = read(body, ngsiv2_attrsformat="normalized").entries
    assert isinstance(entry, EntityUpdate)
    assert [each.value for each in entry.attributes] == [50]
    with pytest.raises(UnreadFormat):
        read(body)


def test_values_of_keys_may_be_any_object() -> None:
    value = {"type": "Relationship", "object": "urn:x"}
    ((_, entry),) = read({"data": [entity(a=value)]}, ngsiv2_attrsformat="keyValues").entries
    assert isinstance(entry, EntityUpdate)
    assert entry.attributes[0].value == value


def test_a_bare_entity_of_ngsiv2_may_be_called_a_notification() -> None:
    body = {"id": "n1", "type": "Notification", "notifiedAt": "2021", "data": [1]}
    ((_, entry),) = read(body, ngsiv2_attrsformat="simplifiedKeyValues").entries
    assert isinstance(entry, EntityUpdate)
    assert [each.name for each in entry.attributes] == ["notifiedAt", "data"]
