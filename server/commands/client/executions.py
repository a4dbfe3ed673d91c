"""`penstock executions`: lists those of a pipeline, shows, follows, saves or cancels one."""

import asyncio
from enum import Enum
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from penstock.server.commands.client.execution_results import (
    NOUNS,
    RESULT,
    ask_of_execution,
    describe_results,
    is_ready,
    read_ended,
    save_results,
)
from penstock.server.commands.client.file_run import CANCEL, follow_execution
from penstock.server.commands.client.find_by_name import find_by_name
from penstock.server.commands.client.listings import (
    FIRST_PAGE,
    PageOptions,
    print_fields,
    print_page,
)
from penstock.server.commands.client.run_files import STANDARD, check_results, is_parquet
from penstock.server.commands.client.server_options import LOCAL_SERVER, ServerOptions
from penstock.server.core.command_output import CommandFailed, CommandOutput, ExitCode
from penstock.server.core.progress_bars import show_byte_progress

COLUMNS = {
    "ID": "id",
    "STATE": "state",
    "ROWS": "rowsRead",
    "REJECTED": "rowsFailed",
    "CREATED": "createdAt",
    "BY": "createdBy",
}
NO_COUNTS = {"rowsRead": None, "rowsFailed": None}

LIST = """query($id: ID!, $states: [ExecutionState!], $first: Int, $after: String) {
  pipeline(id: $id) { executions(states: $states, first: $first, after: $after) {
    nodes { id state createdAt createdBy stateMessage progress { rowsRead rowsFailed } }
    pageInfo { hasNextPage endCursor } } } }"""
SHOW = """query($id: ID!) { execution(id: $id) {
  id state stateMessage pipeline { name owner } pipelineVersion mode tags { key value }
  createdAt createdBy startedAt finishedAt
  progress { rowsRead rowsSucceeded rowsFailed } rejections { code column rows } } }"""

_PIPELINE_HELP = "Name or id of the pipeline."
_ID_HELP = "Id of the execution, as `penstock run` and `penstock executions list` print it."
_OUTPUT_HELP = "File for the output; `-` is standard output."
_ERRORS_HELP = "File for the rejected rows."
_GROUP_HELP = "Group to look for the pipeline's name in. By default that of the profile or token."
_STATE_HELP = "Only executions in this state. Can be given several times."

State = Enum("State", ["WAITING", "IN_PROGRESS", "SUCCESS", "FAILED", "CANCELLED"])
"""The states of executions; options take them in either letter case."""

executions = App(name="executions", help="List executions, show, follow, save or cancel one.")


@executions.command(name="list")
def list_executions(
    pipeline: Annotated[str, Parameter(help=_PIPELINE_HELP)],
    /,
    *,
    state: Annotated[tuple[State, ...], Parameter(help=_STATE_HELP)] = (),
    group: Annotated[str | None, Parameter(help=_GROUP_HELP)] = None,
    page: PageOptions = FIRST_PAGE,
    server: ServerOptions = LOCAL_SERVER,
) -> CommandOutput:
    """List the executions of a pipeline, given by name or id, the newest first."""
    return asyncio.run(_list(server, page, pipeline, group, state))


@executions.command(name="show")
def show_execution(
    id: Annotated[str, Parameter(help=_ID_HELP)],
    /,
    *,
    server: ServerOptions = LOCAL_SERVER,
) -> CommandOutput:
    """Show an execution."""
    return asyncio.run(_show(server, id))


@executions.command(name="follow")
def follow(
    id: Annotated[str, Parameter(help=_ID_HELP)],
    /,
    *,
    server: ServerOptions = LOCAL_SERVER,
) -> CommandOutput:
    """Follow an execution to its end; Ctrl-C leaves it as it is."""
    return asyncio.run(_follow(server, id))


@executions.command(name="download")
def download(
    id: Annotated[str, Parameter(help=_ID_HELP)],
    /,
    *,
    output: Annotated[Path | None, Parameter(help=_OUTPUT_HELP, allow_leading_hyphen=True)] = None,
    errors: Annotated[Path | None, Parameter(help=_ERRORS_HELP)] = None,
    server: ServerOptions = LOCAL_SERVER,
) -> CommandOutput:
    """Save the output of an execution, its rejected rows, or both."""
    if output is None and errors is None:
        words = "Name a file for the output by --output, for the rejected rows by --errors."
        raise CommandFailed(words, code=ExitCode.USAGE)
    check_results(STANDARD, output, errors)
    return asyncio.run(_download(server, id, output, errors))


@executions.command(name="cancel")
def cancel_execution(
    id: Annotated[str, Parameter(help=_ID_HELP)],
    /,
    *,
    server: ServerOptions = LOCAL_SERVER,
) -> CommandOutput:
    """Cancel an execution that has not ended."""
    return asyncio.run(_cancel(server, id))


async def _list(
    server: ServerOptions,
    page: PageOptions,
    pipeline: str,
    group: str | None,
    states: tuple[State, ...],
) -> CommandOutput:
    wanted = [state.name for state in states] or None
    async with server.client() as client:
        id = await find_by_name(client, "pipeline", pipeline, group or server.read_profile().group)
        found = await client.execute(LIST, id=id, states=wanted, **page.variables())
    listed = found["executions"]
    # An execution without an input has no progress.
    nodes = [NO_COUNTS | (node.pop("progress") or {}) | node for node in listed["nodes"]]
    return print_page({**listed, "nodes": nodes}, COLUMNS, "No execution.")


async def _show(server: ServerOptions, id: str) -> CommandOutput:
    async with server.client() as client:
        return print_fields(await ask_of_execution(client, SHOW, id))


async def _follow(server: ServerOptions, id: str) -> CommandOutput:
    async with server.client() as client:
        await ask_of_execution(client, RESULT, id)
        with show_byte_progress(id) as report_progress:
            await follow_execution(client, id, None, report_progress)
        return describe_results(await read_ended(client, id), None, None)


async def _download(
    server: ServerOptions, id: str, output: Path | None, errors: Path | None
) -> CommandOutput:
    async with server.client() as client:
        execution = await ask_of_execution(client, RESULT, id)
        state = execution["state"].replace("_", " ").lower()
        for name, path in (("output", output), ("errors", errors)):
            if path is not None and not is_ready(execution, name):
                words = f"The execution {id} is {state}: {NOUNS[name]} cannot be had."
                raise CommandFailed(words)
        if output is not None and is_parquet(output) and execution["outputFormat"] != "PARQUET":
            raise CommandFailed(f"--output {output}: the output of this execution is CSV.")
        await save_results(client, execution, output, errors)
    return describe_results(execution, output, errors)._replace(code=ExitCode.OK)


async def _cancel(server: ServerOptions, id: str) -> CommandOutput:
    async with server.client() as client:
        cancelled = (await ask_of_execution(client, CANCEL, id))["execution"]
    return CommandOutput(f"{cancelled['id']} is {cancelled['state'].lower()}.", cancelled)
