"""The compose file: its settings exist, and its ports, paths and images fit the Dockerfile."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from penstock.server.settings.settings import Settings

ROOT = Path(__file__).parents[2]


def services() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text())[
        "services"
    ]
    return found


@pytest.mark.parametrize("name", ["penstock", "table", "penstock-dynamodb"])
def test_the_settings_of_a_service_are_accepted_by_the_server(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = services()[name]["environment"]
    known = {f"PENSTOCK_{field.upper()}" for field in Settings.model_fields}
    assert {one for one in environment if one.startswith("PENSTOCK_")} <= known
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    assert Settings.load().store == environment.get("PENSTOCK_STORE", "sqlite")


def test_ports_are_on_loopback_only_and_those_of_the_image() -> None:
    recipe = (ROOT / "Dockerfile").read_text()
    assert "EXPOSE 8000" in recipe
    for name, url in (("penstock", 8000), ("penstock-dynamodb", 8001)):
        service = services()[name]
        assert service["ports"] == [f"127.0.0.1:{url}:8000"]
        assert service["environment"]["PENSTOCK_PUBLIC_URL"] == f"http://127.0.0.1:{url}"


def test_the_data_of_the_embedded_store_is_in_a_volume() -> None:
    assert services()["penstock"]["volumes"] == ["data:/data"]
    assert "PENSTOCK_DATA_DIR=/data" in (ROOT / "Dockerfile").read_text()
