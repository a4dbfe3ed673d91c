"""The client samples run as their readers run them, against a real server."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from penstock.datastore.roles import ROOT as TOP
from penstock.datastore.roles import Role
from penstock.server.auth.dev_tokens import DEV_TOKEN_LIFETIME, dev_key, sign_dev_token
from penstock.server.pages.build import find_tools
from tests.install import ROOT, skip_reason
from tests.support.patience import HUNG_SECONDS
from tests.support.server_process import VERIFY_TLS, running_server

pytestmark = pytest.mark.runs_together("clients")

CREATE = """mutation Create($name: String!, $material: String!) { createPipeline(input: {
  name: $name, tags: [{key: "source", value: "sap"}, {key: "material", value: $material}],
  transformer: {parameters: [], transforms: [
    {index: 0, formula: "1", outputs: [{index: 0, type: NUMBER}]}]}
}) { __typename } }"""
KEYS = "{ tagKeys(kind: PIPELINE) { nodes { key count } } }"

NAMES = [f"Freight {n:02}" for n in range(21)]
"""The pipelines that the samples find: one more than fits on a page of theirs."""
FOUND = [
    "pipelines with source=SAP and material=material/metal:",
    *(f"- {name}, version 1" for name in NAMES),
]
CHANGED = [
    "updated, version 2",
    "conflict: version 1 was seen, 2 is current",
    "updated, version 3",
    "deleted",
]


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """The exit code of a program, and its output lines."""

    code: int
    out: list[str]
    err: list[str]


@dataclass(frozen=True, slots=True)
class Server:
    """The URL of a server, and its data directory."""

    url: str
    data_dir: Path

    def token(self, role: Role) -> str:
        key = dev_key(self.data_dir)
        return sign_dev_token(key, "ann", {TOP: role}, TOP, DEV_TOKEN_LIFETIME)

    def ask(self, query: str, **variables: str) -> Any:
        headers = {"Authorization": f"Bearer {self.token(Role.ADMIN)}"}
        body = {"query": query, "variables": variables}
        answer = httpx.post(
            self.url, json=body, headers=headers, timeout=HUNG_SECONDS, verify=VERIFY_TLS
        )
        return answer.json()["data"]

    def tag_keys(self) -> dict[str, int]:
        """Return the number of pipelines for each tag key."""
        nodes = self.ask(KEYS)["tagKeys"]["nodes"]
        return {node["key"]: node["count"] for node in nodes}

    def run(self, program: list[str], role: Role) -> ProgramResult:
        return self.run_with(program, role)

    def run_with(self, program: list[str], role: Role, *arguments: str) -> ProgramResult:
        return run([*program, self.url, self.token(role), *arguments])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with the pipelines to find, and some similar ones."""
    with running_server(tmp_path_factory.mktemp("data"), ["--no-seed"]) as started:
        server = Server(f"{started.url}/graphql", started.data_dir)
        server.ask(CREATE, name="Packaging", material="material/plastic")
        for name in NAMES:
            server.ask(CREATE, name=name, material="material/metal/steel")
        yield server


@pytest.fixture(scope="module")
def python() -> list[str]:
    return [sys.executable, str(ROOT / "examples" / "python" / "main.py")]


def test_the_front_page_is_printed_and_goes_on_live(server: Server) -> None:
    program = [sys.executable, str(ROOT / "examples" / "python" / "front_page.py")]
    found = server.run_with(program, Role.ADMIN, "1")
    assert (found.code, found.err) == (0, [])
    assert found.out[0].endswith("pipelines, each with its latest executions:")
    counts = "0 WAITING, 0 IN_PROGRESS, 0 CANCELLED, 0 FAILED, 0 SUCCESS"
    assert f"In the last day: {counts}" in found.out
    assert any(line.startswith("  SERVER on ") for line in found.out)
    assert found.out[-1] == "RESET"
    refused = server.run_with(program, Role.READER, "1")
    assert refused.err == ["The token is not that of an administrator of `/`."]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the TypeScript sample in the place of a clone, with its generated types."""
    if reason := skip_reason("examples/typescript"):
        pytest.skip(reason)
    clone = tmp_path_factory.mktemp("clone")
    copy = clone / "examples" / "typescript"
    built = shutil.ignore_patterns("node_modules", "dist", "generated")
    shutil.copytree(ROOT / "examples" / "typescript", copy, ignore=built)
    (copy / "node_modules").symlink_to(ROOT / "examples" / "typescript" / "node_modules")
    for shared in ("schema.graphql", "examples/operations.graphql"):
        shutil.copyfile(ROOT / shared, clone / shared)
    assert run(["node", "generate.js"], copy) == ProgramResult(0, [], [])
    return copy


@pytest.fixture(scope="module")
def typescript(project: Path) -> list[str]:
    assert compile_types(project) == ProgramResult(0, [], [])
    return ["node", str(project / "dist" / "main.js")]


def run(command: list[str], folder: Path | None = None) -> ProgramResult:
    if command[0] == "node":
        command = [*find_tools().node, *command[1:]]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return ProgramResult(done.returncode, done.stdout.splitlines(), done.stderr.splitlines())


def compile_types(project: Path, *options: str) -> ProgramResult:
    return run(["node", "node_modules/typescript/bin/tsc", *options], project)


@pytest.mark.parametrize(("language", "name"), [("python", "Python"), ("typescript", "TypeScript")])
def test_a_sample_finds_creates_updates_and_deletes(
    language: str, name: str, server: Server, request: pytest.FixtureRequest
) -> None:
    ran = server.run(request.getfixturevalue(language), Role.ADMIN)
    created = f"created Rail freight ({name}), version 1"
    assert ran == ProgramResult(0, [*FOUND, created, *CHANGED], [])
    assert server.tag_keys() == {"material": 22, "source": 22}


@pytest.mark.parametrize("language", ["python", "typescript"])
def test_a_sample_that_may_not_create_says_why(
    language: str, server: Server, request: pytest.FixtureRequest
) -> None:
    ran = server.run(request.getfixturevalue(language), Role.READER)
    assert ran == ProgramResult(1, FOUND, ["This needs the role CONTRIBUTOR at /."])
    assert server.tag_keys() == {"material": 22, "source": 22}


@pytest.mark.parametrize("language", ["python", "typescript"])
def test_a_sample_whose_token_does_not_hold_says_so(
    language: str, server: Server, request: pytest.FixtureRequest
) -> None:
    ran = run([*request.getfixturevalue(language), server.url, "no-token"])
    assert (ran.code, ran.out) == (1, FOUND[:1])
    assert "The token is malformed." in ran.err[-1]


def test_a_program_that_misreads_the_schema_does_not_compile(project: Path) -> None:
    main = project / "src" / "main.ts"
    text = main.read_text()
    wrong = text.replace('"VersionConflict"', '"Conflict"')
    assert wrong != text
    try:
        main.write_text(wrong)
        # The compiler would still write a program, over the good one.
        ran = compile_types(project, "--noEmit")
    finally:
        main.write_text(text)
    assert ran.code != 0
    assert """Type '"Conflict"' is not comparable to type""" in " ".join(ran.out)
