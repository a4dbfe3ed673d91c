"""The whole trip of a file through a pipeline: up, through, and back."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.server.client import Client
from penstock.server.outcome import CommandFailed

FIND = (
    "query($name: String!, $group: GroupPath) { pipelineByName(name: $name, group: $group) { id } }"
)
NODE = "query($id: ID!) { node(id: $id) { ...on Pipeline { id } } }"
CREATE = """mutation($input: CreateExecutionInput!) { createExecution(input: $input) {
  ...on UserError { code message }
  ...on CreateExecutionPayload { execution {
    id upload { method url fields { name value } headers { name value } } } } } }"""
START = """mutation($input: StartExecutionInput!) { startExecution(input: $input) {
  ...on UserError { code message } ...on StartExecutionPayload { execution { state } } } }"""
FOLLOW = """subscription($id: ID!) { executionProgress(id: $id) { state stateMessage
  progress { rowsRead rowsSucceeded rowsFailed bytesRead bytesTotal rowsPerSecond } } }"""
RESULT = """query($id: ID!) { execution(id: $id) { id state stateMessage
  progress { rowsRead rowsSucceeded rowsFailed }
  outputDownload { status url } errorsDownload { status url } } }"""
OVER = ("SUCCESS", "FAILED", "CANCELLED")

Tell = Callable[[str, int, int | None], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trip:
    """A pipeline, by its name in a group or its global id; a file; where to put what comes out."""

    pipeline: str
    group: str | None
    file: Path
    output: Path
    errors: Path
    max_failed_rows: int | None = None


async def trip(client: Client, wanted: Trip, tell: Tell) -> Any:
    """Take a file through; the execution as it ended. `tell` hears the state and bytes done."""
    size = wanted.file.stat().st_size
    pipeline = await _pipeline(client, wanted)
    given = {"pipelineId": pipeline, "maxFailedRows": wanted.max_failed_rows}
    made = (await client.ask(CREATE, input=given))["execution"]
    tell("Uploading", 0, size)
    await client.upload(made["upload"], wanted.file)
    await client.ask(START, input={"id": made["id"]})
    async for told in client.follow(FOLLOW, id=made["id"]):
        progress = told["progress"] or {}
        words = told["state"].replace("_", " ").capitalize()
        tell(words, progress.get("bytesRead", 0), progress.get("bytesTotal") or size)
    return await _fetched(client, wanted, made["id"])


async def _pipeline(client: Client, wanted: Trip) -> str:
    try:
        found = await client.ask(FIND, name=wanted.pipeline, group=wanted.group)
    except CommandFailed:
        # A global id is a name that no pipeline has.
        found = await client.ask(NODE, id=wanted.pipeline)
        if not found:
            raise
    id: str = found["id"]
    return id


async def _fetched(client: Client, wanted: Trip, id: str) -> Any:
    over = await client.ask(RESULT, id=id)
    if over["state"] not in OVER:
        raise CommandFailed("The server stopped telling of the execution; it goes on.")
    for name, path in (("outputDownload", wanted.output), ("errorsDownload", wanted.errors)):
        if over[name] is not None and over[name]["status"] == "READY":
            await client.download(over[name]["url"], path)
    return over
