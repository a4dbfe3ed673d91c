"""`activeFrom` of versions, as clients give and read it."""

import pytest

from tests.support.consistency_check import contents
from tests.support.graphql_client import Ask

SHOWN = """query($id: ID!, $at: DateTime) { pipeline(id: $id, asAt: $at) {
  version activeFrom updatedAt versions { nodes { version activeFrom } } } }"""
RESTORE = """mutation($input: RestoreVersionInput!) { restoreVersion(input: $input) {
  ...on RestoreVersionPayload { resource { ...on Pipeline { version } } } } }"""
START, NEW_YEAR = "2001-01-01T00:00:00.000Z", "2999-01-01T00:00:00.000Z"


async def test_versions_show_from_when_they_are_active_and_as_at_goes_by_it(ask: Ask) -> None:
    await ask.create_groups()
    id = await ask.make("/usa", "factors", activeFrom="2001-01-01T01:00:00+01:00")
    assert await ask.change(id, 1, activeFrom=NEW_YEAR, description="of 2999") == 2
    assert await ask.change(id, 2, description="of 2999 too") == 3
    assert await ask.change(id, 3, activeFrom=None, description="of now") == 4
    shown = (await ask(SHOWN, {"id": id})).value
    listed = {one["version"]: one["activeFrom"] for one in shown["versions"]["nodes"]}
    assert listed == {1: START, 2: NEW_YEAR, 3: NEW_YEAR, 4: shown["updatedAt"]}
    assert (shown["version"], shown["activeFrom"]) == (4, shown["updatedAt"])
    for at, version in ((START, 1), (shown["updatedAt"], 4), (NEW_YEAR, 3)):
        assert (await ask(SHOWN, {"id": id, "at": at})).value["version"] == version
    given = {"id": id, "version": 1, "expectedVersion": 4, "activeFrom": NEW_YEAR}
    assert (await ask(RESTORE, {"input": given})).value == {"resource": {"version": 5}}
    restored = (await ask(SHOWN, {"id": id, "at": NEW_YEAR})).value
    assert (restored["version"], restored["activeFrom"]) == (5, NEW_YEAR)
    early = {"id": id, "at": "2000-12-31T23:59:59.999Z"}
    assert (await ask(SHOWN, early)).code == "NOT_FOUND"


@pytest.mark.parametrize("time", ["2027-01-01", "2027-02-30T00:00:00Z", "soon", 2027])
async def test_a_start_that_is_no_time_changes_nothing(ask: Ask, time: object) -> None:
    await ask.create_groups()
    id = await ask.make("/usa", "factors")
    before = await contents(ask.store.table)
    update = (
        "mutation($input: UpdatePipelineInput!) { updatePipeline(input: $input) { __typename } }"
    )
    given = {"id": id, "expectedVersion": 1, "activeFrom": time}
    refused = await ask(update, {"input": given})
    assert [one["extensions"]["code"] for one in refused.errors] == ["BAD_USER_INPUT"]
    assert await contents(ask.store.table) == before
