"""The image: its recipe is followed step by step in a folder, as no container can be built here."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.server_process import environment
from tests.test_docs import FLOORS

ROOT = Path(__file__).parents[1]
RECIPE = (ROOT / "Dockerfile").read_text()
SHOWN = {*(ROOT / ".dockerignore").read_text().splitlines()}


def read_stages() -> list[list[tuple[str, str]]]:
    """Return the instructions of each stage, with their arguments."""
    lines = re.sub(r"\\\n", " ", re.sub(r"(?m)^#.*\n", "", RECIPE)).splitlines()
    stages: list[list[tuple[str, str]]] = []
    for line in filter(None, lines):
        name, arguments = line.split(maxsplit=1)
        if name == "FROM":
            stages.append([])
        elif stages:
            stages[-1].append((name, arguments.strip()))
    return stages


def copy_step(arguments: str, into: Path) -> None:
    """Copy what a COPY names; only files that .dockerignore shows are there."""
    *sources, target = shlex.split(arguments)
    ignored = shutil.ignore_patterns("__pycache__", "node_modules", "dist")
    for source in sources:
        assert not SHOWN.isdisjoint({f"!{source}", f"!{source.split('/')[0]}"})
        if (ROOT / source).is_dir():
            shutil.copytree(
                ROOT / source, into / target, symlinks=True, ignore=ignored, dirs_exist_ok=True
            )
        else:
            shutil.copy(ROOT / source, into / target)


def run_shell(
    command: str, folder: Path, variables: dict[str, str]
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )


def copy_built_pages(into: Path) -> None:
    """Copy the pages, which the recipe then builds only if what it copied makes others."""
    for page in ("graphiql", "console"):
        built = Path("server", page, "dist")
        shutil.copytree(ROOT / built, into / built)


def follow_build(root: Path, extras: str) -> None:
    """Follow the first stage below a folder, which stands for the root of the container."""
    source = root / "source"
    source.mkdir(parents=True)
    copy_built_pages(source)
    python = f"{Path(sys.executable).parent}:{environment()['PATH']}"
    variables = {**environment(), "EXTRAS": extras, "PATH": python}
    for name, arguments in read_stages()[0]:
        if name == "COPY":
            copy_step(arguments, source)
        elif name == "RUN":
            command = re.sub(r"(?<![\w.])/(opt|wheels)\b", rf"{root}/\1", arguments)
            ended = run_shell(command, source, variables)
            assert ended.returncode == 0, f"{command}\n{ended.stdout}{ended.stderr}"
        else:
            # Its variables switch caches off, which would only make the test slow.
            assert name in {"ARG", "ENV", "WORKDIR"}


def test_the_steps_of_the_recipe_make_an_environment_that_serves_the_page(tmp_path: Path) -> None:
    follow_build(tmp_path, extras="otel")
    python = tmp_path / "opt" / "penstock" / "bin" / "python"
    program = (
        "import opentelemetry.sdk, penstock.server.graphiql as page; "
        "print(page.__file__, (page.HERE / 'dist' / 'index.html').is_file())"
    )
    ended = subprocess.run(
        [python, "-I", "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    place, has_page = ended.stdout.split()
    assert Path(place).is_relative_to(tmp_path / "opt" / "penstock")
    assert has_page == "True"
    version = [str(python.with_name("penstock")), "--version"]
    assert subprocess.run(version, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize("folder", ["penstock", *sorted(FLOORS)])
def test_the_image_is_built_with_every_folder(folder: str) -> None:
    assert f"\nCOPY {folder} {folder}\n" in RECIPE
    assert f"\n!{folder}\n" in (ROOT / ".dockerignore").read_text()


def test_the_image_writes_to_its_volume_only_and_not_as_root() -> None:
    final = dict(read_stages()[-1])
    assert final["USER"] == "10001:10001"
    assert final["VOLUME"] == "/data"
    assert "PENSTOCK_DATA_DIR=/data" in final["ENV"]
    assert final["ENTRYPOINT"] == '["penstock"]'
    assert final["CMD"] == '["serve", "--host", "0.0.0.0"]'


def test_the_image_says_what_it_is() -> None:
    labels = dict(read_stages()[-1])["LABEL"]
    for name in ("title", "description", "licenses"):
        assert f"org.opencontainers.image.{name}=" in labels
