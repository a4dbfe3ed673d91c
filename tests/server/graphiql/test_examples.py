"""GraphiQL's example tabs work on the sample data, with the identity of the page."""

import json
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from graphql import OperationDefinitionNode, OperationType, parse

from penstock.datastore.roles import Caller
from penstock.datastore.store import Store
from penstock.server.auth.dev_identity import dev_identity
from penstock.server.auth.dev_tokens import DEV_USER
from penstock.server.samples.audio import add_samples
from penstock.server.samples.catalogue import DEFAULT_SIZE
from penstock.server.samples.seeding import seed
from penstock.server.settings.settings import Settings
from tests.support.graphql_client import Ask
from tests.support.stores import open_store

PIPELINE_ID = """query ($group: GroupPath!, $name: String!) {
  pipelineByName(group: $group, name: $name) { id } }"""
EXAMPLES = Path(__file__).parents[3] / "server" / "graphiql" / "examples"
ANSWERED = [
    path
    for path in sorted(EXAMPLES.glob("*.graphql"))
    if not any(
        isinstance(part, OperationDefinitionNode) and part.operation is OperationType.SUBSCRIPTION
        for part in parse(path.read_text()).definitions
    )
]


@pytest.fixture(scope="module")
async def samples(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Store]:
    """The store as the server seeds it."""
    async with open_store("sqlite", tmp_path_factory.mktemp("samples")) as store:
        await seed(store, DEFAULT_SIZE, lambda: None)
        await add_samples(store, DEV_USER)
        yield store


@pytest.fixture(scope="module")
async def caller(samples: Store, tmp_path_factory: pytest.TempPathFactory) -> Caller:
    settings = Settings.load(data_dir=tmp_path_factory.mktemp("key"))
    identity = await dev_identity(settings, samples)
    assert identity is not None
    return identity.caller


def document(example: Path) -> str:
    return example.read_text()


def variables(example: Path) -> dict[str, Any]:
    beside = example.with_suffix(".json")
    return json.loads(beside.read_text()) if beside.exists() else {}


async def filled_variables(example: Path, samples: Store, caller: Caller) -> dict[str, Any]:
    """Return the variables with ids in place of the pipelines that they name, as the page does."""
    text = json.dumps(variables(example))
    for named in set(re.findall(r"@pipeline [^\"]+", text)):
        _, group, name = named.split(" ")
        found = await Ask(samples)(PIPELINE_ID, {"group": group, "name": name}, caller)
        assert found.data
        text = text.replace(named, found.data["pipelineByName"]["id"])
    filled: dict[str, Any] = json.loads(text)
    return filled


def operations(example: Path) -> Sequence[str | None]:
    """Return the names of the operations of an example that are answered once."""
    parts = parse(document(example)).definitions
    return [
        part.name.value if part.name else None
        for part in parts
        if isinstance(part, OperationDefinitionNode)
    ]


def empty_lists(value: object, path: str = "") -> Iterator[str]:
    """Return the paths of empty lists in an answer, and of failures in place of results."""
    if isinstance(value, dict):
        if not str(value.get("__typename", "Payload")).endswith("Payload"):
            yield f"{path} is {value}"
        for name, below in value.items():
            yield from empty_lists(below, f"{path}.{name}")
    elif value == [] and path.count(".") <= 2:
        yield path
    elif isinstance(value, list):
        for below in value:
            yield from empty_lists(below, f"{path}.")


def test_there_are_examples_to_open_with() -> None:
    assert len(ANSWERED) >= 4
    texts = {path.stem for path in EXAMPLES.glob("*.graphql")}
    assert {path.name.partition(".")[0] for path in EXAMPLES.glob("*.json")} <= texts


@pytest.mark.parametrize("example", ANSWERED, ids=lambda path: path.stem)
async def test_an_example_finds_what_it_asks_for(
    example: Path, samples: Store, caller: Caller
) -> None:
    values = await filled_variables(example, samples, caller)
    for operation in operations(example):
        answer = await Ask(samples)(document(example), values, caller, operation=operation)
        assert answer.errors == ()
        assert answer.data
        assert list(empty_lists(answer.data)) == []


async def test_what_the_second_example_says_of_itself_is_true(
    samples: Store, caller: Caller
) -> None:
    example = EXAMPLES / "02-create-pipeline.graphql"
    input = {**variables(example)["input"], "name": "for this test"}
    told = [
        (await Ask(samples)(document(example), {"input": input}, caller)).value["__typename"]
        for _ in range(2)
    ]
    assert told == ["CreatePipelinePayload", "NameTaken"]
