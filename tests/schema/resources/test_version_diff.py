"""The comparison of two versions, and a version as of a time, for every kind of resource."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from penstock.datastore.clock import Clock
from penstock.datastore.store import Store
from tests.support.graphql_client import NOUNS, Ask, as_caller, tag_inputs
from tests.support.sample_resources import Watch

DIFF = """query($id: ID!, $from: Int!, $to: Int!) { pipeline(id: $id) {
  version diff(from: $from, to: $to) { op path before after } } }"""
AS_AT = """query($id: ID!, $at: DateTime!, $to: Int!) { pipeline(id: $id, asAt: $at) {
  version name versions { nodes { version } } diff(from: 1, to: $to) { path } } }"""
NORTHWEST = as_caller("nora", "/usa/northwest=reader")
STRANGER = as_caller("eve", "/eu=admin")
TIME = datetime(2022, 8, 10, tzinfo=UTC)


@pytest.fixture(params=NOUNS)
def noun(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def ask(store: Store, noun: str) -> Ask:
    return Ask(store, noun)


async def three_versions(ask: Ask) -> str:
    await ask.create_groups()
    id = await ask.make("/usa", "one", "a=b", "c=d")
    await ask.change(id, 1, description="words", tags=tag_inputs("a=b/c"))
    await ask.change(id, 2, name="two", state="FROZEN")
    return id


async def test_what_changed_between_two_versions_is_told_with_its_place(ask: Ask) -> None:
    id = await three_versions(ask)
    found = await ask(DIFF, {"id": id, "from": 1, "to": 3}, NORTHWEST)
    assert found.value["diff"] == [
        {"op": "REPLACE", "path": "/name", "before": "one", "after": "two"},
        {"op": "REPLACE", "path": "/description", "before": None, "after": "words"},
        {"op": "REPLACE", "path": "/state", "before": "ENABLED", "after": "FROZEN"},
        {"op": "REPLACE", "path": "/tags/0/value", "before": "b", "after": "b/c"},
        {"op": "REMOVE", "path": "/tags/1", "before": {"key": "c", "value": "d"}, "after": None},
    ]
    assert found.units.calls == 2
    back = (await ask(DIFF, {"id": id, "from": 3, "to": 2})).value["diff"]
    assert [(one["path"], one["after"]) for one in back] == [
        ("/name", "one"),
        ("/state", "ENABLED"),
    ]
    assert (await ask(DIFF, {"id": id, "from": 2, "to": 2})).value["diff"] == []


@pytest.mark.parametrize(("from_", "to", "field"), [(0, 1, "from"), (1, 4, "to"), (-1, 1, "from")])
async def test_a_version_that_is_not_there_is_not_found(
    from_: int, to: int, field: str, ask: Ask
) -> None:
    id = await three_versions(ask)
    answer = await ask(DIFF, {"id": id, "from": from_, "to": to})
    (error,) = answer.errors
    assert error["extensions"]["code"] == "NOT_FOUND"
    assert error["message"] == f"There is no version {from_ if field == 'from' else to}."
    assert answer.data["pipeline"] == {"version": 3, "diff": None}


async def test_who_does_not_see_it_is_told_no_difference(ask: Ask) -> None:
    id = await three_versions(ask)
    assert (await ask(DIFF, {"id": id, "from": 1, "to": 3}, STRANGER)).code == "NOT_FOUND"


async def test_a_grant_is_no_difference(ask: Ask) -> None:
    id = await three_versions(ask)
    grant = "mutation($input: GrantPipelineInput!) { grantPipeline(input: $input) { __typename } }"
    await ask.input(grant, id=id, group="/eu")
    await ask.change(id, 3, state="ENABLED")
    (change,) = (await ask(DIFF, {"id": id, "from": 3, "to": 4}, STRANGER)).value["diff"]
    assert change["path"] == "/state"


@pytest.mark.thorough
async def test_as_it_was_at_a_time_is_found_in_few_reads_and_not_before_the_first(
    store: Store, noun: str
) -> None:
    watch = Watch()
    watch.time = TIME
    ask = Ask(replace(store, clock=Clock(now=watch)), noun)
    await ask.create_groups()
    id = await ask.make("/usa", "v1")
    for version in range(1, 70):
        watch.move(timedelta(days=1))
        assert await ask.change(id, version, name=f"v{version + 1}") == version + 1
    for day in range(70):
        for hours in (0, 12):
            at = (TIME + timedelta(days=day, hours=hours)).isoformat()
            found = await ask(AS_AT, {"id": id, "at": at, "to": 1}, NORTHWEST)
            assert (found.value["version"], found.value["name"]) == (day + 1, f"v{day + 1}")
            # The latest, seven halvings, a page of versions, one version twice at once.
            assert found.units.calls <= 1 + 7 + 2
    at = (TIME + timedelta(days=2)).isoformat()
    then = await ask(AS_AT, {"id": id, "at": at, "to": 4}, NORTHWEST)
    assert [node["version"] for node in then.data["pipeline"]["versions"]["nodes"]] == [3, 2, 1]
    assert then.data["pipeline"]["diff"] is None
    assert [error["extensions"]["code"] for error in then.errors] == ["NOT_FOUND"]
    before = {"id": id, "at": (TIME - timedelta(milliseconds=1)).isoformat(), "to": 1}
    assert (await ask(AS_AT, before)).code == "NOT_FOUND"
    assert (await ask(AS_AT, {**before, "at": at}, STRANGER)).code == "NOT_FOUND"
