"""The dashboard of sensors: its requests are answered, and its columns are in the answers."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from penstock.datastore.ngsi.repository import SinkAccess
from penstock.datastore.store import Store
from tests.datastore.ngsi.sample_destinations import open_destinations
from tests.datastore.ngsi.stored_samples import AT, store_samples
from tests.support.application import open_application
from tests.support.stores import open_table

DEPLOY = Path(__file__).parents[2] / "deploy"
BOARD = json.loads((DEPLOY / "grafana-sensors.json").read_text())
TYPES: dict[str, Any] = {"timestamp_epoch": int, "string": str, "number": (int, float)}


TARGETS = {panel["title"]: target for panel in BOARD["panels"] for target in panel["targets"]}


def fill(text: str) -> str:
    """A parameter as Grafana sends it: with the values of variables, and of the time range."""
    values = {each["name"]: each["query"] for each in BOARD["templating"]["list"]}
    values |= {"__from": str(AT - 1000), "__to": str(AT + 10_000)}
    for name, value in values.items():
        text = text.replace(f"${{{name}}}", value)
    assert "$" not in text
    return text


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
async def test_each_panel_shows_the_samples_of_the_server(
    target: dict[str, Any], tmp_path: Path
) -> None:
    async with (
        open_table("sqlite", tmp_path) as table,
        open_destinations("sqlite", tmp_path) as destinations,
    ):
        store = Store(table, ngsi_access=SinkAccess(destinations))
        await store_samples(store, entities=("car1", "car2"), samples=5)
        async with open_application(store, tmp_path) as server:
            params = target["url_options"]["params"]
            given = {str(each["key"]): fill(each["value"]) for each in params}
            answer = await server.client.get(target["url"], params=given)
    rows = answer.json()
    assert len(rows) == 10
    for column in target["columns"]:
        assert all(isinstance(row[column["selector"]], TYPES[column["type"]]) for row in rows)


def test_the_board_uses_the_data_source_that_is_provisioned() -> None:
    document = yaml.safe_load((DEPLOY / "grafana-datasource.yaml").read_text())
    (source,) = document["datasources"]
    for panel in BOARD["panels"]:
        assert panel["datasource"] == {"type": source["type"], "uid": source["uid"]}
    assert source["jsonData"]["auth_method"] == "bearerToken"
    assert source["secureJsonData"]["bearerToken"].startswith("$")


def test_grafana_finds_the_data_source_and_the_board_where_compose_puts_them() -> None:
    """The places and names of https://grafana.com/docs/grafana/latest/administration/provisioning."""
    service = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["grafana"]
    mounts = dict(each.removesuffix(":ro").split(":") for each in service["volumes"])
    placed = {Path(place): DEPLOY / file for file, place in mounts.items() if file[0] == "."}
    assert all(file.is_file() for file in placed.values())
    (provider,) = yaml.safe_load((DEPLOY / "grafana-dashboards.yaml").read_text())["providers"]
    assert provider["type"] == "file"
    folder = Path(provider["options"]["path"])
    boards = [file.name for place, file in placed.items() if place.parent == folder]
    assert boards == ["grafana-sensors.json"]
    provisioning = Path("/etc/grafana/provisioning")
    kinds = {
        place.parent.name: yaml.safe_load(file.read_text())
        for place, file in placed.items()
        if place.parent.parent == provisioning
    }
    assert {kind: document["apiVersion"] for kind, document in kinds.items()} == {
        "datasources": 1,
        "dashboards": 1,
    }
    (source,) = kinds["datasources"]["datasources"]
    assert service["environment"]["GF_PLUGINS_PREINSTALL"] == source["type"]
    named = {source["url"], source["secureJsonData"]["bearerToken"]}
    assert {each.removeprefix("$") for each in named} <= set(service["environment"])
