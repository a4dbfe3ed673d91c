"""Finds pipelines by tags, creates one, updates it despite a conflict, and deletes it.

python main.py http://127.0.0.1:8000/graphql TOKEN
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

from gql import Client, GraphQLRequest
from gql.client import SyncClientSession
from gql.transport.exceptions import TransportError
from gql.transport.httpx import HTTPXTransport
from graphql import parse, separate_operations

ROOT = Path(__file__).parents[2]
SCHEMA = (ROOT / "schema.graphql").read_text()
DOCUMENTS = separate_operations(parse((ROOT / "examples" / "operations.graphql").read_text()))

WANTED = [{"key": "source", "value": "SAP"}, {"key": "material", "value": "material/metal"}]
TRANSFORMER = {
    "parameters": [{"index": 0, "key": "distance", "type": "NUMBER", "required": True}],
    "transforms": [
        {
            "index": 0,
            "formula": ":distance*0.024",
            "outputs": [{"index": 0, "key": "co2e", "type": "NUMBER"}],
        }
    ],
}


class RequestRefused(Exception):
    """A failure that the schema describes and that this program cannot handle."""


def ask(session: SyncClientSession, operation: str, **variables: Any) -> Any:
    """Return the data of the operation's only field; errors, such as a wrong token, are raised."""
    request = GraphQLRequest(DOCUMENTS[operation], variable_values=variables)
    (field,) = session.execute(request).values()
    return field


def find(session: SyncClientSession, tags: list[dict[str, str]]) -> Iterator[dict[str, Any]]:
    after = None
    while True:
        page = ask(session, "FindPipelines", tags=tags, after=after)
        yield from page["nodes"]
        # A page may be short, even empty, and not be the last one.
        if not page["pageInfo"]["hasNextPage"]:
            return
        after = page["pageInfo"]["endCursor"]


def create(session: SyncClientSession, name: str) -> Any:
    made = {
        "name": name,
        "tags": [{"key": "client", "value": "python"}],
        "transformer": TRANSFORMER,
        # If the answer is lost, a second call with this key returns the pipeline of the first.
        "idempotencyKey": str(uuid4()),
    }
    match ask(session, "CreatePipeline", input=made):
        case {"__typename": "CreatePipelinePayload", "pipeline": pipeline}:
            return pipeline
        case {"__typename": "ValidationProblem", "problems": problems}:
            raise RequestRefused(
                "; ".join(f"{'.'.join(p['path'])} {p['message']}" for p in problems)
            )
        case {"message": message}:
            raise RequestRefused(message)


def describe(session: SyncClientSession, id: str, version: int, description: str) -> Any:
    """Set a pipeline's description; after a version conflict, set it on the current version."""
    change = {"id": id, "expectedVersion": version, "description": description}
    match ask(session, "UpdatePipeline", input=change):
        case {"__typename": "UpdatePipelinePayload", "pipeline": pipeline}:
            return pipeline
        case {"__typename": "VersionConflict", "currentVersion": current}:
            print(f"conflict: version {version} was seen, {current} is current")
            return describe(session, id, current, description)
        case {"message": message}:
            raise RequestRefused(message)


def remove(session: SyncClientSession, id: str, version: int) -> None:
    answer = ask(session, "DeletePipeline", input={"id": id, "expectedVersion": version})
    if answer["__typename"] != "DeletePipelinePayload":
        raise RequestRefused(answer["message"])


def run(session: SyncClientSession) -> None:
    wanted = " and ".join(f"{tag['key']}={tag['value']}" for tag in WANTED)
    print(f"pipelines with {wanted}:")
    for found in find(session, WANTED):
        print(f"- {found['name']}, version {found['version']}")
    seen = create(session, "Rail freight (Python)")
    print(f"created {seen['name']}, version {seen['version']}")
    theirs = describe(session, seen["id"], seen["version"], "By somebody else.")
    print(f"updated, version {theirs['version']}")
    ours = describe(session, seen["id"], seen["version"], "Freight that goes by rail.")
    print(f"updated, version {ours['version']}")
    remove(session, ours["id"], ours["version"])
    print("deleted")


def main(arguments: list[str]) -> int | str:
    """Run against the server; return the exit code, or the message for exit code 1."""
    if len(arguments) != 2:
        print("usage: python main.py URL TOKEN", file=sys.stderr)
        return 2
    url, token = arguments
    transport = HTTPXTransport(url, headers={"Authorization": f"Bearer {token}"})
    try:
        # With the schema, the client refuses an invalid operation before sending it.
        with Client(schema=SCHEMA, transport=transport) as session:
            run(session)
    except (RequestRefused, TransportError) as error:
        return str(error)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
