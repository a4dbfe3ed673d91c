"""The locked packages: exact versions with hashes from no named index, in step with the project."""

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WANTED = {
    "serving": [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["results"]],
    "testing": [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["dev"]],
}


def read_lock(path: Path) -> dict[str, Requirement]:
    """Return the requirements of a lock file by their names; each must have hashes."""
    found: dict[str, Requirement] = {}
    for entry in path.read_text().replace(" \\\n", " ").splitlines():
        requirement, *hashes = entry.split(" --hash=")
        assert hashes
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", one.strip()) for one in hashes)
        parsed = Requirement(requirement)
        found[canonicalize_name(parsed.name)] = parsed
    return found


def test_there_is_a_lock_for_each_set_of_packages() -> None:
    assert [path.stem for path in LOCKS] == ["node", "serving", "testing", "uv"]


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.stem)
def test_a_lock_names_one_version_and_its_hashes_and_no_address(path: Path) -> None:
    assert "://" not in path.read_text()
    for requirement in read_lock(path).values():
        assert [one.operator for one in requirement.specifier] == ["=="]


@pytest.mark.parametrize("name", WANTED)
def test_a_lock_holds_what_the_project_asks_for(name: str) -> None:
    locked = read_lock(ROOT / "requirements" / f"{name}.txt")
    for text in WANTED[name]:
        wanted = Requirement(text)
        (pinned,) = locked[canonicalize_name(wanted.name)].specifier
        assert wanted.specifier.contains(pinned.version), text


def test_what_serves_has_the_same_versions_in_tests() -> None:
    serving, testing = (read_lock(ROOT / "requirements" / f"{name}.txt") for name in WANTED)
    assert {name: str(testing[name].specifier) for name in serving} == {
        name: str(one.specifier) for name, one in serving.items()
    }


def test_packages_go_to_the_folders_environment_whichever_one_is_active(tmp_path: Path) -> None:
    planned = subprocess.run(
        ["make", "--dry-run", "--always-make", ".venv/testing"],
        cwd=ROOT,
        env={**os.environ, "VIRTUAL_ENV": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = planned.stdout.splitlines()
    installs = [line for line in lines if "pip install --quiet --strict" in line]
    assert len(installs) == 3
    assert all(" --python .venv " in line for line in installs)
