"""The commands that list, find, show, follow and cancel what a running server has."""

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from penstock.server.command_line import run as run_command
from penstock.server.samples.catalogue import sample_rows
from tests.support.penstock_command import Server, client, start_server

pytestmark = pytest.mark.runs_together("lists of the command line")

SIZE = 12
CREATE = """mutation($id: ID!) { createExecution(input: {pipelineId: $id}) {
  ...on CreateExecutionPayload { execution { id } } } }"""


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("data")
    assert run_command(["seed", "--size", str(SIZE), "--data-dir", str(directory)]) == 0
    return directory


@pytest.fixture(scope="module")
def server(data_dir: Path) -> Iterator[Server]:
    with start_server(data_dir / "log", "--port", "0", "--data-dir", str(data_dir)) as server:
        yield server


@pytest.fixture(autouse=True)
def _variables(server: Server, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_URL", server.url)
    monkeypatch.setenv("PENSTOCK_DATA_DIR", str(data_dir))
    monkeypatch.setenv("PENSTOCK_CONFIG", str(data_dir / "none.toml"))


class Terminal:
    """Runs commands in this process, and reads what they print."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def read(self, *arguments: str) -> Any:
        self._capsys.readouterr()
        assert run_command([*arguments, "--json"]) == 0
        return json.loads(self._capsys.readouterr().out)

    def print(self, *arguments: str) -> list[str]:
        self._capsys.readouterr()
        assert run_command(list(arguments)) == 0
        return self._capsys.readouterr().out.splitlines()

    def fail(self, *arguments: str, code: int = 1) -> str:
        self._capsys.readouterr()
        assert run_command(list(arguments)) == code
        return self._capsys.readouterr().err


@pytest.fixture
def terminal(capsys: pytest.CaptureFixture[str]) -> Terminal:
    return Terminal(capsys)


def walk(terminal: Terminal, *arguments: str) -> list[Any]:
    """Read a list a node at a time, by the cursors that the command prints."""
    found: list[Any] = []
    after: list[str] = []
    while True:
        page = terminal.read(*arguments, "--first", "1", *after)
        found += page["nodes"]
        if page["endCursor"] is None:
            return found
        after = ["--after", page["endCursor"]]


def names(nodes: list[Any]) -> list[str]:
    return [node["name"] for node in nodes]


def test_pipelines_are_listed_page_by_page(terminal: Terminal) -> None:
    everything = terminal.read("pipelines", "list", "--group", "/usa", "--below")
    assert names(everything["nodes"]) == names(
        walk(terminal, "pipelines", "list", "--group", "/usa", "--below")
    )
    assert everything["endCursor"] is None
    lines = terminal.print("pipelines", "list", "--group", "/usa", "--first", "1")
    assert lines[0].split() == ["NAME", "OWNER", "VERSION", "STATE", "TAGS"]
    assert lines[-1].startswith("More: --after ")


@pytest.mark.parametrize(("size", "words"), [("0", "Must be >= 1"), ("101", "Must be <= 100")])
def test_a_page_of_no_possible_size_is_a_wrong_option(
    terminal: Terminal, size: str, words: str
) -> None:
    message = f'penstock: Invalid value "{size}" for --first. {words}.\n'
    assert terminal.fail("pipelines", "list", "--first", size, code=2) == message


def test_pipelines_are_found_by_all_any_and_none_of_their_tags(terminal: Terminal) -> None:
    listed = terminal.read("pipelines", "list", "--group", "/usa", "--below")["nodes"]

    def carriers(wanted: str) -> set[str]:
        return {
            node["name"]
            for node in listed
            if wanted in [f"{tag['key']}={tag['value']}".lower() for tag in node["tags"]]
        }

    where = ("--group", "/usa", "--below")
    both = terminal.read("pipelines", "find", "scope=1", "source=sap", *where)["nodes"]
    assert {*names(both)} == carriers("scope=1") & carriers("source=sap")
    assert both
    options = ("--any", "source=sap", "--any", "source=oracle", "--none", "scope=1")
    some = terminal.read("pipelines", "find", *options, *where)["nodes"]
    assert {*names(some)} == (carriers("source=sap") | carriers("source=oracle")) - carriers(
        "scope=1"
    )
    assert some


@pytest.mark.parametrize("arguments", [("find",), ("find", "scope")])
def test_a_search_needs_tags(terminal: Terminal, arguments: tuple[str, ...]) -> None:
    assert "scope=1" in terminal.fail("pipelines", *arguments, code=2)


def test_a_pipeline_is_shown_by_name_wherever_the_caller_sees_it_and_by_id(
    terminal: Terminal,
) -> None:
    (node, *_) = terminal.read("pipelines", "list", "--group", "/usa/northwest")["nodes"]
    shown = terminal.read("pipelines", "show", node["name"])
    assert (shown["id"], shown["owner"]) == (node["id"], node["owner"])
    assert terminal.read("pipelines", "show", node["id"]) == shown
    assert terminal.print("pipelines", "show", node["name"])[0].split() == ["id", node["id"]]


def test_a_pipeline_is_shown_with_the_columns_that_it_reads_and_the_outputs_that_it_gives(
    terminal: Terminal,
) -> None:
    lines = terminal.print("pipelines", "show", "energy:monthly")
    columns = lines.index("PARAMETER  COLUMN   TYPE       REQUIRED")
    assert lines[columns + 3 : columns + 6] == [
        "month      Month    TIMESTAMP  yes",
        "kwh        kWh      NUMBER     yes",
        "gas        Gas kWh  NUMBER     no",
    ]
    outputs = lines.index("OUTPUT    LABEL           TYPE       FORMULA")
    assert lines[-1] == "gas_co2e  kg CO2e of gas  NUMBER     IFNULL(:gas, 0) * 0.18293"
    assert len(lines) == outputs + 7
    told = terminal.read("pipelines", "show", "energy:monthly")["transformer"]
    assert told["parameters"][-1] == {
        "key": "gas",
        "label": "Gas kWh",
        "description": None,
        "type": "NUMBER",
        "required": False,
    }
    output = {"key": "gas_co2e", "label": "kg CO2e of gas", "type": "NUMBER", "description": None}
    assert told["transforms"][-1] == {
        "formula": "IFNULL(:gas, 0) * 0.18293",
        "outputs": [output],
    }


def test_calculations_are_listed_found_by_their_tags_and_shown_with_their_formulas(
    terminal: Terminal,
) -> None:
    where = ("--group", "/usa", "--below")
    listed = terminal.read("calculations", "list", *where)["nodes"]
    assert names(listed) == names(walk(terminal, "calculations", "list", *where))
    assert "miles_to_kilometres" in names(listed)
    (tag, *_) = next(node["tags"] for node in listed if node["tags"])
    wanted = f"{tag['key']}={tag['value']}"
    found = terminal.read("calculations", "find", wanted, *where)["nodes"]
    assert names(found) == [node["name"] for node in listed if tag in node["tags"]]
    rest = terminal.read("calculations", "find", "--none", wanted, *where)["nodes"]
    assert {*names(rest)} == {*names(listed)} - {*names(found)}
    lines = terminal.print("calculations", "show", "miles_to_kilometres")
    assert "formula    :miles*1.609344" in lines
    assert lines[-5:] == [
        "PARAMETER  COLUMN            TYPE    REQUIRED",
        "miles      Distance (Miles)  NUMBER  yes",
        "",
        "OUTPUT    LABEL  TYPE",
        "(no key)  km     NUMBER",
    ]
    said = terminal.fail("calculations", "show", "nope", "--group", "/eu")
    assert said == "penstock: There is no calculation 'nope' in /eu.\n"


def test_a_pipeline_that_is_not_there_is_missed_with_the_groups_that_were_searched(
    terminal: Terminal,
) -> None:
    said = terminal.fail("pipelines", "show", "nope")
    assert said.startswith("penstock: There is no pipeline 'nope' in /usa, /, ")
    said = terminal.fail("pipelines", "show", "nope", "--group", "/eu")
    assert said == "penstock: There is no pipeline 'nope' in /eu.\n"


def test_a_name_that_is_misspelt_is_asked_for(terminal: Terminal) -> None:
    said = terminal.fail("pipelines", "show", "energie:monthly", "--group", "/usa")
    assert said == (
        "penstock: There is no pipeline 'energie:monthly' in /usa. Did you mean 'energy:monthly'?\n"
    )
    said = terminal.fail("metrics", "show", "emision", "--group", "/usa")
    assert said.endswith(" in /usa. Did you mean 'emissions'?\n")
    said = terminal.fail("calculations", "show", "mile_to_kilometres")
    assert said.endswith(". Did you mean 'miles_to_kilometres'?\n")
    said = terminal.fail("datasets", "show", "vehicels", "--group", "/usa")
    assert said == "penstock: There is no dataset 'vehicels' in /usa. Did you mean 'vehicles'?\n"
    said = terminal.fail("explain", "vehicle_emission", "--group", "/usa")
    assert said == (
        "penstock: There is no calculation named 'vehicle_emission'. "
        "Did you mean 'vehicle_emissions'?\n"
    )
    said = terminal.fail("explain", "vehicle_emissions", "--group", "/usa/nortwest")
    assert said == "penstock: There is no group /usa/nortwest.\n"


def test_datasets_are_listed_found_and_shown(terminal: Terminal) -> None:
    where = ("--group", "/usa")
    listed = terminal.read("datasets", "list", *where)["nodes"]
    assert {"vehicles", "passenger_vehicles"} <= {one["name"] for one in listed}
    assert terminal.print("datasets", "find", "sorce=sap", *where) == [
        "No dataset. You see no tag 'sorce' in /usa."
    ]
    lines = terminal.print("datasets", "show", "vehicles", *where)
    fields = dict(line.split(maxsplit=1) for line in lines[: lines.index("")])
    assert (fields["name"], fields["keyColumns"]) == ("vehicles", "vehicle_type")
    assert lines[lines.index("") + 1].split()[:2] == ["COLUMN", "TYPE"]
    assert lines[lines.index("") + 2].split()[:2] == ["vehicle_type", "STRING"]
    shown = terminal.read("datasets", "show", "vehicles", *where)
    assert shown["content"]["keyColumns"] == ["vehicle_type"]


@pytest.mark.parametrize(
    ("group", "words"),
    [
        ("/usa/nortwest", "There is no group /usa/nortwest."),
        ("usa", "The group path 'usa' does not start with '/'."),
    ],
)
def test_where_the_group_is_wrong_it_is_not_the_pipeline_that_is_missed(
    terminal: Terminal, tmp_path: Path, group: str, words: str
) -> None:
    file = tmp_path / "rows.csv"
    file.touch()
    for command in (("pipelines", "show", "energy:monthly"), ("run", "energy:monthly", str(file))):
        assert terminal.fail(*command, "--group", group) == f"penstock: {words}\n"


def test_a_key_of_tags_that_nothing_has_is_named(terminal: Terminal) -> None:
    where = ("--group", "/usa", "--below")
    assert terminal.print("pipelines", "find", "sorce=sap", "scope=1", *where) == [
        "No pipeline. You see no tag 'sorce' in /usa and below. Did you mean 'source'?"
    ]
    assert terminal.print("pipelines", "find", "scope=99", *where) == ["No pipeline."]
    assert terminal.print("tags", "list", "nokey", "--group", "/usa") == [
        "No tag. You see no tag 'nokey' in /usa."
    ]


def test_groups_are_listed_below_a_path_and_shown(terminal: Terminal) -> None:
    assert terminal.read("groups", "list")["nodes"] == [{"group": "/", "role": "ADMIN"}]
    paths = [node["path"] for node in walk(terminal, "groups", "list", "/")]
    assert paths == ["/eu", "/usa"]
    assert terminal.read("groups", "show", "/usa")["parent"] == {"path": "/"}
    assert terminal.fail("groups", "show", "/nope") == "penstock: There is no group /nope.\n"
    assert terminal.fail("groups", "list", "/nope") == "penstock: There is no group /nope.\n"


def test_metrics_are_listed_page_by_page_and_shown(terminal: Terminal) -> None:
    listed = walk(terminal, "metrics", "list", "--group", "/usa")
    assert names(listed) == ["emissions", "emissions:scope 2", "emissions:scope 1"]
    assert terminal.read("metrics", "list", "--group", "/", "--below")["nodes"] == listed
    shown = terminal.read("metrics", "show", "emissions:scope 1")
    assert shown["inputs"] == [{"name": "energy:monthly", "output": "gas_co2e"}]
    assert terminal.read("metrics", "show", shown["id"]) == shown
    inputs = [
        next(line.split(maxsplit=1)[1] for line in lines if line.startswith("inputs "))
        for lines in (
            terminal.print("metrics", "show", "emissions"),
            terminal.print("metrics", "show", "emissions:scope 1"),
        )
    ]
    assert inputs == ["emissions:scope 1, emissions:scope 2", "energy:monthly gas_co2e"]
    said = terminal.fail("metrics", "show", "nope", "--group", "/eu")
    assert said == "penstock: There is no metric 'nope' in /eu.\n"


YEAR = ("metrics", "values", "emissions", "--from", "2025", "--to", "2026", "--every", "year")


def test_the_values_of_a_metric_are_printed_as_a_table_as_csv_and_as_json(
    terminal: Terminal,
) -> None:
    told = terminal.read(*YEAR, "--breakdown", "group", "--in", "/usa")
    values = {one["group"]: one["value"] for one in told["series"]["points"]}
    assert [*values] == ["/usa/northwest", "/usa/southeast"]
    times = "2025-01-01T00:00:00.000Z", "2026-01-01T00:00:00.000Z"
    lines = terminal.print(*YEAR, "--breakdown", "group", "--in", "/usa")
    assert [line.split() for line in lines] == [
        ["START", "END", "GROUP", "VALUE"],
        *([*times, group, value] for group, value in values.items()),
        [],
        ["Values", "in", "kg", "CO2e."],
    ]
    csv = terminal.print(*YEAR, "--breakdown", "group", "--in", "/usa", "--format", "csv")
    assert csv == [
        "start,end,group,value",
        *(",".join([*times, group, value]) for group, value in values.items()),
    ]
    by_input = terminal.print(*YEAR, "--breakdown", "input", "--format", "csv")
    assert [line.split(",")[2] for line in by_input[1:]] == [
        "emissions:scope 1",
        "emissions:scope 2",
    ]
    assert terminal.print(*YEAR, "--in", "/eu") == ["No value."]


def test_times_of_a_metric_begin_by_the_clock_of_the_zone(terminal: Terminal) -> None:
    zone = ("--zone", "Europe/Berlin", "--format", "csv")
    days = ("--from", "2024-12-31", "--to", "2025-01-02T00:00:00+01:00", "--every", "day")
    lines = terminal.print("metrics", "values", "emissions", *days, *zone)
    assert [line.split(",")[:2] for line in lines[1:]] == [
        ["2024-12-31T23:00:00.000Z", "2025-01-01T23:00:00.000Z"]
    ]


@pytest.mark.parametrize(
    ("start", "zone", "said"),
    [
        ("2025-13", "UTC", "'2025-13' is no time such as 2025, 2025-01, "),
        ("yesterday", "UTC", "'yesterday' is no time such as 2025, 2025-01, "),
        ("2025-01-01T00:00:00", "UTC", "'2025-01-01T00:00:00' is no time such as"),
        ("2025", "Mars/Base", "'Mars/Base' is no time zone such as Europe/Berlin."),
        ("2026", "UTC", "--from 2026 is not before --to 2026, which is exclusive."),
    ],
)
def test_a_time_that_makes_no_sense_is_named(
    terminal: Terminal, start: str, zone: str, said: str
) -> None:
    options = ("--from", start, "--to", "2026", "--zone", zone)
    assert said in terminal.fail("metrics", "values", "emissions", *options, code=2)


def test_a_group_without_a_slash_is_named_as_it_was_typed(terminal: Terminal) -> None:
    said = terminal.fail("pipelines", "list", "--group", "usa")
    assert said == "penstock: The group path 'usa' does not start with '/'.\n"


def test_tags_are_listed_by_key_value_and_level(terminal: Terminal) -> None:
    keys = walk(terminal, "tags", "list", "--group", "/usa")
    assert [node["key"] for node in keys] == ["material", "plant", "scope", "source"]
    values = walk(terminal, "tags", "list", "material", "--group", "/usa")
    assert all("/" not in node["value"] for node in values)
    parent = next(node["value"] for node in values if node["hasChildren"])
    below = walk(terminal, "tags", "list", "material", "--below", parent, "--group", "/usa")
    assert all(node["value"].startswith(f"{parent}/") for node in below)
    assert below
    lines = terminal.print("tags", "list", "--group", "/usa")
    assert lines[0].split() == ["KEY", "COUNT"]


def test_executions_are_listed_shown_followed_and_cancelled(
    terminal: Terminal, server: Server, data_dir: Path, tmp_path: Path
) -> None:
    (node, *_) = terminal.read("pipelines", "list", "--group", "/usa/northwest")["nodes"]
    file = tmp_path / "rows.csv"
    file.write_text("".join(f"{line}\n" for line in sample_rows(10)))
    ran = terminal.read("run", node["name"], str(file))
    assert terminal.read("executions", "show", ran["id"])["state"] == "SUCCESS"
    assert terminal.read("executions", "follow", ran["id"])["state"] == "SUCCESS"
    with client(server, data_dir, "/=admin") as asking:
        waiting = asking.ask(CREATE, id=node["id"])["execution"]["id"]
    listed = walk(terminal, "executions", "list", node["name"])
    assert [one["id"] for one in listed] == [waiting, ran["id"]]
    counts = [(one["rowsRead"], one["rowsFailed"]) for one in listed]
    assert counts == [(None, None), (ran["rowsRead"], ran["rowsFailed"])]
    done = walk(terminal, "executions", "list", node["name"], "--state", "success")
    assert [one["id"] for one in done] == [ran["id"]]
    assert terminal.read("executions", "cancel", waiting)["state"] == "CANCELLED"
    assert terminal.read("executions", "show", waiting)["state"] == "CANCELLED"
    assert run_command(["executions", "follow", waiting]) == 1


def test_a_state_that_no_execution_has_is_a_wrong_option(terminal: Terminal) -> None:
    said = terminal.fail("executions", "list", "energy:monthly", "--state", "done", code=2)
    assert said == (
        'penstock: Invalid value "done" for --state. Choose from: "waiting", "in-progress", '
        '"success", "failed", "cancelled".\n'
    )
    for state in ("IN_PROGRESS", "in_progress", "in-progress"):
        told = terminal.read("executions", "list", "energy:monthly", "--state", state)
        assert told["nodes"] == []


@pytest.mark.parametrize("command", ["show", "follow", "cancel"])
def test_an_execution_that_is_not_there_is_missed(terminal: Terminal, command: str) -> None:
    said = terminal.fail("executions", command, "nope")
    assert said == "penstock: There is no execution 'nope'.\n"


@pytest.mark.parametrize(
    ("url", "problem", "code"),
    [
        ("http://127.0.0.1:1", "Cannot connect to http://127.0.0.1:1/graphql: ", 3),
        ("nonsense", "penstock: nonsense is not an address such as http://127.0.0.1:8000.", 2),
        ("http://a:x", "penstock: http://a:x is not an address such as http://127.0.0.1:8000.", 2),
        ("http://a:99999", "penstock: http://a:99999 is not an address such as http://", 2),
        ("http://", "penstock: http: is not an address such as http://127.0.0.1:8000.", 2),
        ("ftp://127.0.0.1", "penstock: ftp://127.0.0.1 is not an address such as http://", 2),
        ("https://{place}", "/graphql does not speak TLS: write http://, not https://.", 3),
        ("{server}/healthz", "answered 404, and not as GraphQL does.", 3),
    ],
)
def test_a_wrong_address_is_said_in_a_sentence(
    terminal: Terminal, server: Server, url: str, problem: str, code: int
) -> None:
    typed = url.format(server=server.url, place=server.url.removeprefix("http://"))
    said = terminal.fail("groups", "list", "--url", typed, code=code)
    assert problem in said
    assert "--url, PENSTOCK_URL or a profile" in said
    assert said.count("\n") == 1


def test_a_token_that_is_refused_is_said_with_what_to_do(terminal: Terminal) -> None:
    assert terminal.fail("groups", "list", "--token", "nonsense") == (
        "penstock: The token is malformed. Give a token or an API key by --token, PENSTOCK_TOKEN "
        "or a profile; `penstock token` prints one for a server without an issuer, with the key of "
        "its --data-dir.\n"
    )


def test_the_address_of_the_endpoint_does_as_well(terminal: Terminal, server: Server) -> None:
    assert terminal.read("groups", "list", "--url", f"{server.url}/graphql")["nodes"]


def test_a_value_is_explained_part_by_part(terminal: Terminal) -> None:
    row = ("vehicleType=bus", "pollutant=co2e", "distance=12.5", "passengers=3")
    lines = terminal.print("explain", "vehicle_emissions", *row, "--group", "/usa/northwest")
    assert lines[0] == "vehicle_emissions = 2.05437"
    assert [line.split() for line in lines[4:6]] == [
        ["COALESCE(:passengers,", "0)", "3"],
        [":passengers", "3"],
    ]
    assert "    IMPACT('passenger_vehicles', :vehicleType, :pollutant)" in lines[7]
    assert lines[7].endswith("  0.0547832")
    assert lines[-1] == "looked up in passenger_vehicles (version 1), vehicles (version 1)"
    told = terminal.read("explain", "vehicle_emissions", *row, "--group", "/usa/northwest")
    assert told["values"] == [{"type": "NUMBER", "text": "2.05437"}]


@pytest.mark.parametrize("version", [(), ("--number", "1")])
def test_a_value_of_no_parameter_is_named(terminal: Terminal, version: tuple[str, ...]) -> None:
    row = ("vehicleType=bus", "pollutant=co2e", "distance=12.5", "pasengers=3")
    options = ("--group", "/usa/northwest", *version)
    said = terminal.fail("explain", "vehicle_emissions", *row, *options, code=2)
    assert said == (
        "penstock: vehicle_emissions has no parameter 'pasengers'; "
        "there are vehicleType, pollutant, distance, passengers. Did you mean 'passengers'?\n"
    )


def test_a_parameter_in_other_letter_case_is_asked_for(terminal: Terminal) -> None:
    said = terminal.fail(
        "explain", "vehicle_emissions", "vehicletype=bus", "--group", "/usa", code=2
    )
    assert said.endswith(" Did you mean 'vehicleType'?\n")


def test_a_version_is_explained_by_its_number_or_label(terminal: Terminal) -> None:
    row = ("vehicleType=bus", "pollutant=co2e", "distance=12.5", "passengers=3")
    explain = ("explain", "vehicle_emissions", *row, "--group", "/usa/northwest")
    numbered = terminal.read(*explain, "--number", "1")
    assert (numbered["version"], numbered["values"]) == (1, [{"type": "NUMBER", "text": "2.05437"}])
    said = terminal.fail(*explain, "--label", "audited")
    assert said == "penstock: No version has this label.\n"
    said = terminal.fail(*explain, "--number", "1", "--label", "audited")
    assert said == "penstock: version: give either `version` or `label`\n"


def test_a_row_that_fails_says_why(terminal: Terminal, capsys: pytest.CaptureFixture[str]) -> None:
    row = ("vehicleType=boat", "pollutant=co2e", "distance=1")
    capsys.readouterr()
    assert run_command(["explain", "vehicle_emissions", *row, "--group", "/usa"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == (
        "IMPACT_NOT_FOUND: there is no emission factor for 'vehicles', 'boat', 'co2e'"
    )
    assert ("", "") not in pairwise(lines)


def test_without_a_value_the_row_says_so_and_nothing_else(
    terminal: Terminal, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    row = ("vehicleType=bus", "pollutant=co2e")
    assert run_command(["explain", "vehicle_emissions", *row, "--group", "/usa"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert ("", "") not in pairwise(lines), lines


def test_a_value_is_given_as_its_parameter_and_an_equals_sign(terminal: Terminal) -> None:
    said = terminal.fail("explain", "vehicle_emissions", "distance", code=2)
    assert said == "penstock: 'distance' is no value such as distance=12.5.\n"
    said = terminal.fail("explain", "nope", "--group", "/usa")
    assert said == "penstock: There is no calculation named 'nope'.\n"
