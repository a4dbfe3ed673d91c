"""`penstock run`: runs a pipeline of a running server on a file, and saves the results."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from penstock.datastore.roles import ROOT, Role
from penstock.server.auth.dev_tokens import (
    DEV_TOKEN_LIFETIME,
    DEV_USER,
    PREFERRED_GROUP,
    dev_key,
    sign_dev_token,
)
from penstock.server.commands.options import setting_option
from penstock.server.commands.run_file import FileRun, GraphQLClient, run_file
from penstock.server.core.command_output import (
    CommandFailed,
    CommandOutput,
    ExitCode,
    show_byte_progress,
)
from penstock.server.settings.settings import Settings

_URL_HELP = "URL of the server."
_PROOF_HELP = (
    "A token or an API key. By default one for development, signed with the key of the data "
    "directory."
)
_GROUP_HELP = "Group to look for the pipeline's name in. By default that of the token."
_OUTPUT_HELP = "File for the output. By default next to the input, as `FILE.output.csv`."
_ERRORS_HELP = "File for the rejected rows. By default `FILE.errors.csv`."
_MOST_HELP = "Fail when more rows than this fail. By default there is no limit."


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class ResultOptions:
    """The files for the results, and the most rows that may fail; None for the default."""

    output: Annotated[Path | None, Parameter(help=_OUTPUT_HELP)] = None
    errors: Annotated[Path | None, Parameter(help=_ERRORS_HELP)] = None
    max_failed_rows: Annotated[int | None, Parameter(help=_MOST_HELP)] = None


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """The server's URL, and the token for it."""

    url: Annotated[str, Parameter(help=_URL_HELP)] = "http://127.0.0.1:8000"
    token: Annotated[str | None, Parameter(help=_PROOF_HELP)] = None
    data_dir: Annotated[Path | None, setting_option("data_dir")] = None

    def client(self) -> GraphQLClient:
        return GraphQLClient(self.url, self.token or _development_token(self.data_dir))


def run(
    pipeline: str,
    file: Path,
    /,
    *,
    group: Annotated[str | None, Parameter(help=_GROUP_HELP)] = None,
    result: ResultOptions = ResultOptions(),
    server: ServerOptions = ServerOptions(),
) -> CommandOutput:
    """Run a pipeline of a running server, given by name or id, on a CSV file.

    The command uploads the file, follows the execution, and saves output and rejected rows. It
    exits with 1 if the execution did not succeed. Results of an earlier run are removed first.
    """
    if not file.is_file():
        raise CommandFailed(f"{file} is not a file.", code=ExitCode.USAGE)
    file_run = FileRun(
        pipeline=pipeline,
        group=group,
        file=file,
        output=result.output or file.with_name(f"{file.name}.output.csv"),
        errors=result.errors or file.with_name(f"{file.name}.errors.csv"),
        max_failed_rows=result.max_failed_rows,
    )
    for path in (file_run.output, file_run.errors):
        if not path.parent.is_dir():
            raise CommandFailed(f"{path.parent} is not a directory.", code=ExitCode.USAGE)
    places = [path.resolve() for path in (file, file_run.output, file_run.errors)]
    if len({*places}) < len(places):
        words = "The file, its output and its errors must be three files."
        raise CommandFailed(words, code=ExitCode.USAGE)
    return _run_output(asyncio.run(_run_file(server, file_run)), file_run)


async def _run_file(server: ServerOptions, file_run: FileRun) -> Any:
    async with server.client() as client:
        with show_byte_progress(file_run.file.name) as report_progress:
            return await run_file(client, file_run, report_progress)


def _development_token(data_dir: Path | None) -> str:
    settings = Settings.load(data_dir=data_dir)
    if settings.issuer is not None:
        message = "PENSTOCK_ISSUER is set, so a development token does not work: pass --token."
        raise CommandFailed(message, code=ExitCode.USAGE)
    key = dev_key(settings.data_dir)
    return sign_dev_token(key, DEV_USER, {ROOT: Role.ADMIN}, PREFERRED_GROUP, DEV_TOKEN_LIFETIME)


def _run_output(execution: Any, file_run: FileRun) -> CommandOutput:
    progress = execution["progress"] or dict.fromkeys(
        ("rowsRead", "rowsSucceeded", "rowsFailed"), 0
    )
    lines = [
        f"{execution['state'].lower()}: {progress['rowsRead']} rows, "
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
        is_available = download is not None and download["status"] == "READY"
        data[name] = str(path) if is_available else None
        if is_available:
            lines.append(f"{name}  {path}")
    code = ExitCode.OK if execution["state"] == "SUCCESS" else ExitCode.FAILED
    return CommandOutput("\n".join(lines), data, code)
