"""Runs a pipeline on a file over HTTP: upload, execution, and download of the results."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.server.commands.client.execution_results import read_ended, save_results
from penstock.server.commands.client.find_by_name import find_by_name
from penstock.server.commands.client.graphql_client import GraphQLClient
from penstock.server.commands.client.run_files import STANDARD, is_parquet, open_input
from penstock.server.core.command_output import CommandFailed

CREATE = """mutation($input: CreateExecutionInput!) { createExecution(input: $input) {
  ...on UserError { code message }
  ...on CreateExecutionPayload { execution {
    id upload { method url fields { name value } headers { name value } } } } } }"""
START = """mutation($input: StartExecutionInput!) { startExecution(input: $input) {
  ...on UserError { code message } ...on StartExecutionPayload { execution { state } } } }"""
CANCEL = """mutation($id: ID!) { cancelExecution(input: {id: $id}) {
  ...on UserError { code message }
  ...on CancelExecutionPayload { execution { id state } } } }"""
FOLLOW = """subscription($id: ID!) { executionProgress(id: $id) { state stateMessage
  progress { rowsRead rowsSucceeded rowsFailed bytesRead bytesTotal rowsPerSecond } } }"""

ReportProgress = Callable[[str, int, int | None], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRun:
    """A pipeline, by its name in a group or its global id; the input file; the result files.

    Without a path for rejected rows they are not saved.
    """

    pipeline: str
    group: str | None
    file: Path
    output: Path
    errors: Path | None
    max_failed_rows: int | None = None

    @property
    def input_name(self) -> str | None:
        """The name of the file as far as an execution can show it; None for standard input."""
        if self.file == STANDARD:
            return None
        return "".join(each if each.isprintable() else "?" for each in self.file.name[-255:])

    def remove_earlier_results(self) -> None:
        """Remove the results of an earlier run, so that none is taken for a result of this one."""
        for path in (self.output, self.errors):
            if path is not None and path.is_file():
                path.unlink()


class ExecutionLeft(Exception):
    """The user left an execution that goes on."""

    def __init__(self, id: str) -> None:
        super().__init__(id)
        self.id = id


class UploadCut(Exception):
    """The user interrupted an upload, and its execution is cancelled."""

    def __init__(self, id: str) -> None:
        super().__init__(id)
        self.id = id


async def run_file(
    client: GraphQLClient, file_run: FileRun, report_progress: ReportProgress
) -> Any:
    """Run the pipeline and return the finished execution.

    `report_progress` gets the state, the bytes done and their total. If the user interrupts it, it
    raises UploadCut before the server has taken over, and ExecutionLeft from then on. Results of
    an earlier run stay until the server has started this one.
    """
    pipeline = await find_by_name(client, "pipeline", file_run.pipeline, file_run.group)
    arguments = {
        "pipelineId": pipeline,
        "maxFailedRows": file_run.max_failed_rows,
        "outputFormat": "PARQUET" if is_parquet(file_run.output) else "CSV",
        "inputName": file_run.input_name,
    }
    with open_input(file_run.file) as file:
        size = file.stat().st_size
        execution = await _create(client, arguments)
        id = str(execution["id"])
        try:
            await _start(client, execution, file, size, report_progress)
        except (asyncio.CancelledError, KeyboardInterrupt):
            raise await _cancel(client, id) from None
    file_run.remove_earlier_results()
    try:
        await follow_execution(client, id, size, report_progress)
    except (asyncio.CancelledError, KeyboardInterrupt):
        raise ExecutionLeft(id) from None
    execution = await read_ended(client, id)
    await save_results(client, execution, file_run.output, file_run.errors)
    return execution


async def run_input(
    client: GraphQLClient, pipeline: str, file: Path, name: str, tags: list[dict[str, str]]
) -> Any:
    """Run a pipeline, given by its global id, on a file; return the finished execution."""
    arguments = {"pipelineId": pipeline, "inputName": name, "tags": tags}
    execution = await _create(client, arguments)
    id = str(execution["id"])
    await _start(client, execution, file, 0, _ignore_progress)
    await follow_execution(client, id, None, _ignore_progress)
    return await read_ended(client, id)


def _ignore_progress(_state: str, _done: int, _total: int | None) -> None:
    """Show nothing."""


async def _create(client: GraphQLClient, arguments: Any) -> Any:
    """Create an execution; return its id and the form for its input."""
    return (await client.execute(CREATE, input=arguments))["execution"]


async def _start(
    client: GraphQLClient, execution: Any, file: Path, size: int, report_progress: ReportProgress
) -> None:
    """Upload the input of an execution, and start it."""
    report_progress("Uploading", 0, size)
    await client.upload(execution["upload"], file)
    await client.execute(START, input={"id": execution["id"]})


async def _cancel(client: GraphQLClient, id: str) -> UploadCut | ExecutionLeft:
    """Cancel an execution whose upload was interrupted; return what is to be said of it."""
    try:
        await client.execute(CANCEL, id=id)
    except CommandFailed:
        return ExecutionLeft(id)
    return UploadCut(id)


async def follow_execution(
    client: GraphQLClient, id: str, size: int | None, report_progress: ReportProgress
) -> None:
    """Report the progress of an execution until its end; `size` is that of its input in bytes."""
    async for event in client.subscribe(FOLLOW, id=id):
        progress = event["progress"] or {}
        text = event["state"].replace("_", " ").capitalize()
        report_progress(text, progress.get("bytesRead", 0), progress.get("bytesTotal") or size)
