"""The committed schema follows the rules of `tests/sdl`, and a violation is reported."""

import json
import subprocess
from pathlib import Path

import pytest

from penstock.server.pages.build import find_tools
from tests.install import ROOT, skip_reason

FOLDER = "tests/sdl"
MANY_INPUTS = ["inputs: [CreatePipelineInput!]! input-name"]
"""The one mutation that takes many inputs; all others take one, named `input`."""
BROKEN = '''type Query {
  """A thing."""
  thing(id: ID!): Thing

  """Things."""
  things: ThingConnection!
}

"""A thing."""
type Thing {
  Name: String!
}

"""Things."""
type ThingConnection {
  """Things."""
  edges: [Thing!]!
}

"""A thing that nobody can get."""
type Other {
  """The id."""
  id: ID!
}
'''


@pytest.fixture(autouse=True)
def _needs_eslint() -> None:
    if reason := skip_reason(FOLDER):
        pytest.skip(reason)


def lint(sdl: str, folder: Path) -> list[str]:
    """Return each broken rule with the line that breaks it."""
    (folder / "schema.graphql").write_text(sdl)
    eslint = ROOT / FOLDER / "node_modules" / "eslint" / "bin" / "eslint.js"
    config = ROOT / FOLDER / "eslint.config.js"
    options = ["--config", str(config), "--format", "json", "schema.graphql"]
    command = [*find_tools().node, str(eslint), *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode in {0, 1}, done.stderr
    (file,) = json.loads(done.stdout)
    lines = sdl.splitlines()
    return sorted(
        f"{lines[found['line'] - 1].strip()} {found['ruleId'].rpartition('/')[2]}"
        for found in file["messages"]
    )


def test_the_committed_schema_keeps_every_rule(tmp_path: Path) -> None:
    assert lint((ROOT / "schema.graphql").read_text(), tmp_path) == MANY_INPUTS


def test_a_broken_rule_is_noticed(tmp_path: Path) -> None:
    assert lint(BROKEN, tmp_path) == [
        "Name: String! naming-convention",
        "Name: String! require-description",
        "thing(id: ID!): Thing require-description",
        "things: ThingConnection! relay-arguments",
        "type Other { no-unreachable-types",
        "type Query { relay-page-info",
        "type Query { require-description",
        "type Thing { relay-edge-types",
        "type Thing { relay-edge-types",
        "type Thing { relay-edge-types",
        "type Thing { strict-id-in-types",
        "type ThingConnection { relay-connection-types",
    ]
