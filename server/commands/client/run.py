"""`penstock run`: runs a pipeline of a running server on a file, and saves the results."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from cyclopts.validators import Number

from penstock.server.commands.client.execution_results import describe_results
from penstock.server.commands.client.file_run import ExecutionLeft, FileRun, UploadCut, run_file
from penstock.server.commands.client.run_files import STANDARD, check_results
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
    "File for the output, Parquet if its name ends in `.parquet`; `-` is standard output. "
    "By default CSV next to the input, as `FILE.output.csv`, and standard output if the input is "
    "standard input."
)
_ERRORS_HELP = (
    "File for the rejected rows. By default `FILE.errors.csv`; those of standard input are not "
    "saved."
)
_A_COUNT = Number(gte=0, lte=2**31 - 1)
_MOST_HELP = "Fail when more rows than this fail. By default there is no limit."


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class ResultOptions:
    """The files for the results, and the most rows that may fail; None for the default."""

    output: Annotated[Path | None, Parameter(help=_OUTPUT_HELP, allow_leading_hyphen=True)] = None
    errors: Annotated[Path | None, Parameter(help=_ERRORS_HELP)] = None
    max_failed_rows: Annotated[int | None, Parameter(help=_MOST_HELP, validator=_A_COUNT)] = None


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
    check_results(file, output, errors)
    file_run = FileRun(
        pipeline=pipeline,
        group=group or server.read_profile().group,
        file=file,
        output=output,
        errors=errors,
        max_failed_rows=result.max_failed_rows,
    )
    try:
        execution = asyncio.run(_run_file(server, file_run))
    except UploadCut as cut:
        words = f"The upload was interrupted, and its execution {cut.id} is cancelled."
        raise CommandFailed(words, code=ExitCode.INTERRUPTED) from None
    except ExecutionLeft as left:
        raise CommandFailed(
            f"The execution {left.id} goes on without this command.",
            f"`penstock executions follow {left.id}` follows it, and `penstock executions cancel "
            f"{left.id}` cancels it.",
            f"`penstock executions download {left.id} --output FILE` saves its output at the end.",
            code=ExitCode.INTERRUPTED,
        ) from None
    return describe_results(execution, output, errors)


def _beside(file: Path, name: str) -> Path | None:
    return None if file == STANDARD else file.with_name(f"{file.name}.{name}.csv")


def _check_input(file: Path) -> None:
    if file != STANDARD and not file.is_file():
        raise CommandFailed(f"{file} is not a file.", code=ExitCode.USAGE)


async def _run_file(server: ServerOptions, file_run: FileRun) -> Any:
    async with server.client() as client:
        with show_byte_progress(file_run.file.name) as report_progress:
            return await run_file(client, file_run, report_progress)
