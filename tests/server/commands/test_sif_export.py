"""The parts of the importer of AWS SIF that need no server."""

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from penstock.server.commands.sif.export_files import SifExport
from penstock.server.commands.sif.pipelines import for_owner, read_pipeline
from penstock.server.commands.sif.report import SifReport
from penstock.server.commands.sif.resources import (
    NotTakable,
    calculation_input,
    factor_table,
    group_content,
    metric_input,
    read_table,
)
from penstock.server.commands.sif.values import SifValues, milliseconds
from penstock.server.core.command_output import CommandFailed

SAMPLE = Path(__file__).parents[3] / "examples" / "sif-export"


def transform(index: int, formula: str, key: str, type: str = "string", **more: Any) -> Any:
    output = {"index": 0, "key": key, "type": type, **more}
    return {"index": index, "formula": formula, "outputs": [output]}


def pipeline(*transforms: Any, **more: Any) -> Any:
    parameters = [{"index": 0, "key": "x", "type": "string"}]
    return {"transformer": {"parameters": parameters, "transforms": transforms}, **more}


TIME = transform(0, "AS_TIMESTAMP(:x, 'yyyy')", "time", "timestamp")


def test_only_the_latest_version_of_a_resource_is_read_from_its_table() -> None:
    export = SifExport(SAMPLE)
    names = [item["name"] for item in export.resources("pipelines", "p")]
    assert names == ["plant energy", "product match", "gas use"]
    assert [item["name"] for item in export.resources("pipelines", "k")] == [
        "all scopes",
        "scope 2",
    ]
    assert export.count_versions("pipelines", "pv") == 3


def test_a_group_keeps_its_name_description_and_tags() -> None:
    groups = {one["id"]: one for one in SifExport(SAMPLE).resources("accessManagement", "g")}
    assert group_content(groups["/acme"])["description"] == "Plants of Acme"
    assert group_content(groups["/acme/old"]) == {
        "name": "Closed plants",
        "description": None,
        "tags": [{"key": "reason", "value": "sold"}],
    }


def test_a_compressed_table_is_read_and_a_line_that_is_no_item_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "tables" / "calculations" / "AWSDynamoDB" / "data"
    folder.mkdir(parents=True)
    item = {"pk": {"S": "c:1"}, "sk": {"S": "c:1"}, "id": {"S": "1"}, "n": {"N": "1.50"}}
    line = json.dumps({"Item": item}).encode() + b"\n"
    (folder / "a.json.gz").write_bytes(gzip.compress(line * 2))
    found = SifExport(tmp_path).resources("calculations", "c")
    assert [str(one["n"]) for one in found] == ["1.50", "1.50"]
    (folder / "b.json").write_bytes(b'{"Item": {"pk": "c:1"}}\n')
    with pytest.raises(CommandFailed, match=r"b\.json:1: this is no item"):
        SifExport(tmp_path).resources("calculations", "c")


@pytest.mark.parametrize(
    "line", [b"secret", b'{"secret":1}', b'{"Item":{"secret":"\xff"}}', b"[" * 9999]
)
def test_a_line_that_is_no_item_is_not_quoted(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "tables" / "pipelines" / "b.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(line)
    with pytest.raises(CommandFailed) as failed:
        SifExport(tmp_path).resources("pipelines", "p")
    assert str(failed.value) == f"{path}:1: this is no item of an export of DynamoDB."


def test_a_folder_without_tables_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed, match="has no folder tables/"):
        SifExport(tmp_path)


@pytest.mark.parametrize(
    "key",
    [
        "../tables/pipelines/data.json",
        "/etc/passwd",
        "",
        "nothing.csv",
        "a\0b.csv",
        "\ud800.csv",
        "a" * 1_000,
        "a/" * 3_000,
    ],
    ids=lambda key: ascii(key)[1:20],
)
def test_a_key_that_no_file_of_the_folder_has_names_none(key: str) -> None:
    assert SifExport(SAMPLE).file(key) is None


def test_a_line_that_assigns_a_group_becomes_the_output_of_the_group() -> None:
    alone = transform(1, " assign_to_group( CONCAT('/a/', :x) ) ", "site")
    found = read_pipeline(pipeline(TIME, alone))
    assert (found.group, found.formulas[1]) == ("site", "LOWERCASE(CONCAT('/a/', :x))")
    above = transform(1, "ASSIGN_TO_GROUP(:x)\n:x", "name", includeAsUnique=True)
    found = read_pipeline(pipeline(TIME, above))
    assert found.formulas[1:] == [":x", "LOWERCASE(:x)"]
    assert (found.group, found.keys) == ("group", ("name",))
    assert found.outputs[2] == {"index": 2, "key": "group", "type": "STRING"}
    rows = found.formula_transformer()["rows"]
    assert rows == {"key": ["group", "time", "name"], "time": "time", "group": "group"}


@pytest.mark.parametrize(
    ("key", "parameters"),
    [
        ("kWh", ["time", "kWh"]),
        ("energy of a month", ["v0", "v1"]),
        ("TIME", ["v0", "v1"]),
        ("énergie", ["v0", "v1"]),
    ],
)
def test_values_are_carried_by_the_names_of_outputs_that_a_formula_can_write(
    key: str, parameters: list[str]
) -> None:
    found = read_pipeline(pipeline(TIME, transform(1, ":x", key), type="data"))
    carrying = found.carrying_transformer()
    assert [one["key"] for one in carrying["parameters"]] == parameters
    assert [one["label"] for one in carrying["parameters"]] == ["time", key]
    assert [one["formula"] for one in carrying["transforms"]] == [f":{one}" for one in parameters]


def test_rows_without_an_assignment_belong_to_the_owner() -> None:
    found = for_owner(read_pipeline(pipeline(TIME, transform(1, ":x", "group"))), "/acme")
    assert (found.group, found.formulas[2]) == ("row group", "'/acme'")


def test_the_key_columns_of_sif_give_the_order_of_keys() -> None:
    found = read_pipeline(
        pipeline(
            TIME,
            transform(1, ":x", "b", includeAsUnique=True, _keyMapping="key2"),
            transform(2, ":x", "a", includeAsUnique=True, _keyMapping="key1"),
        )
    )
    assert found.keys == ("a", "b")


@pytest.mark.parametrize(
    ("item", "words"),
    [
        (pipeline(), "no transforms"),
        (pipeline(TIME, transform(1, "IF(true, ASSIGN_TO_GROUP(:x), 1)", "y")), "within a formula"),
        (pipeline(transform(0, ":x", "y", "vector")), "'vector' is not known"),
    ],
)
def test_a_pipeline_that_cannot_be_made_says_why(item: Any, words: str) -> None:
    with pytest.raises(NotTakable, match=words):
        read_pipeline(item)


def test_a_pipeline_of_another_type_keeps_no_rows() -> None:
    found = read_pipeline(pipeline(TIME, type="data"))
    assert "rows" not in found.formula_transformer()


def test_the_first_row_of_a_key_counts_and_columns_of_numbers_are_numbers() -> None:
    table = read_table("\ufeffcode, kg ,zip\r\na,1.5,01234\r\nb,2,02345\r\na,9,1\r\n".encode())
    assert (table.repeated, table.rows) == (1, [["a", "1.5", "01234"], ["b", "2", "02345"]])
    kinds = [column["type"] for column in table.content()["columns"]]
    assert kinds == ["STRING", "NUMBER", "STRING"]


@pytest.mark.parametrize(
    ("data", "words"), [(b"", "is empty"), (b"a,b\n1\n", "more or fewer"), (b"\xff", "cannot be")]
)
def test_a_file_that_is_no_table_says_why(data: bytes, words: str) -> None:
    with pytest.raises(NotTakable, match=words):
        read_table(data)


def test_factors_are_a_row_for_each_impact_and_a_column_for_each_component() -> None:
    item = SifExport(SAMPLE).resources("impacts", "a")[0]
    assert factor_table(item)[:2] == (["impact", "co2e", "ch4"], [["combustion", "2.02", "0.0045"]])
    with pytest.raises(NotTakable, match="no impacts"):
        factor_table({"id": "1"})


def test_parameters_are_in_the_order_of_their_indexes() -> None:
    item = SifExport(SAMPLE).resources("calculations", "c")[0]
    made = calculation_input(item)
    assert [one["key"] for one in made["parameters"]] == ["kwh", "grid"]
    assert {"key": "sif", "value": "01hf0c00000000000000000001"} in made["tags"]


def test_a_metric_over_a_pipeline_that_was_not_taken_is_not_made() -> None:
    item = SifExport(SAMPLE).resources("pipelines", "k")[1]
    with pytest.raises(NotTakable, match="was not taken"):
        metric_input(item, {})
    with pytest.raises(NotTakable, match="'median' is not known"):
        metric_input({**item, "aggregationType": "median"}, {})


def test_values_are_rows_of_the_executions_that_wrote_them(tmp_path: Path) -> None:
    export = SifExport(SAMPLE)
    item = export.resources("pipelines", "p")[0]
    values = SifValues(tmp_path / "values")
    values.load(export)
    first, second = values.executions(item["id"])
    read, file = read_pipeline(item), tmp_path / "rows.csv"
    assert values.write_rows(item["id"], read, first, file) == 36
    assert values.write_rows(item["id"], read, second, file) == 1
    assert file.read_text() == (
        "month,site,plant,kwh,co2e\n1751328000000,/acme/north,Bend,30250.500000,12705.210000\n"
    )
    assert (values.errors, values.orphans, values.count_rows(item["id"])) == (1, 1, 37)
    values.close()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2025-07-01 00:00:00", "1751328000000"),
        ("2025-07-01 00:00:00.125", "1751328000125"),
        ("2025-07-01 02:00:00+02", "1751328000000"),
        ("soon", "soon"),
    ],
)
def test_a_time_of_postgresql_is_in_utc(text: str, expected: str) -> None:
    assert milliseconds(text) == expected


@pytest.mark.parametrize(
    ("broken", "found"),
    [
        (b'a,"b"c\n', ", behind line 2: a closing quote is followed by no separator."),
        (b'"a', ", behind line 2: a quote is never closed."),
        (b"\xff", " is no UTF-8."),
        (b"a" * 131_073, ", behind line 2: a field has more than 131072 characters."),
    ],
)
def test_a_table_of_values_that_is_no_csv_is_named_with_what_it_lacks(
    broken: bytes, found: str, tmp_path: Path
) -> None:
    export = tmp_path / "export"
    shutil.copytree(SAMPLE, export)
    table = export / "activities" / "Activity.csv"
    table.write_bytes(b"".join(table.read_bytes().splitlines(keepends=True)[:2]) + broken)
    values = SifValues(tmp_path / "values.db")
    with pytest.raises(CommandFailed) as failure:
        values.load(SifExport(export))
    values.close()
    assert failure.value.lines == (f"{table}{found}",)


def test_a_name_of_several_lines_is_one_line_of_the_report() -> None:
    report = SifReport()
    report.leave("group", "a\nDone: b", "it is\r\nthere")
    *_, last = report.text(is_dry=False).split("Left out, or taken in another form:\n")
    assert last.splitlines() == ["  group a Done: b: it is there"]
