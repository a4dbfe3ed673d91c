"""The wheel and the sdist: one package with its pages, compatible with other packages."""

import re
import shutil
import subprocess
import sys
import tarfile
import time
import tomllib
import zipfile
from collections.abc import Mapping
from email import message_from_bytes
from email.message import Message
from importlib.metadata import version
from pathlib import Path

import httpx
import pytest

from tests.support.patience import HUNG_SECONDS
from tests.support.penstock_command import token_of
from tests.support.server_process import VERIFY_TLS, environment, free_port
from tests.test_docs import FLOORS

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
BUILD = ("hatch_build.py", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md")
DATA = ("schema.graphql",)
SERVING = ROOT / "requirements" / "serving.txt"
QUERY = {"query": "{ __typename }"}
PAGE_TITLE = "<title>Penstock GraphiQL</title>"
MOST_WHEEL_BYTES = 4_000_000
MOST_ENVIRONMENT_BYTES = 200_000_000
PAGES = {f"penstock/server/{page}/dist/index.html" for page in ("graphiql", "console")}
NO_PAGE = "The pages are not built: run `make pages`, then build again."


def build(source: Path, kind: str, into: Path) -> Path:
    """Build a wheel or an sdist as `python -m build` does, with the installed tools."""
    ended = run_build(source, kind, into)
    assert ended.returncode == 0, ended.stderr
    return into / ended.stdout.split()[-1]


def run_build(source: Path, kind: str, into: Path) -> "subprocess.CompletedProcess[str]":
    program = f"from hatchling import build; print(build.build_{kind}({str(into)!r}))"
    return subprocess.run(
        [sys.executable, "-c", program], cwd=source, capture_output=True, text=True, check=False
    )


def copy_sources(into: Path, page: bool) -> Path:
    """Copy the sources of a build: the links of the package and their folders."""
    ignored = shutil.ignore_patterns("__pycache__", "node_modules", *([] if page else ["dist"]))
    for floor in FLOORS:
        shutil.copytree(ROOT / floor, into / floor, ignore=ignored)
    shutil.copytree(ROOT / "penstock", into / "penstock", symlinks=True, ignore=ignored)
    for name in (*BUILD, *DATA, ".gitignore"):
        shutil.copy(ROOT / name, into / name)
    return into


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, "sdist", tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, "wheel", tmp_path_factory.mktemp("wheel"))


def names_in(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as packed:
        return set(packed.namelist())


def test_a_wheel_puts_one_package_at_the_top_of_site_packages(wheel: Path) -> None:
    tops = {name.split("/")[0] for name in names_in(wheel)}
    assert tops == {"penstock", f"penstock-{PROJECT['project']['version']}.dist-info"}


def test_a_wheel_holds_every_module_of_every_floor_and_the_pages(wheel: Path) -> None:
    modules = {
        f"penstock/{path.relative_to(ROOT)}"
        for floor in FLOORS
        for path in (ROOT / floor).rglob("*.py")
        if "node_modules" not in path.parts
    }
    assert modules - names_in(wheel) == set()
    assert names_in(wheel) >= PAGES


def test_a_wheel_made_from_the_sdist_is_the_wheel_made_from_the_repository(
    sdist: Path, wheel: Path, tmp_path: Path
) -> None:
    with tarfile.open(sdist) as packed:
        packed.extractall(tmp_path, filter="data")
    (unpacked,) = (path for path in tmp_path.iterdir() if path.is_dir())
    again = build(unpacked, "wheel", tmp_path)
    assert names_in(again) == names_in(wheel)


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_a_build_without_the_pages_fails_with_a_clear_sentence(kind: str, tmp_path: Path) -> None:
    source = copy_sources(tmp_path / "source", page=False)
    ended = run_build(source, kind, tmp_path / "built")
    assert ended.returncode != 0
    assert NO_PAGE in ended.stdout + ended.stderr
    assert not list(tmp_path.glob("built/*"))


def test_an_editable_build_without_the_page_leads_to_the_folders_of_the_repository(
    tmp_path: Path,
) -> None:
    source = copy_sources(tmp_path / "source", page=False)
    editable = build(source, "editable", tmp_path)
    with zipfile.ZipFile(editable) as packed:
        (path,) = (name for name in packed.namelist() if name.endswith(".pth"))
        assert packed.read(path).decode().strip() == str(source)


def test_a_wheel_has_at_most_four_megabytes(wheel: Path) -> None:
    assert wheel.stat().st_size <= MOST_WHEEL_BYTES


def metadata_of(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as packed:
        (name,) = (name for name in packed.namelist() if name.endswith("/METADATA"))
        return message_from_bytes(packed.read(name))


def test_the_package_page_shows_the_readme(wheel: Path) -> None:
    metadata = metadata_of(wheel)
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata.get_payload(decode=True) == (ROOT / "README.md").read_bytes()
    assert metadata.get_all("Project-URL") is None


def test_with_the_address_of_the_repository_every_link_of_the_package_page_leads_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_REPOSITORY", "https://git.example.org/penstock/")
    metadata = metadata_of(build(ROOT, "wheel", tmp_path))
    assert metadata.get_all("Project-URL") == [
        "Repository, https://git.example.org/penstock",
        "Documentation, https://git.example.org/penstock/blob/HEAD/docs/README.md",
        "Changelog, https://git.example.org/penstock/blob/HEAD/CHANGELOG.md",
        "Issues, https://git.example.org/penstock/issues",
    ]
    payload = metadata.get_payload(decode=True)
    assert isinstance(payload, bytes)
    text = payload.decode()
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) > 20
    assert [link for link in links if not link.startswith(("https://", "#"))] == []
    assert "(https://git.example.org/penstock/raw/HEAD/docs/images/console-catalogue.png)" in text
    for link in links:
        path = link.partition("/HEAD/")[2].partition("#")[0]
        assert (ROOT / path).exists()


def find_uv() -> str:
    """Return the program that `make` installs packages with."""
    return shutil.which("uv") or str(ROOT / ".build" / "uv" / "bin" / "uv")


def make_environment(folder: Path, wheel: Path) -> Path:
    """Make an empty environment with the wheel and the locked packages that serving needs."""
    uv, python = find_uv(), folder / "bin" / "python"
    for command in (
        ["venv", "--quiet", "--python", sys.executable, str(folder)],
        ["pip", "install", "--quiet", "--python", str(folder), "-r", str(SERVING)],
        ["pip", "install", "--quiet", "--python", str(folder), "--no-deps", str(wheel)],
        ["pip", "check", "--quiet", "--python", str(folder)],
    ):
        subprocess.run([uv, *command], check=True, capture_output=True)
    return python


def ask_once(python: Path, variables: Mapping[str, str], data_dir: Path) -> tuple[object, str]:
    """Start `penstock serve` in the environment, send one query, fetch the page, and stop it."""
    port = free_port()
    command = [str(python.with_name("penstock")), "serve", "--port", str(port)]
    server = subprocess.Popen(
        [*command, "--data-dir", str(data_dir)], env=variables, stderr=subprocess.DEVNULL
    )
    headers = {"authorization": f"Bearer {token_of(data_dir, '/=reader')}"}
    url = f"http://127.0.0.1:{port}"
    try:
        with httpx.Client(base_url=url, timeout=HUNG_SECONDS, verify=VERIFY_TLS) as client:
            while server.poll() is None:
                try:
                    answer = client.post("/graphql", json=QUERY, headers=headers).json()
                    return answer, client.get("/graphiql").text
                except httpx.ConnectError:
                    time.sleep(0.05)
        raise AssertionError("the server ended before it answered")
    finally:
        server.terminate()
        server.wait(HUNG_SECONDS)


def test_the_wheel_serves_beside_the_package_named_schema(wheel: Path, tmp_path: Path) -> None:
    python = make_environment(tmp_path / "environment", wheel)
    variables = environment()
    variables.pop("PYTHONPATH", None)
    install = [find_uv(), "pip", "install", "--quiet", "--python", str(python), "--no-deps"]
    subprocess.run([*install, f"schema=={version('schema')}"], check=True)
    origins = subprocess.run(
        [python, "-c", "import penstock, schema; print(penstock.__file__); schema.Schema(int)"],
        env=variables,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(origins.stdout.strip()).is_relative_to(tmp_path / "environment")
    answer, page = ask_once(python, variables, tmp_path / "data")
    assert answer == {"data": {"__typename": "Query"}}
    assert size_of(tmp_path / "environment") <= MOST_ENVIRONMENT_BYTES
    assert PAGE_TITLE in page


def size_of(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*"))
