"""`penstock run`: runs a pipeline of a running server on a file, and saves the results."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from penstock.datastore.text import say_count
from penstock.server.commands.client.file_run import ExecutionLeft, FileRun, UploadCut, run_file
from penstock.server.commands.client.run_files import STANDARD
from penstock.server.commands.client.server_options import LOCAL_SERVER, ServerOptions
from penstock.server.core.command_output import CommandFailed, CommandOutput, ExitCode
from penstock.server.core.progress_bars import show_byte_progress

_FILE_HELP = "CSV, also compressed (`.gz`), Excel (`.xlsx`) or Parquet; `-` is standard input."
_GROUP_HELP = (
    "Group to look for the pipeline's name in. By default that of the profile or the token, then "
    "every group of the caller's roles and those below."
)
_PIPELINE_HELP = "Name or id of the pipeline."
_OUTPUT_HELP = (
    "File for the output; `-` is standard output. By default next to the input, as "
    "`FILE.output.csv`, and standard output if the input is standard input."
)
_ERRORS_HELP = (
    "File for the rejected rows. By default `FILE.errors.csv`; those of standard input are not "
    "saved."
)
_MOST_HELP = "Fail when more rows than this fail. By default there is no limit."


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class ResultOptions:
    """The files for the results, and the most rows that may fail; None for the default."""

    output: Annotated[Path | None, Parameter(help=_OUTPUT_HELP, allow_leading_hyphen=True)] = None
    errors: Annotated[Path | None, Parameter(help=_ERRORS_HELP)] = None
    max_failed_rows: Annotated[int | None, Parameter(help=_MOST_HELP)] = None


def run(
    pipeline: Annotated[str, Parameter(help=_PIPELINE_HELP)],
    file: Annotated[Path, Parameter(allow_leading_hyphen=True, help=_FILE_HELP)],
    /,
    *,
    group: Annotated[str | None, Parameter(help=_GROUP_HELP)] = None,
    result: ResultOptions = ResultOptions(),
    server: ServerOptions = LOCAL_SERVER,
) -> CommandOutput:
    """Run a pipeline of a running server, given by name or id, on a file.

    The command uploads the file, follows the execution, and saves output and rejected rows. It
    exits with 1 if the execution did not succeed. Results of an earlier run are removed when this
    one has started.
    """
    _check_input(file)
    output = result.output or _beside(file, "output") or STANDARD
    errors = result.errors or _beside(file, "errors")
    _check_files(file, output, errors)
    file_run = FileRun(
        pipeline=pipeline,
        group=group or server.read_profile().group,
        file=file,
        output=output,
        errors=errors,
        max_failed_rows=result.max_failed_rows,
    )
    try:
        return _run_output(asyncio.run(_run_file(server, file_run)), file_run)
    except UploadCut as cut:
        words = f"The upload was interrupted, and its execution {cut.id} is cancelled."
        raise CommandFailed(words, code=ExitCode.INTERRUPTED) from None
    except ExecutionLeft as left:
        raise CommandFailed(
            f"The execution {left.id} goes on without this command.",
            f"`penstock executions follow {left.id}` follows it, and `penstock executions cancel "
            f"{left.id}` cancels it.",
            code=ExitCode.INTERRUPTED,
        ) from None


def _beside(file: Path, name: str) -> Path | None:
    return None if file == STANDARD else file.with_name(f"{file.name}.{name}.csv")


def _check_input(file: Path) -> None:
    if file != STANDARD and not file.is_file():
        raise CommandFailed(f"{file} is not a file.", code=ExitCode.USAGE)


def _check_files(file: Path, output: Path, errors: Path | None) -> None:
    results = [path for path in (output, errors) if path is not None]
    for path in results:
        if not path.parent.is_dir():
            raise CommandFailed(f"{path.parent} is not a directory.", code=ExitCode.USAGE)
        if path.is_dir():
            raise CommandFailed(f"{path} is a directory.", code=ExitCode.USAGE)
    inputs = [] if file == STANDARD else [file]
    places = [path.resolve() for path in (*inputs, *results)]
    if len({*places}) < len(places):
        words = "The file, its output and its errors must be three files."
        raise CommandFailed(words, code=ExitCode.USAGE)


async def _run_file(server: ServerOptions, file_run: FileRun) -> Any:
    async with server.client() as client:
        with show_byte_progress(file_run.file.name) as report_progress:
            return await run_file(client, file_run, report_progress)


def _run_output(execution: Any, file_run: FileRun) -> CommandOutput:
    progress = execution["progress"] or dict.fromkeys(
        ("rowsRead", "rowsSucceeded", "rowsFailed"), 0
    )
    lines = [
        f"{execution['state'].lower()}: {say_count(progress['rowsRead'], 'row')}, "
        f"{progress['rowsSucceeded']} succeeded, {progress['rowsFailed']} failed"
    ]
    data = {
        "id": execution["id"],
        "state": execution["state"],
        "message": execution["stateMessage"],
        **progress,
    }
    if execution["stateMessage"]:
        lines.append(execution["stateMessage"])
    for name, path in (("output", file_run.output), ("errors", file_run.errors)):
        download = execution[f"{name}Download"]
        is_ready = download is not None and download["status"] == "READY"
        is_available = is_ready and path not in {None, STANDARD}
        data[name] = str(path) if is_available else None
        if is_available:
            lines.append(f"{name}  {path}")
    code = ExitCode.OK if execution["state"] == "SUCCESS" else ExitCode.FAILED
    printed_elsewhere = file_run.output == STANDARD
    return CommandOutput("\n".join(lines), data, code, is_beside_data=printed_elsewhere)
