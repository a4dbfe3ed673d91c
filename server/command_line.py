"""The command line: `penstock COMMAND`, one module for each command."""

import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Annotated, Literal

from cyclopts import App, CycloptsError, Group, Parameter

from penstock.server.core.command_output import (
    CommandOutput,
    ExitCode,
    StreamedOutput,
    describe_failure,
    logs_are_json,
    shown_as_json,
    shown_on_terminal,
    stop_at_closed_pipe,
)
from penstock.server.core.help_format import HelpFormat
from penstock.server.core.library_records import hide_words_of_libraries
from penstock.server.settings.invalid_settings import InvalidSettings

EPILOGUE = """\
Every setting can also be given as an environment variable `PENSTOCK_...`; options win over them.

Exit codes: 0 done, 1 failed, 2 the command line or a setting is invalid, 3 the store cannot be \
reached or does not fit.
"""


USAGES = {"explain": "penstock explain [OPTIONS] CALCULATION [VALUES...]"}
"""How commands are used whose values may be left out: Cyclopts does not say what these are."""

STOPPED_BY_SIGNALS = (("serve",), ("worker",))
"""The commands that run until a signal stops them."""

DEBUG_HELP = "Show the traceback of an unexpected failure. Also PENSTOCK_DEBUG."
JSON_HELP = "Print the answer as one JSON object; a failure too, on standard error."


def installed_version() -> str:
    # Only one option needs it, and all commands would wait for it.
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

    try:
        return version("penstock")
    except PackageNotFoundError:
        return "not installed"


def shown_default(value: object) -> str | None:
    """Return the default as help shows it; None for one that is nothing."""
    return None if value is None or value is False or value == () else str(value)


app = App(
    name="penstock",
    help="A GraphQL API server for pipeline metadata.",
    help_epilogue=EPILOGUE,
    help_format="plaintext",
    help_formatter=HelpFormat(),
    version=installed_version,
    default_parameter=Parameter(negative=(), show_default=shown_default),
    result_action="return_value",
    exit_on_error=False,
    print_error=False,
)
SERVERS = Group("Run a server", sort_key=1)
CLIENTS = Group("Ask a running server", sort_key=2)
STORES = Group("Work on the store", sort_key=3)
PRINTERS = Group("Write what other programs read", sort_key=4)
COMMON = Group("Options of every command", sort_key=5)

COMMANDS = {
    SERVERS: {
        "serve:serve": "Start the server and run it until a signal stops it.",
        "worker:worker": "Run executions on a separate machine.",
        "doctor:doctor": "Check everything the server depends on.",
        "sample_rows:sample_rows": "Print an input file for the sample pipelines.",
        "token:token": "Print a token for development.",
        "page_urls:console_url": "Print a one-time URL that opens the console signed in.",
        "page_urls:graphiql_url": "Print a one-time URL that opens GraphiQL signed in.",
    },
    CLIENTS: {
        "client.run:run": "Run a pipeline of a running server on a file.",
        "client.pipelines:pipelines": "List pipelines, find them by tags, show one.",
        "client.calculations:calculations": "List calculations, find them by tags, show one.",
        "client.datasets:datasets": "List reference datasets, find them by tags, show one.",
        "client.executions:executions": "List executions, show, follow, save or cancel one.",
        "client.groups:groups": "List groups, show one.",
        "client.metrics:metrics": "List metrics, show one, print its values over time.",
        "client.tags:tags": "List the tags in use.",
        "client.query:query": "Send a GraphQL operation from a file.",
        "client.explain:explain": "Show how the value of a calculation comes about.",
    },
    STORES: {
        "seed:seed": "Fill the store with a sample catalogue of groups and pipelines.",
        "export:export": "Write everything of a store to an archive.",
        "import_:import_": "Fill a store from an archive, or a server from an export of AWS SIF.",
        "history:history": "Print who changed rights, states and keys, as JSON lines.",
        "backup:backup": "Copy the embedded store while its server runs.",
        "backup:restore": "Write a backup of the embedded store to its folder.",
        "table:table": "Create, check or upgrade the table that holds all data.",
        "manifest:manifest": "Show manifest runs, work on them and release stuck ones.",
        "results:results": "Show the files of kept rows to other engines.",
        "ngsi:ngsi": "Take over tables that other programs filled with samples.",
    },
    PRINTERS: {
        "iam:iam": "Print the permissions that the server needs on AWS.",
        "documents:documents": "Keep the list of the documents that a server trusts.",
        "schema:schema": "Print the GraphQL schema in the schema definition language.",
    },
}
for group, purposes in COMMANDS.items():
    for path, purpose in purposes.items():
        # The command's module is named, not imported: a short command does not load a long one's.
        command = path.partition(":")[2].rstrip("_").replace("_", "-")
        usage = {"usage": USAGES[command]} if command in USAGES else {}
        module = f"penstock.server.commands.{path}"
        app.command(module, name=command, help=purpose, group=group, **usage)

app["--help"].group = app["--version"].group = COMMON


@app.command(group=PRINTERS)
def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], Parameter(help="The shell.")], /
) -> CommandOutput:
    """Print the script that completes commands in a shell."""
    script = app.generate_completion(shell=shell).rstrip("\n")
    return CommandOutput(script, {"shell": shell, "script": script})


@app.meta.default
def launch(
    *tokens: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
    json: Annotated[bool, Parameter(group=COMMON, show_default=False, help=JSON_HELP)] = False,
    debug: Annotated[bool | None, Parameter(group=COMMON, help=DEBUG_HELP)] = None,
) -> ExitCode:
    """Run a command and report the result."""
    try:
        return _print_answer(app(tokens), json)
    except Exception as error:  # the user gets one line for any failure
        return _report_failure(error, json, _is_debugging() if debug is None else debug)


def run(tokens: Sequence[str]) -> int:
    """Run the command line and return its exit code."""
    try:
        return int(app.meta(list(tokens)) or ExitCode.OK)
    except Exception as error:  # help and version are printed outside `launch`
        return _report_failure(error, json=False, debug=_is_debugging())


def main(*, ignores_interrupts: bool = False) -> None:
    """Run the command line of this process.

    In the background of a script it ignores interrupts, but as `serve` and as `worker`.
    """
    hide_words_of_libraries()
    if logs_are_json():
        # Few commands need logs, and loading them takes longer than a short command.
        from penstock.server.telemetry.logs import configure_logging  # noqa: PLC0415

        configure_logging("json")
    tokens = sys.argv[1:]
    is_stopped_by_signals = False
    # Loads the command: Python loses an interrupt in some places, of which importing has many.
    with suppress(CycloptsError):
        command, *_ = app.parse_commands(tokens)
        is_stopped_by_signals = command[:1] in STOPPED_BY_SIGNALS
    is_ignored = ignores_interrupts and not is_stopped_by_signals
    signal.signal(signal.SIGINT, signal.SIG_IGN if is_ignored else signal.default_int_handler)
    try:
        code = run(tokens)
    except KeyboardInterrupt:
        code = int(ExitCode.INTERRUPTED)
    sys.exit(code)


def _print_answer(answer: object, json: bool) -> ExitCode:
    if not isinstance(answer, CommandOutput | StreamedOutput):
        return ExitCode.OK
    is_beside = isinstance(answer, CommandOutput) and answer.is_beside_data
    stream = sys.stderr if is_beside else sys.stdout
    with stop_at_closed_pipe():
        stream.writelines(_printed_texts(answer, json))
        sys.stdout.flush()
    if not isinstance(answer, CommandOutput):
        return ExitCode.OK
    if answer.reasons and not json:
        _print_reasons(answer.reasons)
    return answer.code


def _printed_texts(answer: CommandOutput | StreamedOutput, json: bool) -> Iterator[str]:
    if isinstance(answer, CommandOutput):
        if json:
            yield shown_as_json(answer.data)
        else:
            yield shown_on_terminal(answer.text)
        yield "\n"
    elif json:
        yield f'{{"{answer.field}": ['
        for n, entry in enumerate(answer.entries):
            yield (", " if n else "") + shown_as_json(entry)
        yield "]}\n"
    else:
        yield from (f"{line}\n" for line in answer.lines)


def _report_failure(error: Exception, json: bool, debug: bool) -> ExitCode:
    failure = describe_failure(error)
    is_traced = debug and not failure.expected
    if logs_are_json() and not json:
        from penstock.server.telemetry.logs import log_failure  # noqa: PLC0415 - see `main`

        log_failure(" ".join(failure.lines), failure.code, error if is_traced else None)
        return failure.code
    if is_traced:
        from penstock.datastore.logged_errors import format_traceback  # noqa: PLC0415 - see `main`

        sys.stderr.write(shown_on_terminal(format_traceback(error)))
    if json:
        body = {"error": {"exitCode": failure.code, "messages": failure.lines}}
        sys.stderr.write(shown_as_json(body) + "\n")
    else:
        _print_reasons(failure.lines)
    return failure.code


def _print_reasons(lines: Sequence[str]) -> None:
    sys.stderr.writelines(f"penstock: {shown_on_terminal(line)}\n" for line in lines)


def _is_debugging() -> bool:
    # Most commands need settings; help does not, and loading them takes longer than all of it.
    from penstock.server.settings.settings import Settings  # noqa: PLC0415

    try:
        return Settings.load().debug
    except InvalidSettings:
        return False
