"""Callers, drafts and documents for tests that run GraphQL without HTTP."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from penstock.datastore.resources.changes import RowChanges
from penstock.datastore.roles import Caller
from penstock.datastore.store import Store
from penstock.datastore.table.instrumentation import Units
from penstock.resolvers.context import Context
from penstock.resolvers.cursors import Cursors
from penstock.schema import schema
from penstock.schema.engine.engine import GraphQLEngine
from penstock.schema.engine.operations import OperationRequest, RequestRejected
from penstock.server.auth.claims import default_group_from, roles_from

CURSORS = Cursors(b"a key that only tests have")
GROUPS = ("/usa", "/usa/northwest", "/usa/southeast", "/eu", "/eu/france")
TRANSFORMER: Mapping[str, Any] = {
    "parameters": [{"index": 0, "key": "x", "type": "NUMBER"}],
    "transforms": [{"index": 0, "formula": ":x", "outputs": [{"index": 0, "type": "NUMBER"}]}],
}
CONTENT: Mapping[str, Any] = {
    "columns": [{"name": "x", "type": "STRING"}, {"name": "y", "type": "NUMBER"}],
    "csv": "x,y\na,1\nb,2.5\n",
}
"""The content of datasets, in the place of a transformer."""

NOUNS = ("pipeline", "calculation", "reference dataset", "metric")

CREATE_GROUP = """mutation($input: CreateGroupInput!) { createGroup(input: $input) {
  __typename ...on CreateGroupPayload { group { path } } ...on UserError { code message } } }"""
CREATE = """mutation($input: CreatePipelineInput!) { createPipeline(input: $input) {
  __typename ...on CreatePipelinePayload { pipeline { id name version } }
  ...on UserError { code message path } } }"""
UPDATE = """mutation($input: UpdatePipelineInput!) { updatePipeline(input: $input) {
  __typename ...on UpdatePipelinePayload { pipeline { id name version } }
  ...on UserError { code message path } } }"""


def as_caller(user: str, *roles: str, default_group: str | None = None) -> Caller:
    """Return a caller as a token would: `as_caller("ana", "/usa=admin", "/eu=reader")`."""
    held = roles_from(list(roles))
    return Caller(user, held, default_group_from(default_group, held))


ROOT = as_caller("root", "/=admin")


def tag_inputs(*texts: str) -> list[dict[str, str]]:
    """Return tag inputs for texts like `material=metal/steel`."""
    return [{"key": key, "value": value} for key, _, value in (t.partition("=") for t in texts)]


def words_for(text: str, noun: str, of: str = "pipeline") -> str:
    """Replace the noun pipeline in a text by the noun of another kind of resource."""
    for form in (title_of, camel, constant):
        text = text.replace(form(of), form(noun))
    return text


def title_of(noun: str) -> str:
    """Return the noun as the name of a type: `ReferenceDataset`."""
    return noun.title().replace(" ", "")


def camel(noun: str) -> str:
    """Return the noun as the name of a field: `referenceDataset`."""
    return title_of(noun)[0].lower() + title_of(noun)[1:]


def constant(noun: str) -> str:
    """Return the noun as the value of an enum: `REFERENCE_DATASET`."""
    return noun.upper().replace(" ", "_")


def content_for(value: Any, noun: str) -> Any:
    """Return the same values with the content of another kind in place of a transformer."""
    if isinstance(value, list):
        return [content_for(one, noun) for one in value]
    if not isinstance(value, dict):
        return value
    found = {key: content_for(one, noun) for key, one in value.items() if key != "transformer"}
    if "transformer" in value:
        found |= _content(value["transformer"], noun)
    return found


def _content(transformer: Any, noun: str) -> dict[str, Any]:
    if noun == "reference dataset":
        return {"content": transformer and CONTENT}
    if noun == "metric":
        return {"function": transformer and "SUM", "inputs": transformer and []}
    if transformer is None:
        return {}
    transform = transformer["transforms"][0]
    return {
        "parameters": transformer["parameters"],
        "formula": transform["formula"],
        "outputs": transform["outputs"],
    }


def as_if_of_pipelines(value: Any, noun: str) -> Any:
    """Return the answer with the noun pipeline in its names of fields and types."""
    if isinstance(value, list):
        return [as_if_of_pipelines(one, noun) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        words_for(key, "pipeline", noun): (
            words_for(str(one), "pipeline", noun)
            if key == "__typename"
            else as_if_of_pipelines(one, noun)
        )
        for key, one in value.items()
    }


def draft(name: str, *tags: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "tags": tag_inputs(*tags), "transformer": TRANSFORMER, **more}


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one request, the units it consumed, and its consistency token."""

    data: Any
    errors: tuple[Mapping[str, Any], ...]
    units: Units
    token: str | None = None

    @property
    def value(self) -> Any:
        """The value of the one root field; the answer holds no error."""
        assert self.errors == ()
        (value,) = self.data.values()
        return value

    @property
    def code(self) -> str:
        """The code of the one error; the answer holds nothing else."""
        (error,) = self.errors
        assert not self.data or not any(self.data.values())
        code: str = error["extensions"]["code"]
        return code


@cache
def engine() -> GraphQLEngine:
    """Return one engine for all tests, which caches validated documents."""
    return GraphQLEngine(schema)


@dataclass(frozen=True, slots=True)
class Ask:
    """Runs documents over a store, each as one request of one caller.

    With another noun, documents about pipelines are sent for that kind instead, and the answers
    come back as if about pipelines. So one test covers every kind. With `tokens` each request
    sends the consistency token of the latest answer that had one.
    """

    store: Store
    noun: str = "pipeline"
    tokens: list[str] | None = None

    async def __call__(
        self,
        query: str,
        variables: Mapping[str, Any] | None = None,
        caller: Caller = ROOT,
        token: str | None = None,
        operation: str | None = None,
    ) -> Answer:
        if self.noun != "pipeline":
            query = words_for(query, self.noun)
            variables = content_for(variables or {}, self.noun)
        try:
            prepared = engine().prepare(
                OperationRequest(query=query, variables=variables or {}, operation_name=operation)
            )
        except RequestRejected as refused:
            return Answer(None, tuple(refused.errors), Units())
        if self.tokens and token is None:
            token = self.tokens[-1]
        context = Context.open(
            self.store,
            caller,
            CURSORS,
            RowChanges(self.store.table),
            consistent=prepared.operation.reads_consistently,
            token=token,
        )
        body = (await engine().run(prepared, context, "a test")).body
        data = body.get("data")
        if self.noun != "pipeline":
            data = as_if_of_pipelines(data, self.noun)
        errors = tuple(body.get("errors", ()))
        given = context.consistency_token
        if self.tokens is not None and given is not None:
            self.tokens.append(given)
        return Answer(data, errors, context.units, given)

    async def input(self, document: str, caller: Caller = ROOT, /, **input: Any) -> Any:
        """Run a mutation with this input; returns its one result."""
        return (await self(document, {"input": input}, caller)).value

    async def create_groups(self, *paths: str) -> None:
        """Create the groups, parents first."""
        for path in paths or GROUPS:
            created = await self.input(CREATE_GROUP, path=path)
            assert created["__typename"] == "CreateGroupPayload", created

    async def make(
        self, group: str, name: str, *tags: str, caller: Caller = ROOT, **more: Any
    ) -> str:
        """Create a pipeline; returns its global id."""
        created = await self.input(CREATE, caller, **draft(name, *tags, group=group, **more))
        assert created["__typename"] == "CreatePipelinePayload", created
        id: str = created["pipeline"]["id"]
        return id

    async def change(self, id: str, expected: int, **changes: Any) -> int:
        """Update a pipeline; returns its version."""
        updated = await self.input(UPDATE, ROOT, id=id, expectedVersion=expected, **changes)
        assert updated["__typename"] == "UpdatePipelinePayload", updated
        version: int = updated["pipeline"]["version"]
        return version

    async def names(self, group: str | None, caller: Caller = ROOT, **listed: Any) -> list[str]:
        """Return the first hundred names in a group, by default oldest first."""
        variables = {"group": group, "order": "OLDEST_FIRST", **listed}
        page = (await self(LIST, variables, caller)).value
        return [node["name"] for node in page["nodes"]]


LIST = """query($group: GroupPath, $tags: TagFilter, $below: Boolean, $order: Order,
    $name: NameFilter) {
  pipelines(group: $group, tags: $tags, includeChildGroups: $below, order: $order, name: $name,
    first: 100) { nodes { name } } }"""
