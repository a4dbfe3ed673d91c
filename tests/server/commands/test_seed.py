"""`penstock seed`: the catalogue is added once, and removed without any other data."""

import asyncio
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from penstock.datastore.manifest.runs import Discovery
from penstock.datastore.roles import ROOT, Caller, GroupPath, Role
from penstock.datastore.sqlite.table import SqliteTable
from penstock.datastore.store import Store
from penstock.server.command_line import run
from penstock.server.samples import kept_rows
from penstock.server.samples.catalogue import GROUPS, sample_pipelines
from penstock.server.samples.manifest_runs import MANIFEST
from penstock.server.samples.seeding import SEEDER, purge, seed
from tests.datastore.manifest.sample_runs import run_faults
from tests.support.consistency_check import contents, faults
from tests.support.graphql_client import TRANSFORMER, Ask, as_caller, tag_inputs
from tests.support.table_interceptors import ProcessDied


def ignore_progress() -> None:
    """A progress callback that does nothing."""


def seed_by_command(data_dir: Path, capsys: pytest.CaptureFixture[str], *more: str) -> Any:
    assert run(["seed", "--json", "--data-dir", str(data_dir), *more]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    return json.loads(printed.out)


def counting(rows: Any) -> Any:
    """Return the rows without zero counts, and without those that groups and receipts keep."""
    return {
        key: {name: value for name, value in row.items() if value != 0 and name != "shards"}
        for key, row in rows.items()
        if not key.pk.startswith(("GC:", "IK:", "QG:", "QU:")) or row.get("grants")
    }


async def raw(data_dir: Path) -> Any:
    table = SqliteTable.open(data_dir / "penstock.db")
    try:
        assert await faults(table) == []
        return await contents(table)
    finally:
        await table.close()


def test_seeding_twice_makes_nothing_the_second_time_and_purging_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert seed_by_command(tmp_path, capsys, "--size", "20") == {"created": 20, "found": 0}
    filled = asyncio.run(raw(tmp_path))
    assert seed_by_command(tmp_path, capsys, "--size", "20") == {"created": 0, "found": 20}
    assert asyncio.run(raw(tmp_path)) == filled
    assert seed_by_command(tmp_path, capsys, "--size", "30") == {"created": 10, "found": 20}
    assert seed_by_command(tmp_path, capsys, "--purge") == {"deleted": 31}
    left = asyncio.run(raw(tmp_path))
    assert [key for key in left if key.sk not in {"G:/", "SM", "IK"}] == []
    assert seed_by_command(tmp_path, capsys, "--purge") == {"deleted": 0}


def test_purging_an_empty_directory_makes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["seed", "--purge", "--data-dir", str(tmp_path / "data")]) == 3
    assert capsys.readouterr().out == ""


async def test_what_others_made_stays_when_the_samples_go(store: Store, ask: Ask) -> None:
    uma = as_caller("uma", "/=admin")
    mine = GROUPS[0]
    await store.open_session(Caller("uma", {ROOT: Role.ADMIN})).groups.create(GroupPath(mine), None)
    await ask.make(mine, "mine", "source=SAP", caller=uma)
    before = await contents(store.table)
    await seed(store, 25, ignore_progress)
    seeded = await ask.names("/", below=True)
    assert len(seeded) == 27
    assert await purge(store, ignore_progress) == 26
    assert counting(await contents(store.table)) == counting(before)
    await ask(
        "mutation($i: DeletePipelineInput!) { deletePipeline(input: $i) { __typename } }",
        {
            "i": {
                "id": (await ask('{ pipelineByName(name: "mine", group: "/usa") { id } }')).value[
                    "id"
                ]
            }
        },
    )
    await seed(store, 3, ignore_progress)
    assert await purge(store, ignore_progress) == 4
    kept = (await ask('{ group(path: "/") { children { nodes { path } } } }')).value
    assert kept["children"]["nodes"] == [{"path": mine}]
    assert await faults(store.table) == []


async def test_calculations_are_seeded_and_call_each_other(store: Store, ask: Ask) -> None:
    await seed(store, 1, ignore_progress)
    calculations = Ask(store, "calculation")
    named = await calculations.names("/", below=True)
    assert named == ["vehicle_emissions", "miles_to_kilometres", "freight_emissions"]
    assert await calculations.names("/usa") == named[:2]
    await seed(store, 1, ignore_progress)
    assert await calculations.names("/", below=True) == named
    await purge(store, ignore_progress)
    assert await calculations.names("/", below=True) == []


async def test_samples_that_somebody_uses_stay_when_the_others_go(store: Store) -> None:
    await seed(store, 1, ignore_progress)
    calculations = Ask(store, "calculation")
    calling = {**TRANSFORMER["transforms"][0], "formula": "#miles_to_kilometres(:x)"}
    await Ask(store).make("/usa", "mine", transformer={**TRANSFORMER, "transforms": [calling]})
    await purge(store, ignore_progress)
    assert await calculations.names("/", below=True) == ["miles_to_kilometres"]
    assert await faults(store.table) == []


async def test_runs_are_seeded_in_several_states_none_of_them_stuck(store: Store, ask: Ask) -> None:
    listed = """{ runs(manifest: "snowplow", group: "/usa") { nodes { state toSkip addedAt } } }"""
    await seed(store, 1, ignore_progress)
    runs = (await ask(listed)).value["nodes"]
    assert [(run["state"], run["toSkip"]) for run in runs] == [
        ("LOADED", False),
        ("LOADED", False),
        ("LOADED", False),
        ("PROCESSED", False),
        ("NEW", True),
    ]
    assert [runs[0]["addedAt"], runs[-1]["addedAt"]] == [
        "2018-12-11T00:00:00.000Z",
        "2018-12-15T00:00:00.000Z",
    ]
    assert await store.find_troubled_manifests() == ([], [])


async def test_a_run_of_somebody_else_keeps_its_manifest_when_the_samples_go(store: Store) -> None:
    await seed(store, 1, ignore_progress)
    session = store.open_session(SEEDER)
    await session.runs.discover(MANIFEST, Discovery(run_id="mine/", added_by="mine"))
    await purge(store, ignore_progress)
    assert (await session.manifests.one(MANIFEST)).runs == 1
    assert await run_faults(store.table) == []
    assert await faults(store.table) == []


def test_the_catalogue_is_the_same_each_time_and_grows_at_its_end() -> None:
    assert list(sample_pipelines(40))[:10] == list(sample_pipelines(10))
    names = [sample.content["name"] for sample in sample_pipelines(500)]
    assert len({*names}) == 500
    assert {sample.group for sample in sample_pipelines(500)} == {*GROUPS}
    assert list(sample_pipelines(0)) == []


async def test_the_seeder_may_do_everything_and_is_nobody_else(store: Store, ask: Ask) -> None:
    await seed(store, 1, ignore_progress)
    named = '{ pipelineByName(name: "sap:emissions:pipeline", group: "/usa") { createdBy } }'
    assert (await ask(named)).value == {"createdBy": SEEDER.user_id}


EVALUATE = """query($input: EvaluateInput!) { evaluate(input: $input) {
  __typename ...on EvaluatePayload { version values { type text } errors { row code }
    datasets { name version } explanation { parts { text value { text } } value { text } } }
  ...on ValidationProblem { problems { code } } } }"""
FOUND = """query($tags: TagFilter!) { calculations(group: "/usa/northwest", tags: $tags) {
  nodes { id name version } } }"""
UPDATE = """mutation($input: UpdateCalculationInput!) { updateCalculation(input: $input) {
  ...on UpdateCalculationPayload { calculation { version
    versions { nodes { version formula } } } } } }"""
NORTHWEST = as_caller("nora", "/usa/northwest=reader")
ROWS: list[tuple[dict[str, Any], str | None]] = [
    ({"vehicleType": "car", "pollutant": "co2e", "distance": "12.5"}, "3.941075"),
    ({"vehicleType": "car", "pollutant": "ch4", "distance": 1000}, "0.008"),
    ({"vehicleType": "bus", "pollutant": "co2e", "distance": 12.5, "passengers": 3}, "2.05437"),
    (
        {"vehicleType": "car", "pollutant": "co2", "distance": "1e-20", "passengers": 0},
        "0." + "0" * 20 + "313",
    ),
    ({"vehicleType": "bus", "pollutant": "co2e", "distance": 1}, None),
]


async def test_the_emissions_of_vehicles_are_found_evaluated_versioned_and_explained(
    store: Store, ask: Ask
) -> None:
    await seed(store, 1, ignore_progress)
    tags = {"all": tag_inputs("datasource=ghg protocol", "type=transportation")}
    found = (await ask(FOUND, {"tags": tags}, NORTHWEST)).value["nodes"]
    assert [(node["name"], node["version"]) for node in found] == [
        ("freight_emissions", 1),
        ("vehicle_emissions", 1),
    ]
    id, rows = found[1]["id"], [row for row, _ in ROWS]
    told = (await ask(EVALUATE, {"input": {"id": id, "rows": rows}}, NORTHWEST)).value
    assert [value["text"] for value in told["values"]] == [text for _, text in ROWS]
    assert told["errors"] == [{"row": 4, "code": "IMPACT_NOT_FOUND"}]
    assert told["datasets"] == [
        {"name": "passenger_vehicles", "version": 1},
        {"name": "vehicles", "version": 1},
    ]
    assert told["explanation"]["value"] == {"text": "3.941075"}
    parts = {part["text"]: part["value"] for part in told["explanation"]["parts"]}
    assert parts["COALESCE(:passengers, 0) > 0"] == {"text": "false"}
    assert parts["IMPACT('vehicles', :vehicleType, :pollutant)"] == {"text": "0.315286"}
    assert parts["IMPACT('passenger_vehicles', :vehicleType, :pollutant)"] is None

    formula = "IMPACT('vehicles',:vehicleType,:pollutant)*:distance*2+COALESCE(:passengers,0)*0"
    change = {"id": id, "expectedVersion": 1, "formula": formula}
    changed = (await ask.input(UPDATE, **change))["calculation"]
    versions = {node["version"]: node["formula"] for node in changed["versions"]["nodes"]}
    assert (sorted(versions), versions[2]) == ([1, 2], formula)
    assert versions[1].startswith("IF(COALESCE(:passengers,0)>0")
    for version, text in ((None, "7.88215"), (2, "7.88215"), (1, "3.941075")):
        input = {"id": id, "rows": rows[:1], "version": version}
        told = (await ask(EVALUATE, {"input": input}, NORTHWEST)).value
        assert (told["version"], told["values"][0]["text"]) == (version or 2, text)


async def test_sample_calculations_that_call_others_are_evaluated(store: Store, ask: Ask) -> None:
    await seed(store, 1, ignore_progress)
    rows = [{"miles": "100", "tonnes": "2.5"}]
    asked = {"name": "freight_emissions", "group": "/usa/northwest", "rows": rows}
    told = (await ask(EVALUATE, {"input": asked}, NORTHWEST)).value
    assert told["values"] == [{"type": "NUMBER", "text": "24.944832"}]


async def test_reference_data_is_seeded_once_and_not_without_a_place_for_files(
    store: Store, ask: Ask
) -> None:
    await seed(store, 1, ignore_progress)
    await seed(store, 1, ignore_progress)
    named = await Ask(store, "reference dataset").names("/usa")
    assert named == ["vehicles", "passenger_vehicles", "vehicle_type"]
    assert len(await store.files.list("datasets/")) == 3
    await purge(store, ignore_progress)
    assert await store.files.list("datasets/") == ()
    await seed(Store(store.table), 1, ignore_progress)
    assert await Ask(store, "reference dataset").names("/usa") == []
    assert await purge(Store(store.table), ignore_progress) == 1


SAMPLE_ROWS = """{ pipelineByName(name: "energy:monthly", group: "/usa") {
  totals(every: YEAR, measures: [{output: "kwh", function: COUNT}]) { nodes { start rows } }
  rows(where: [{output: "plant", eq: "Bend"}],
      from: "2024-07-01T00:00:00Z", to: "2024-08-01T00:00:00Z") {
    nodes { values history(first: 5) { nodes { values } } } } } }"""
SAMPLE_METRIC = """{ metricByName(name: "emissions", group: "/usa") {
  series(from: "2024-07-01T00:00:00Z", to: "2024-08-01T00:00:00Z", every: MONTH,
      group: "/usa", breakdown: GROUP) { points { group value } } } }"""


async def test_the_sample_of_kept_rows_has_a_correction_a_withdrawal_and_metrics(
    store: Store, ask: Ask
) -> None:
    await seed(store, 1, ignore_progress)
    await require_sample_of_kept_rows(ask)


@pytest.mark.parametrize("dies_in", ["_run", "_create_metrics", "_create_metric"])
@pytest.mark.parametrize("calls", [0, 1])
async def test_a_seeding_that_died_among_the_kept_rows_is_completed(
    store: Store, ask: Ask, monkeypatch: pytest.MonkeyPatch, dies_in: str, calls: int
) -> None:
    step, left = getattr(kept_rows, dies_in), calls

    async def die_in_time(*arguments: object) -> object:
        nonlocal left
        left -= 1
        if left < 0:
            raise ProcessDied
        return await step(*arguments)

    for _ in range(2):
        left = calls
        with monkeypatch.context() as patch, suppress(ProcessDied):
            patch.setattr(kept_rows, dies_in, die_in_time)
            await seed(store, 1, ignore_progress)
    await seed(store, 1, ignore_progress)
    await require_sample_of_kept_rows(ask)
    assert await faults(store.table) == []


async def require_sample_of_kept_rows(ask: Ask) -> None:
    found = (await ask(SAMPLE_ROWS)).value
    years = [(one["start"][:4], one["rows"]) for one in found["totals"]["nodes"]]
    assert years == [("2023", 12 * 12 - 1), ("2024", 12 * 12), ("2025", 12 * 12)]
    (row,) = found["rows"]["nodes"]
    versions = [float(one["values"]["kwh"]) for one in row["history"]["nodes"]]
    assert (float(row["values"]["kwh"]), versions) == (51220.5, [51220.5, 39267.25])
    points = (await ask(SAMPLE_METRIC)).value["series"]["points"]
    assert {one["group"]: one["value"] for one in points} == {
        "/usa/northwest": "100825.448525",
        "/usa/southeast": "122576.39649",
    }
