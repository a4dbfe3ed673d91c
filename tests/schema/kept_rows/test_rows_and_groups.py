"""Rows of groups that are deleted, and of callers whose roles change from page to page."""

from typing import Any

from penstock.datastore.kept_rows.part_keys import rows_folder
from penstock.datastore.kept_rows.part_list import read_parts
from penstock.datastore.store import Store
from penstock.schema.core.relay import parse_key
from tests.schema.kept_rows.energy import (
    ENERGY,
    KWH_SUM,
    ROWS,
    TOTALS,
    keep_energy,
    list_rows,
    list_totals,
    meter,
    read_energy,
    read_sums,
    run_rows,
)
from tests.schema.metrics.sample_metrics import kwh, make_metric, read_series, read_values
from tests.support.consistency_check import faults
from tests.support.graphql_client import Ask, as_caller

TX, CA = "/usa/tx", "/usa/ca"
EVERYWHERE = as_caller("ron", "/usa=reader")
TEXAN = as_caller("ron", f"{TX}=reader")
STRANGER = as_caller("ron", "/eu=admin")
GRANT = "mutation($input: GrantPipelineInput!) { grantPipeline(input: $input) { __typename } }"
REVOKE = "mutation($input: RevokePipelineInput!) { revokePipeline(input: $input) { __typename } }"
DELETE = """mutation($path: GroupPath!, $cascade: Boolean) {
  deleteGroup(input: {path: $path, cascade: $cascade}) { __typename } }"""


async def keep_five(ask: Ask) -> str:
    pipeline = await keep_energy(ask)
    await ask.create_groups(TX, CA)
    await run_rows(
        ask,
        pipeline,
        *(meter(plant, f"2025-0{n}-01", n) for plant in (TX, CA) for n in (1, 2)),
        meter("/usa", "2025-01-01", 3),
    )
    return pipeline


async def test_each_page_shows_what_the_roles_of_its_request_allow(ask: Ask) -> None:
    pipeline = await keep_five(ask)
    first = await list_rows(ask, pipeline, EVERYWHERE, first=1)
    second = await list_rows(
        ask, pipeline, EVERYWHERE, first=1, after=first["pageInfo"]["endCursor"]
    )
    cursor = second["pageInfo"]["endCursor"]
    assert [one["group"] for one in first["nodes"] + second["nodes"]] == ["/usa", CA]
    rest = await list_rows(ask, pipeline, EVERYWHERE, after=cursor)
    assert [one["group"] for one in rest["nodes"]] == [CA, TX, TX]
    narrower = await list_rows(ask, pipeline, TEXAN, after=cursor)
    assert [one["group"] for one in narrower["nodes"]] == [TX, TX]
    back = await list_rows(ask, pipeline, TEXAN, last=9, before=cursor)
    assert back["nodes"] == []
    for document, given in ((ROWS, {}), (TOTALS, {"measures": KWH_SUM})):
        refused = await ask(document, {"id": pipeline, "after": cursor, **given}, STRANGER)
        assert refused.code == "NOT_FOUND"


async def test_each_page_of_totals_counts_what_the_roles_of_its_request_allow(ask: Ask) -> None:
    pipeline = await keep_five(ask)
    by_plant: dict[str, Any] = {"by": ["plant"], "first": 1}
    page = await list_totals(ask, pipeline, EVERYWHERE, **by_plant)
    assert page["nodes"][0]["by"] == [{"output": "plant", "value": "/usa"}]
    cursor = page["pageInfo"]["endCursor"]
    wide = await list_totals(ask, pipeline, EVERYWHERE, **by_plant, after=cursor)
    assert wide["nodes"][0]["by"] == [{"output": "plant", "value": CA}]
    # Its position counts totals of other rows.
    given = {"id": pipeline, "measures": KWH_SUM, **by_plant, "after": cursor}
    refused = await ask(TOTALS, given, TEXAN)
    assert refused.code == "BAD_USER_INPUT"


async def test_a_grant_shows_no_rows_and_its_end_refuses_the_next_page(ask: Ask) -> None:
    pipeline = await keep_five(ask)
    given: dict[str, Any] = {"first": 2}
    first = await list_rows(ask, pipeline, EVERYWHERE, **given)
    given["after"] = first["pageInfo"]["endCursor"]
    grant = {"id": pipeline, "group": "/eu"}
    await ask.input(GRANT, **grant)
    assert (await list_rows(ask, pipeline, STRANGER, **given))["nodes"] == []
    assert (await list_totals(ask, pipeline, STRANGER))["nodes"] == []
    await ask.input(REVOKE, **grant)
    for document, wanted in ((ROWS, given), (TOTALS, {"measures": KWH_SUM})):
        refused = await ask(document, {"id": pipeline, **wanted}, STRANGER)
        assert refused.code == "NOT_FOUND"
    rest = await list_rows(ask, pipeline, EVERYWHERE, after=given["after"])
    assert [one["group"] for one in rest["nodes"]] == [CA, TX, TX]


async def test_rows_of_a_group_stay_with_its_path_when_it_is_deleted(ask: Ask) -> None:
    pipeline = await keep_five(ask)
    metric = await make_metric(ask, "energy", kwh())
    before = await read_energy(ask, pipeline), await read_values(ask, metric)
    deleted = await ask(DELETE, {"path": TX, "cascade": False})
    assert deleted.value == {"__typename": "DeleteGroupPayload"}
    assert (await read_energy(ask, pipeline), await read_values(ask, metric)) == before
    assert await read_sums(ask, pipeline, TEXAN) == {"": "4.5"}
    corrected = await run_rows(ask, pipeline, meter(TX, "2025-01-01", 10))
    assert corrected["state"] == "SUCCESS"
    assert await read_sums(ask, pipeline, TEXAN) == {"": "18"}
    assert await faults(ask.store.table) == []


async def test_a_group_that_is_deleted_with_its_pipelines_takes_their_rows(
    ask: Ask, store: Store
) -> None:
    pipeline = await keep_energy(ask)
    await ask.create_groups(CA)
    await run_rows(ask, pipeline, meter("/usa", "2025-01-01", 3))
    south = await ask.make(CA, "South", transformer=ENERGY)
    await run_rows(ask, south, meter(CA, "2025-01-01", 5))
    metric = await make_metric(ask, "energy", kwh())
    id = parse_key("Pipeline", south)
    deleted = await ask(DELETE, {"path": CA, "cascade": True})
    assert deleted.value == {"__typename": "DeleteGroupPayload"}
    assert await store.run_jobs("w") == 1
    for _ in range(3):
        await store.finish_deletes()
    assert (await ask(ROWS, {"id": south})).code == "NOT_FOUND"
    assert await read_parts(store.table, id) == []
    assert await store.files.list(rows_folder(id)) == ()
    assert await read_energy(ask, pipeline) == {"/usa 2025-01": "4.5"}
    series = await read_series(ask, metric)
    assert (series["isComplete"], [one["value"] for one in series["points"]]) == (True, ["4.5"])
    assert await faults(store.table) == []
