"""Invalid cursors beside fields that share a loader with another branch of the same request."""

import pytest

from penstock.schema import schema
from penstock.schema.engine.engine import CompiledExecutor, GraphQLEngine
from penstock.schema.engine.limits import Limits
from tests.schema.test_connections import KEEPER, NAMED, listed_store
from tests.support import graphql_client
from tests.support.graphql_client import Ask

__all__ = ["listed_store"]

VERSION = "pipeline { name ownerGroup { path } }"
DOCUMENTS = {
    "playlists": """{ playlists {
      edges { node { entries(after: "x") { __typename } rating } } nodes { rating } } }""",
    "groups": """{ pipelines(group: "/usa/west") {
      nodes { ownerGroup { children(after: "x") { __typename } parent { path } } }
      edges { node { ownerGroup { path parent { path } } } } } }""",
    "executions": """{ executions(group: "/usa/west") {
      nodes { timeline(after: "x") { __typename } pipeline { name ownerGroup { path } } }
      edges { node { pipeline { name ownerGroup { path } } } } } }""",
    "kept rows": f"""{{ {KEEPER} {{ rows {{
      nodes {{ history(after: "x") {{ __typename }} execution {{ id }} }}
      edges {{ node {{ history {{ nodes {{ number }} }} execution {{ id }} }} }} }} }} }}""",
    "versions": f"""{{ {NAMED} {{
      a: versions {{ nodes {{ {VERSION} }} }} b: versions {{ nodes {{ {VERSION} }} }}
      versions(after: "x") {{ __typename }}
      one: versionNumbered(version: 1) {{ {VERSION} }} }} }}""",
}
CREATE = """mutation($input: CreatePlaylistInput!) { createPlaylist(input: $input) {
  ...on CreatePlaylistPayload {
    a: playlist { entries(after: "x") { __typename } rating } b: playlist { rating name } } } }"""


@pytest.fixture
def interpreted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let graphql-core run the first run of each operation, as servers do."""
    executor = CompiledExecutor(schema, Limits(), interpreted_runs=1)
    engine = GraphQLEngine(schema, executor=executor)
    monkeypatch.setattr(graphql_client, "engine", lambda: engine)


@pytest.mark.usefixtures("interpreted_once")
@pytest.mark.parametrize("name", DOCUMENTS)
async def test_an_invalid_cursor_is_a_bad_argument_on_each_run(
    name: str, listed_store: Ask
) -> None:
    for _ in range(3):
        answer = await listed_store(DOCUMENTS[name])
        assert {error["extensions"]["code"] for error in answer.errors} == {"BAD_USER_INPUT"}


@pytest.mark.usefixtures("interpreted_once")
async def test_a_mutation_that_was_committed_is_answered(listed_store: Ask) -> None:
    for number in range(2):
        answer = await listed_store(CREATE, {"input": {"name": f"mix {number}"}})
        assert {error["extensions"]["code"] for error in answer.errors} == {"BAD_USER_INPUT"}
    listed = await listed_store("{ playlists(first: 2) { nodes { name } } }")
    assert [node["name"] for node in listed.value["nodes"]] == ["mix 1", "mix 0"]
