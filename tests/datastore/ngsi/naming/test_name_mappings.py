"""Name mappings and grouping rules: their destinations, and the rules that are refused."""

import json
from typing import Any

import pytest

from penstock.datastore.errors import Invalid
from penstock.datastore.ngsi.naming.mappings import Mapper, read_mappings
from penstock.datastore.ngsi.naming.rules import Grouper, Renamer, read_rules
from penstock.datastore.ngsi.naming.table_names import NamingPlace, table_name
from penstock.datastore.ngsi.options import DataModel, NamingOptions

CAR = NamingPlace("vehicles", "/4wheels", "car1", "car")


def mapper(*services: Any) -> Mapper:
    document = json.dumps({"serviceMappings": services}).encode()
    return Mapper.from_mappings(read_mappings(document))


def grouper(*rules: Any) -> Grouper:
    return Grouper.from_rules(read_rules(json.dumps({"grouping_rules": rules}).encode()))


def rule(id: int = 1, **changes: Any) -> dict[str, Any]:
    return {
        "id": id,
        "fields": ["entityType"],
        "regex": "car",
        "destination": "cars",
        "fiware_service_path": "/cars",
        **changes,
    }


def problems(document: Any, *, rules: bool = False) -> dict[str, str]:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    with pytest.raises(Invalid) as refused:
        _ = (
            Grouper.from_rules(read_rules(body))
            if rules
            else Mapper.from_mappings(read_mappings(body))
        )
    return {".".join(each.path): each.message for each in refused.value.problems}


FULL = {
    "originalService": "veh.*",
    "newService": "fleet",
    "servicePathMappings": [
        {
            "originalServicePath": "/(.*)wheels",
            "newServicePath": "/w$1",
            "entityMappings": [
                {
                    "originalEntityId": "car(\\d+)",
                    "originalEntityType": "car",
                    "newEntityId": "c$1",
                    "newEntityType": "vehicle",
                    "attributeMappings": [{"newAttributeName": "v"}],
                }
            ],
        }
    ],
}


def test_the_first_mapping_that_matches_at_each_level_counts() -> None:
    assert mapper(FULL).map_place(CAR) == NamingPlace("fleet", "/w4", "c1", "vehicle")


@pytest.mark.parametrize(
    ("place", "mapped"),
    [
        (CAR._replace(service="other"), CAR._replace(service="other")),
        (CAR._replace(path="/x"), CAR._replace(path="/x", service="fleet")),
        (CAR._replace(entity_type="bus"), NamingPlace("fleet", "/w4", "car1", "bus")),
        (CAR._replace(entity_id="mycar1"), NamingPlace("fleet", "/w4", "mycar1", "car")),
    ],
)
def test_what_does_not_match_keeps_its_name_from_there_on(
    place: NamingPlace, mapped: NamingPlace
) -> None:
    assert mapper(FULL).map_place(place) == mapped


def test_an_absent_original_matches_all_and_a_pattern_matches_the_whole_text() -> None:
    everything = {"newService": "all", "servicePathMappings": [{"newServicePath": "/one"}]}
    assert mapper(everything).map_place(CAR) == NamingPlace("all", "/one", "car1", "car")
    assert mapper({"originalService": "(.*)", "newService": "X"}).map_place(CAR).service == "X"
    assert mapper({"originalService": "vehicle", "newService": "X"}).map_place(CAR) == CAR


@pytest.mark.parametrize(
    ("pattern", "new", "message"),
    [
        ("(", None, "no pattern that can be used"),
        ("(a)\\1", None, "no pattern that can be used"),
        ("(?=a)", None, "no pattern that can be used"),
        ("a" * 501, None, "longer than 500"),
        ("(a)", "$2", "has no group $2"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_refused(
    pattern: str, new: str | None, message: str
) -> None:
    found = problems({"serviceMappings": [{"originalService": pattern, "newService": new}]})
    assert list(found) == ["serviceMappings.0.originalService"]
    assert message in found["serviceMappings.0.originalService"]


def test_every_problem_of_a_document_is_told_with_its_place() -> None:
    entity = {"originalEntityId": "(", "originalEntityType": "["}
    path = {"originalServicePath": "*", "entityMappings": [entity]}
    found = problems({"serviceMappings": [{"servicePathMappings": [path]}]})
    at = "serviceMappings.0.servicePathMappings.0"
    assert list(found) == [
        f"{at}.originalServicePath",
        f"{at}.entityMappings.0.originalEntityId",
        f"{at}.entityMappings.0.originalEntityType",
    ]


@pytest.mark.parametrize(
    "document", [b"", b"[]", b'{"serviceMappings": 1}', b'{"more": []}', b" " * 300_000]
)
def test_what_is_no_document_of_mappings_is_refused(document: bytes) -> None:
    assert list(problems(document)) == ["mappings"]


def test_too_many_mappings_are_refused() -> None:
    found = problems({"serviceMappings": [{}] * 1001})
    assert found == {"mappings": "are more than 1000"}


def test_a_pattern_that_would_backtrack_for_ever_is_matched_at_once() -> None:
    slow = mapper({"originalService": "(a+)+b", "newService": "X"})
    place = CAR._replace(service="a" * 10_000)
    assert slow.map_place(place) == place
    assert grouper(rule(regex="(a+)+b")).match_rule(CAR._replace(entity_type="a" * 10_000)) is None


def test_a_replacement_that_would_backtrack_for_ever_is_filled_in_at_once() -> None:
    slow = mapper({"originalService": "(a+)+c|(a*b)", "newService": "x$2"})
    letters = "a" * 9_999 + "b"
    assert slow.map_place(CAR._replace(service=letters)).service == f"x{letters}"
    many = mapper({"originalService": "((a+)+c|(a*b))+", "newService": "$1-$2-$3"})
    assert many.map_place(CAR._replace(service="aab" * 3_333 + "b")).service == "b--b"


@pytest.mark.parametrize(
    ("new", "named"),
    [("$0!", "Ünit-7!"), ("$2$1", "7Ünit"), ("$3", ""), ("$$1", "$Ünit"), ("$&\\1", "$&\\1")],
)
def test_a_reference_stands_for_its_group_and_nothing_else_is_special(new: str, named: str) -> None:
    renamed = mapper({"originalService": "(Ünit)-(\\d)(x)?", "newService": new})
    assert renamed.map_place(CAR._replace(service="Ünit-7")).service == named


def test_the_first_rule_that_matches_gives_the_destination() -> None:
    rules = grouper(rule(1, regex="bus"), rule(2), rule(3, destination="never"))
    found = rules.match_rule(CAR)
    assert found is not None
    assert found.id == 2
    assert rules.match_rule(CAR._replace(entity_type="tram")) is None


def test_fields_are_joined_in_the_order_in_which_they_are_listed() -> None:
    fields = ["entityType", "entityId", "servicePath"]
    assert grouper(rule(fields=fields, regex="carcar1/4wheels")).match_rule(CAR)
    assert not grouper(rule(fields=fields, regex="car1car/4wheels")).match_rule(CAR)


def test_grouped_entities_share_the_documented_table() -> None:
    renaming = Renamer(grouper=grouper(rule()))
    for id in ("car1", "car2"):
        place = renaming.rename_place(CAR._replace(entity_id=id))
        assert table_name(place, NamingOptions()) == "vehiclesxffffx002fcarsxffffcars"
    by_path = NamingOptions(data_model=DataModel.BY_SERVICE_PATH)
    assert table_name(renaming.rename_place(CAR), by_path) == "vehiclesxffffx002fcars"


def test_grouping_switched_on_leaves_what_no_rule_matches_where_it_was() -> None:
    renaming = Renamer(grouper=grouper(rule(regex="bus")))
    assert renaming.rename_place(CAR) == CAR
    assert (
        table_name(renaming.rename_place(CAR), NamingOptions())
        == "vehiclesxffffx002f4wheelsxffffcar1xffffcar"
    )


def test_grouping_wins_over_mappings_but_for_the_service() -> None:
    renaming = Renamer(mapper(FULL), grouper(rule()))
    assert renaming.rename_place(CAR) == NamingPlace("fleet", "/cars", "cars", "")
    assert Renamer(mapper(FULL), grouper(rule(regex="bus"))).rename_place(CAR).path == "/w4"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"fields": []}, "fields"),
        ({"fields": ["entityName"]}, "fields"),
        ({"fields": ["entityId", "entityId"]}, "fields"),
        ({"regex": ""}, "regex"),
        ({"regex": "("}, "regex"),
        ({"destination": ""}, "destination"),
        ({"destination": "d" * 257}, "destination"),
        ({"fiware_service_path": "cars"}, "fiware_service_path"),
        ({"fiware_service_path": "/../cars"}, "fiware_service_path"),
    ],
)
def test_a_rule_that_cannot_be_used_is_refused(changes: dict[str, Any], field: str) -> None:
    found = problems({"grouping_rules": [rule(), rule(2, **changes)]}, rules=True)
    assert list(found) == [f"grouping_rules.1.{field}"]


def test_two_rules_have_two_ids_and_there_are_at_most_a_thousand() -> None:
    same = problems({"grouping_rules": [rule(1), rule(1)]}, rules=True)
    assert same == {"grouping_rules.1.id": "is the id of another rule"}
    many = problems({"grouping_rules": [rule(n) for n in range(1001)]}, rules=True)
    assert many == {"grouping_rules": "are more than 1000"}


@pytest.mark.parametrize(
    "document", [b"", b"[]", b'{"grouping_rules": [{}]}', b'{"more": []}', b" " * 300_000]
)
def test_what_is_no_document_of_rules_is_refused(document: bytes) -> None:
    assert list(problems(document, rules=True)) == ["rules"]
