"""An export of AWS SIF, imported into a running server, again, and after an interruption."""

import asyncio
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.server.commands.client.graphql_client import AnsweredError, GraphQLClient
from penstock.server.commands.sif.export_files import SifExport
from penstock.server.commands.sif.import_run import SifImport
from penstock.server.commands.sif.target import ImportTarget
from tests.support.penstock_command import Server, penstock, start_server, token_of

SAMPLE = Path(__file__).parents[4] / "examples" / "sif-export"
FIX = "Reading date;Site;Plant;kWh;Grid\n7/15/2025;north;Bend;30000;northern\n"
JULY = """{ pipelineByName(name: "plant energy", group: "/acme") { version totals(
  group: "/acme" includeChildGroups: true every: MONTH by: ["plant"]
  from: "2025-07-01T00:00:00Z" to: "2025-08-01T00:00:00Z"
  measures: [{ output: "co2e", function: SUM }]) {
  nodes { by { value } measures { value } } } } }"""
EXPLAIN = """{ pipelineByName(name: "plant energy", group: "/acme") { rows(
  group: "/acme/north" where: [{ output: "plant", eq: "Bend" }]
  from: "2025-07-01T00:00:00Z" to: "2025-08-01T00:00:00Z") {
  nodes { values history(first: 9) { nodes { values } }
    explanation { outputs { formula explanation { value { text } } } } } } } }"""
MADE = {"group": 4, "dataset": 2, "calculation": 2, "pipeline": 2, "row": 37, "metric": 2}
THERE = {"group": 5, "dataset": 2, "calculation": 2, "pipeline": 2, "row": 0, "metric": 2}
NOTHING = dict.fromkeys(MADE, 0)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with start_server(
        tmp_path / "log", "--port", "0", "--data-dir", str(tmp_path / "data"), "--no-seed"
    ) as server:
        yield server


def client_of(server: Server, data: Path) -> GraphQLClient:
    return GraphQLClient(server.url, token_of(data, "/=admin"))


def ask(server: Server, data: Path, query: str) -> Any:
    async def execute() -> Any:
        async with client_of(server, data) as client:
            return await client.execute(query)

    return asyncio.run(execute())


def import_sif(server: Server, data: Path, *more: str, export: Path = SAMPLE) -> Any:
    options = ["--url", server.url, "--data-dir", str(data), "--json", *more]
    done = penstock("import", "sif", str(export), *options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def export_granted_to(group: str, folder: Path) -> Path:
    """Copy the sample, with this group in the place of the one below that calculations have."""
    export = folder / "export"
    shutil.copytree(SAMPLE, export)
    table = export / "tables" / "calculations" / "data.json"
    table.write_text(table.read_text().replace("/acme/south", group))
    return export


def july(server: Server, data: Path) -> dict[str, str]:
    nodes = ask(server, data, JULY)["totals"]["nodes"]
    return {node["by"][0]["value"]: node["measures"][0]["value"] for node in nodes}


def test_a_user_of_sif_sees_totals_explains_a_row_and_corrects_it(
    server: Server, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    dry = import_sif(server, data, "--dry-run")
    assert dry["made"] == MADE | {"calculation": 3, "pipeline": 3}
    with pytest.raises(AnsweredError, match="There is no group /acme"):
        ask(server, data, '{ group(path: "/acme") { path } }')
    assert import_sif(server, data)["made"] == MADE
    before = july(server, data)
    assert before == {"Astoria": "17220", "Bend": "12705.21", "Macon": "13650"}
    (row,) = ask(server, data, EXPLAIN)["rows"]["nodes"]
    assert [one["values"]["kwh"] for one in row["history"]["nodes"]] == [30250.5, 302505]
    assert row["explanation"]["outputs"][4]["explanation"]["value"]["text"] == "12705.21"
    file = tmp_path / "fix.csv"
    file.write_text(FIX)
    options = ["--group", "/acme", "--url", server.url, "--data-dir", str(data)]
    assert penstock("run", "plant energy", str(file), *options).returncode == 0
    assert july(server, data) == {**before, "Bend": "12600"}
    (row,) = ask(server, data, EXPLAIN)["rows"]["nodes"]
    assert row["explanation"]["outputs"][4]["formula"] == "#emissions(:kwh,:grid)"
    again = import_sif(server, data)
    assert (again["made"], again["there"]) == (NOTHING, THERE)
    assert july(server, data) == {**before, "Bend": "12600"}


def test_an_import_that_broke_off_goes_on_where_it_was(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data"

    async def run() -> Any:
        async with client_of(server, data) as client:
            return await SifImport(ImportTarget(client), SifExport(SAMPLE), is_dry=False).run()

    async def break_off(*_: object, **__: object) -> None:
        raise ConnectionResetError

    monkeypatch.setattr(ImportTarget, "update", break_off)
    with pytest.raises(ConnectionResetError):
        asyncio.run(run())
    monkeypatch.undo()
    report = asyncio.run(run())
    assert (report.made["row"], report.made["pipeline"], report.made["metric"]) == (0, 1, 2)
    assert ask(server, data, JULY)["version"] == 2
    assert july(server, data)["Bend"] == "12705.21"


def test_a_refused_grant_is_told_also_where_other_calculations_are_tried_again(
    server: Server, tmp_path: Path
) -> None:
    data, export = tmp_path / "data", export_granted_to("/nowhere", tmp_path)
    report = import_sif(server, data, export=export)
    assert report["made"]["calculation"] == 2
    told = {one["name"]: one["reason"] for one in report["left"] if one["kind"] == "calculation"}
    assert told == {
        "with_losses, granted to /nowhere": "There is no group /nowhere.",
        "whole_crates": "There is no group /nowhere.",
    }


CALCULATION = '{ calculationByName(name: "with_losses", group: "/acme") { id } }'
PIPELINE = '{ pipelineByName(name: "gas use", group: "/acme") { id version } }'


def test_a_grant_or_a_state_that_is_not_there_any_more_is_told(
    server: Server, tmp_path: Path
) -> None:
    data, export = tmp_path / "data", export_granted_to("/other", tmp_path)
    ask(server, data, 'mutation { createGroup(input: {path: "/other"}) { __typename } }')
    import_sif(server, data, export=export)
    before = import_sif(server, data, export=export)["left"]
    granted, disabled = ask(server, data, CALCULATION), ask(server, data, PIPELINE)
    changes = (
        f'revokeCalculation(input: {{id: "{granted["id"]}", group: "/other"}})',
        f'updatePipeline(input: {{id: "{disabled["id"]}", '
        f"expectedVersion: {disabled['version']}, state: ENABLED}})",
    )
    for change in changes:
        ask(server, data, f"mutation {{ {change} {{ __typename }} }}")
    told = import_sif(server, data, export=export)["left"]
    assert [one for one in told if one not in before] == [
        {
            "kind": "calculation",
            "name": "with_losses, granted to /other",
            "reason": "it is not granted here",
        },
        {"kind": "pipeline", "name": "gas use", "reason": "it was disabled; it is enabled here"},
    ]


def test_what_others_made_stays_and_later_values_are_reported(
    server: Server, tmp_path: Path
) -> None:
    data, export = tmp_path / "data", tmp_path / "export"
    shutil.copytree(SAMPLE, export)
    values = export / "activities" / "ActivityNumberValue.csv"
    lines = values.read_text().splitlines(keepends=True)
    values.write_text("".join(line for line in lines if "e00000000000000000002" not in line))
    strings = export / "activities" / "ActivityStringValue.csv"
    kept = [
        one for one in strings.read_text().splitlines(True) if "e00000000000000000002" not in one
    ]
    strings.write_text("".join(kept))
    activities = export / "activities" / "Activity.csv"
    keyless = activities.read_text().replace(
        "2025-12-01 00:00:00,Astoria,", "2025-12-01 00:00:00,,"
    )
    activities.write_text(keyless)
    first = import_sif(server, data, export=export)
    assert first["made"]["row"] == 35
    name = "plant energy, execution 01hf0e00000000000000000001"
    reason = "1 row was rejected; see the execution"
    assert {"kind": "row", "name": name, "reason": reason} in first["left"]
    ask(
        server,
        data,
        'mutation { createGroup(input: {path: "/acme/taken", name: "x"}) { __typename } }',
    )
    later = import_sif(server, data)
    reason = "the pipeline has its formulas already; send the input to it"
    name = "plant energy, execution 01hf0e00000000000000000002"
    assert {"kind": "values", "name": name, "reason": reason} in later["left"]
    assert july(server, data)["Bend"] == "127052.1"


def test_a_name_of_something_else_is_reported_and_left_alone(
    server: Server, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    ask(server, data, 'mutation { createGroup(input: {path: "/acme", name: "x"}) { __typename } }')
    mine = """mutation { createCalculation(input: { group: "/acme", name: "with_losses",
      formula: ":a", parameters: [{ index: 0, key: "a", type: NUMBER }],
      outputs: [{ index: 0, type: NUMBER }] }) { __typename } }"""
    assert ask(server, data, mine) == {"__typename": "CreateCalculationPayload"}
    report = import_sif(server, data)
    left = {(one["kind"], one["name"]): one["reason"] for one in report["left"]}
    assert left["calculation", "with_losses"] == "something else has its name in its group"
    assert "its formulas are refused" in left["pipeline", "plant energy"]
    assert report["made"]["row"] == 37
