"""`penstock executions`: lists the executions of a pipeline, shows, follows or cancels one."""

import asyncio
from enum import Enum
from typing import Annotated, Any

from cyclopts import App, Parameter

from penstock.server.commands.client.file_run import CANCEL, follow_execution
from penstock.server.commands.client.find_by_name import find_by_name
from penstock.server.commands.client.graphql_client import AnsweredError, GraphQLClient
from penstock.server.commands.client.listings import (
    FIRST_PAGE,
    PageOptions,
    print_fields,
    print_page,
)
from penstock.server.commands.client.server_options import LOCAL_SERVER, ServerOptions
from penstock.server.core.command_output import CommandFailed, CommandOutput, ExitCode
from penstock.server.core.progress_bars import show_byte_progress

COLUMNS = {"ID": "id", "STATE": "state", "CREATED": "createdAt", "BY": "createdBy"}

LIST = """query($id: ID!, $states: [ExecutionState!], $first: Int, $after: String) {
  pipeline(id: $id) { executions(states: $states, first: $first, after: $after) {
    nodes { id state createdAt createdBy stateMessage }
    pageInfo { hasNextPage endCursor } } } }"""
SHOW = """query($id: ID!) { execution(id: $id) {
  id state stateMessage pipeline { name owner } pipelineVersion mode tags { key value }
  createdAt createdBy startedAt finishedAt
  progress { rowsRead rowsSucceeded rowsFailed } } }"""

_PIPELINE_HELP = "Name or id of the pipeline."
_ID_HELP = "Id of the execution, as `penstock run` and `penstock executions list` print it."
_GROUP_HELP = "Group to look for the pipeline's name in. By default that of the profile or token."
_STATE_HELP = "Only executions in this state. Can be given several times."

State = Enum("State", ["WAITING", "IN_PROGRESS", "SUCCESS", "FAILED", "CANCELLED"])
"""The states of executions; options take them in either letter case."""

executions = App(name="executions", help="List executions, show, follow or cancel one.")


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
    return print_page(found["executions"], COLUMNS, "No execution.")


async def _show(server: ServerOptions, id: str) -> CommandOutput:
    async with server.client() as client:
        return print_fields(await _execute(client, SHOW, id))


async def _execute(client: GraphQLClient, operation: str, id: str) -> Any:
    """Return the answer about an execution; raises CommandFailed, which names one that is none."""
    try:
        found = await client.execute(operation, id=id)
    except AnsweredError as error:
        if error.error_code != "NOT_FOUND":
            raise
        found = None
    if found is None:
        raise CommandFailed(f"There is no execution {id!r}.")
    return found


async def _follow(server: ServerOptions, id: str) -> CommandOutput:
    async with server.client() as client:
        await _execute(client, SHOW, id)
        with show_byte_progress(id) as report_progress:
            await follow_execution(client, id, None, report_progress)
        found = await _execute(client, SHOW, id)
    text, data, _, _ = print_fields(found)
    return CommandOutput(
        text, data, ExitCode.OK if found["state"] == "SUCCESS" else ExitCode.FAILED
    )


async def _cancel(server: ServerOptions, id: str) -> CommandOutput:
    async with server.client() as client:
        cancelled = (await _execute(client, CANCEL, id))["execution"]
    return CommandOutput(f"{cancelled['id']} is {cancelled['state'].lower()}.", cancelled)
