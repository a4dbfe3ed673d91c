"""The server into which an export is imported: what it has already, and what is made in it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from penstock.server.commands.client.graphql_client import AnsweredError, GraphQLClient
from penstock.server.commands.sif.resources import TAG

MOST_PROBLEMS: Final = 3
NOT_THERE: Final = ("NOT_FOUND", "BAD_USER_INPUT")
PASSING: Final = ("RATE_LIMITED", "SERVICE_UNAVAILABLE", "TIMEOUT", "INTERNAL_SERVER_ERROR")
"""Codes of errors that end the import: the same command may go on later."""


class Kind(NamedTuple):
    """A kind of resources: its noun in a report, and its name in the schema."""

    noun: str
    title: str

    @property
    def field(self) -> str:
        return self.title[0].lower() + self.title[1:]


DATASET: Final = Kind("dataset", "ReferenceDataset")
CALCULATION: Final = Kind("calculation", "Calculation")
PIPELINE: Final = Kind("pipeline", "Pipeline")
METRIC: Final = Kind("metric", "Metric")


class ServerResource(NamedTuple):
    """A resource: its global id, version and state, its groups, and the id of SIF in its tags."""

    id: str
    version: int
    state: str
    groups: tuple[str, ...]
    sif: str | None


class ServerRefusal(Exception):
    """The server refused to make something, with the reason."""


@dataclass(frozen=True, slots=True)
class ImportTarget:
    """The server, as the caller of the command sees it."""

    client: GraphQLClient

    async def has_group(self, path: str) -> bool:
        query = "query($path: GroupPath!) { group(path: $path) { path } }"
        return bool(await self._find(query, path=path))

    async def create_group(self, path: str, content: Mapping[str, Any]) -> None:
        query = """mutation($input: CreateGroupInput!) { createGroup(input: $input) {
          __typename ...on UserError { reason: message } } }"""
        await self._run(query, input={"path": path, **content})

    async def is_disabled(self, path: str) -> bool:
        """Whether the group is disabled, by itself or by one above it."""
        query = "query($path: GroupPath!) { group(path: $path) { disabledThrough } }"
        found = await self._find(query, path=path)
        return bool(found and found["disabledThrough"])

    async def disable_group(self, path: str) -> None:
        query = """mutation($input: UpdateGroupInput!) { updateGroup(input: $input) {
          __typename ...on UserError { reason: message } } }"""
        await self._run(query, input={"path": path, "state": "DISABLED"})

    async def find(self, kind: Kind, name: str, group: str) -> ServerResource | None:
        """Find a resource that the group owns."""
        field = f"{kind.field}ByName"
        query = f"""query($name: String!, $group: GroupPath) {{
          {field}(name: $name, group: $group) {{
            id version owner state groups tags {{ key value }} }} }}"""
        found = await self._find(query, name=name, group=group)
        if found is None or found["owner"] != group:
            return None
        tags = {tag["key"]: tag["value"] for tag in found["tags"]}
        return _resource_of(found, tags.get(TAG))

    async def create(self, kind: Kind, input: Mapping[str, Any]) -> ServerResource:
        """Create a resource; raises ServerRefusal with the reasons."""
        title, field = kind.title, kind.field
        query = f"""mutation($input: Create{title}Input!) {{ create{title}(input: $input) {{
          __typename ...on Create{title}Payload {{ {field} {{ id version state groups }} }}
          ...on UserError {{ reason: message }}
          ...on ValidationProblem {{ problems {{ path message }} }} }} }}"""
        answer = await self._run(query, input=input)
        return _resource_of(answer[field], None)

    async def update(self, kind: Kind, id: str, version: int, **changes: Any) -> None:
        """Change a resource; raises ServerRefusal with the reasons."""
        title = kind.title
        query = f"""mutation($input: Update{title}Input!) {{ update{title}(input: $input) {{
          __typename ...on UserError {{ reason: message }}
          ...on ValidationProblem {{ problems {{ path message }} }} }} }}"""
        await self._run(query, input={"id": id, "expectedVersion": version, **changes})

    async def grant(self, kind: Kind, id: str, group: str) -> None:
        """Grant a resource to another group; raises ServerRefusal."""
        title = kind.title
        query = f"""mutation($input: Grant{title}Input!) {{ grant{title}(input: $input) {{
          __typename ...on UserError {{ reason: message }} }} }}"""
        await self._run(query, input={"id": id, "group": group})

    async def has_run(self, pipeline: str, execution: str) -> bool:
        """Whether an execution of SIF was carried over already."""
        query = """query($id: ID!, $tags: TagFilter) { pipeline(id: $id) {
          executions(tags: $tags, states: [SUCCESS], first: 1) { nodes { id } } } }"""
        tags = {"all": [{"key": TAG, "value": execution}]}
        found = await self.client.execute(query, id=pipeline, tags=tags)
        return bool(found["executions"]["nodes"])

    async def _find(self, query: str, **variables: Any) -> Any:
        """Return what is found; None where it, or its group, is not there."""
        try:
            return await self.client.execute(query, **variables)
        except AnsweredError as error:
            if error.error_code in NOT_THERE:
                return None
            raise

    async def _run(self, query: str, **variables: Any) -> Any:
        try:
            answer = await self.client.execute(query, **variables)
        except AnsweredError as error:
            if error.error_code in PASSING:
                raise
            raise ServerRefusal(str(error)) from None
        if "reason" in answer:
            problems = answer.get("problems", ())[:MOST_PROBLEMS]
            found = [f"{'/'.join(one['path'])}: {one['message']}" for one in problems]
            raise ServerRefusal("; ".join(found) or answer["reason"])
        return answer


def _resource_of(found: Mapping[str, Any], sif: str | None) -> ServerResource:
    groups = tuple(found["groups"])
    return ServerResource(found["id"], found["version"], found["state"], groups, sif)
