"""Runs a pipeline on a file over HTTP: upload, execution, and download of the results."""

import json
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Self

import httpx

from penstock.server.core.command_output import CommandFailed, ExitCode

TIMEOUT_SECONDS = 60.0


class GraphQLClient:
    """A GraphQL client of one server, with one token."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url.rstrip("/") + "/graphql"
        headers = {"authorization": f"Bearer {token}"}
        # Loading the certificates of the system takes a while.
        trusted = httpx.create_ssl_context()
        self._graphql_client = httpx.AsyncClient(
            headers=headers, timeout=TIMEOUT_SECONDS, verify=trusted
        )
        # Signed URLs need no token, and their hosts must not see it.
        self._file_client = httpx.AsyncClient(timeout=TIMEOUT_SECONDS, verify=trusted)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._graphql_client.aclose()
        await self._file_client.aclose()

    async def execute(self, query: str, **variables: Any) -> Any:
        """Return the value of the one root field; raises CommandFailed with the error."""
        try:
            answer = await self._graphql_client.post(
                self._url, json={"query": query, "variables": variables}
            )
        except httpx.TransportError as error:
            raise _unreachable_server(self._url, error) from None
        return _root_value(answer.json())

    async def subscribe(self, query: str, **variables: Any) -> AsyncIterator[Any]:
        """Yield the values of a subscription's one field, over server-sent events."""
        request = {"query": query, "variables": variables}
        headers = {"accept": "text/event-stream"}
        try:
            async with self._graphql_client.stream(
                "POST", self._url, json=request, headers=headers
            ) as events:
                async for line in events.aiter_lines():
                    if line.startswith("data: "):
                        yield _root_value(json.loads(line.removeprefix("data: ")))
        except httpx.TransportError as error:
            raise _unreachable_server(self._url, error) from None

    async def upload(self, form: Any, file: Path) -> None:
        """Upload a file with the form that the server returned."""
        fields = {field["name"]: field["value"] for field in form["fields"]}
        headers = {field["name"]: field["value"] for field in form["headers"]}
        try:
            with file.open("rb") as content:
                answer = await self._file_client.request(
                    form["method"],
                    form["url"],
                    data=fields,
                    files={"file": (file.name, content)},
                    headers=headers,
                )
        except httpx.TransportError as error:
            raise _unreachable_server(form["url"], error) from None
        if answer.is_error:
            raise CommandFailed(f"The upload was refused with {answer.status_code}.")

    async def download(self, url: str, to: Path) -> None:
        """Save the content of a URL, whole or not at all."""
        try:
            async with self._file_client.stream("GET", url) as answer:
                answer.raise_for_status()
                with open_result(to) as file:
                    async for chunk in answer.aiter_bytes():
                        file.write(chunk)
        except httpx.HTTPError as error:
            raise _unreachable_server(url, error) from None


def _root_value(answer: Any) -> Any:
    """Return the value of the one root field; raises CommandFailed for any error in the answer."""
    for error in answer.get("errors", ()):
        raise CommandFailed(error["message"])
    (value,) = answer["data"].values()
    if isinstance(value, dict) and "code" in value and "message" in value:
        raise CommandFailed(value["message"])
    return value


def _unreachable_server(url: str, error: Exception) -> CommandFailed:
    text = str(error) or type(error).__name__
    return CommandFailed(f"{url.partition('?')[0]}: {text}", code=ExitCode.STORE)


@contextmanager
def open_result(path: Path) -> Iterator[BinaryIO]:
    """Open a file that takes its place when it is complete; a device is written directly."""
    if path.exists() and not path.is_file():
        with path.open("wb") as device:
            yield device
        return
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with draft.open("wb") as file:
            yield file
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


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
FINAL_STATES = ("SUCCESS", "FAILED", "CANCELLED")

ReportProgress = Callable[[str, int, int | None], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRun:
    """A pipeline, by its name in a group or its global id; the input file; the result files."""

    pipeline: str
    group: str | None
    file: Path
    output: Path
    errors: Path
    max_failed_rows: int | None = None

    def remove_earlier_results(self) -> None:
        """Remove the results of an earlier run, so that none is taken for a result of this one."""
        for path in (self.output, self.errors):
            if path.is_file():
                path.unlink()


async def run_file(
    client: GraphQLClient, file_run: FileRun, report_progress: ReportProgress
) -> Any:
    """Run the pipeline and return the finished execution.

    `report_progress` gets the state, the bytes done and their total.
    """
    size = file_run.file.stat().st_size
    file_run.remove_earlier_results()
    pipeline = await _find_pipeline(client, file_run)
    arguments = {"pipelineId": pipeline, "maxFailedRows": file_run.max_failed_rows}
    execution = (await client.execute(CREATE, input=arguments))["execution"]
    report_progress("Uploading", 0, size)
    await client.upload(execution["upload"], file_run.file)
    await client.execute(START, input={"id": execution["id"]})
    async for event in client.subscribe(FOLLOW, id=execution["id"]):
        progress = event["progress"] or {}
        text = event["state"].replace("_", " ").capitalize()
        report_progress(text, progress.get("bytesRead", 0), progress.get("bytesTotal") or size)
    return await _download_results(client, file_run, execution["id"])


async def _find_pipeline(client: GraphQLClient, file_run: FileRun) -> str:
    try:
        found = await client.execute(FIND, name=file_run.pipeline, group=file_run.group)
    except CommandFailed:
        # A global id is a name that no pipeline has.
        found = await client.execute(NODE, id=file_run.pipeline)
        if not found:
            raise
    id: str = found["id"]
    return id


async def _download_results(client: GraphQLClient, file_run: FileRun, id: str) -> Any:
    execution = await client.execute(RESULT, id=id)
    if execution["state"] not in FINAL_STATES:
        raise CommandFailed("The server closed the progress stream; the execution continues.")
    for name, path in (("outputDownload", file_run.output), ("errorsDownload", file_run.errors)):
        if execution[name] is not None and execution[name]["status"] == "READY":
            await client.download(execution[name]["url"], path)
    return execution
