"""The names that are installed, and what the package and the image are made of."""

import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OURS = "penstock"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PACKAGES: list[str] = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]


@pytest.mark.parametrize("package", PACKAGES)
def test_each_package_belongs_to_this_distribution_only(package: str) -> None:
    assert set(packages_distributions().get(package, [OURS])) == {OURS}


def test_the_distribution_holds_the_four_floors_and_the_command() -> None:
    assert set(PACKAGES) >= {"server", "schema", "resolvers", "datastore"}
    assert PROJECT["project"]["scripts"] == {OURS: "server.__main__:main"}


@pytest.mark.parametrize("package", PACKAGES)
def test_the_image_is_built_with_every_package(package: str) -> None:
    assert f"\nCOPY {package} {package}\n" in (ROOT / "Dockerfile").read_text()
    assert f"\n!{package}\n" in (ROOT / ".dockerignore").read_text()


def test_the_image_writes_to_its_volume_only_and_not_as_root() -> None:
    final = (ROOT / "Dockerfile").read_text().rpartition("\nFROM ")[2]
    assert "\nUSER 10001:10001\n" in final
    assert "\nVOLUME /data\n" in final
    assert "PENSTOCK_DATA_DIR=/data" in final
    assert '\nENTRYPOINT ["penstock"]\nCMD ["serve", "--host", "0.0.0.0"]\n' in final
