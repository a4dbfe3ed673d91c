"""The results of an execution: what is said of them, and the files to which they are saved."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from penstock.datastore.text import say_count
from penstock.server.commands.client.graphql_client import AnsweredError, GraphQLClient
from penstock.server.commands.client.listings import format_value
from penstock.server.commands.client.run_files import STANDARD
from penstock.server.core.command_output import CommandFailed, CommandOutput, ExitCode

RESULT = """query($id: ID!) { execution(id: $id) { id state stateMessage outputFormat
  progress { rowsRead rowsSucceeded rowsFailed } rejections { code column rows }
  outputDownload { status url } errorsDownload { status url } } }"""
COUNTS = ("rowsRead", "rowsSucceeded", "rowsFailed")
NOUNS = {"output": "the output", "errors": "the rejected rows"}
FINAL_STATES = ("SUCCESS", "FAILED", "CANCELLED")


async def ask_of_execution(client: GraphQLClient, operation: str, id: str) -> Any:
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


async def read_ended(client: GraphQLClient, id: str) -> Any:
    """Return an execution that was followed to its end; raises CommandFailed if it goes on."""
    execution = await ask_of_execution(client, RESULT, id)
    if execution["state"] not in FINAL_STATES:
        raise CommandFailed("The server closed the progress stream; the execution continues.")
    return execution


async def save_results(
    client: GraphQLClient, execution: Any, output: Path | None, errors: Path | None
) -> None:
    """Save the output and the rejected rows that there are; None for what is not wanted."""
    for name, path in (("output", output), ("errors", errors)):
        if path is not None and is_ready(execution, name):
            await client.download(execution[f"{name}Download"]["url"], path)


def is_ready(execution: Any, name: str) -> bool:
    """Tell whether the `output` or the `errors` of an execution can be downloaded."""
    download = execution[f"{name}Download"]
    return download is not None and download["status"] == "READY"


def describe_results(execution: Any, output: Path | None, errors: Path | None) -> CommandOutput:
    """Say how an execution ended, and where its results were saved or can be had."""
    counts = execution["progress"] or dict.fromkeys(COUNTS, 0)
    state, message = execution["state"], execution["stateMessage"]
    lines = [
        f"{state.lower()}: {say_count(counts['rowsRead'], 'row')}, "
        f"{counts['rowsSucceeded']} succeeded, {counts['rowsFailed']} failed",
        *_list_rejections(execution["rejections"] or [], counts["rowsFailed"]),
    ]
    data = {"id": execution["id"], "state": state, "message": message, **counts}
    data["rejections"] = execution["rejections"]
    has_succeeded = state == "SUCCESS"
    if message and has_succeeded:
        lines.append(message)
    for name, path in (("output", output), ("errors", errors)):
        is_saved = is_ready(execution, name) and path not in (None, STANDARD)
        data[name] = str(path) if is_saved else None
        if is_saved:
            lines.append(f"{name}  {path}")
    return CommandOutput(
        "\n".join([*lines, *_say_what_is_left(execution, output, errors)]),
        data,
        ExitCode.OK if has_succeeded else ExitCode.FAILED,
        is_beside_data=output == STANDARD,
        reasons=(message,) if message and not has_succeeded else (),
    )


def _list_rejections(rejections: list[Any], failed: int) -> Iterator[str]:
    """Yield a line for each reason of rejected rows, and one for the rows of rarer reasons."""
    for one in rejections:
        yield f"rejected  {format_value(one)}"
    others = failed - sum(one["rows"] for one in rejections)
    if rejections and others > 0:
        yield f"rejected  {say_count(others, 'row')}: for other reasons"


def _say_what_is_left(execution: Any, output: Path | None, errors: Path | None) -> list[str]:
    """Name the command that saves the results that were not saved; nothing if there are none."""
    has_rejected = bool(execution["progress"] and execution["progress"]["rowsFailed"])
    left = []
    if output is None and is_ready(execution, "output"):
        left.append("output")
    if errors is None and is_ready(execution, "errors") and has_rejected:
        left.append("errors")
    if not left:
        return []
    options = " ".join(f"--{name} FILE" for name in left)
    results = " and ".join(NOUNS[name] for name in left)
    return [f"`penstock executions download {execution['id']} {options}` saves {results}."]
