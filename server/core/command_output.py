"""The result of a command: its output, or a failure with a stable exit code."""

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import Final, NamedTuple

from cyclopts import CycloptsError, MissingArgumentError, UnknownCommandError, UnknownOptionError

from penstock.datastore.errors import PenstockError, Unavailable
from penstock.server.settings.invalid_settings import PREFIX, InvalidSettings
from penstock.server.settings.key_files import BadKeyFile

CONTROLS: Final = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f"
    # ends of lines and marks of direction, by which a name could look like another one
    r"\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
)
"""Characters by which a text could command a terminal; ends of lines and tabs are not among them.

They are the content of a class of a regular expression.
"""

_CONTROL: Final = re.compile(f"[{CONTROLS}]")
_BREAKS: Final = re.compile(r"[\t\n\v\f\r]+")


def shown_on_terminal(text: str) -> str:
    """Return the text with `?` for each character by which it could command a terminal."""
    return _CONTROL.sub("?", text)


def put_in_line(text: str) -> str:
    """Return a text with a space for each end of a line, which would look like a line of ours."""
    return _BREAKS.sub(" ", text)


def shown_as_json(value: object, indent: int | None = None) -> str:
    """Return a value as JSON in which each character that could command a terminal is escaped."""
    return escape_controls(json.dumps(value, ensure_ascii=False, indent=indent))


def escape_controls(text: str) -> str:
    """Escape the characters of a text in JSON by which it could command a terminal."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class ExitCode(IntEnum):
    """The exit codes that scripts can rely on; docs/cli.md explains each."""

    OK = 0
    FAILED = 1
    USAGE = 2
    STORE = 3
    INTERRUPTED = 130


class CommandOutput(NamedTuple):
    """The output of a command: text for people, and the same as a JSON value for `--json`.

    A command that successfully finds a problem returns another code than OK, and may give the
    `reasons` of it, which the data have as well. What stands beside data that the command itself
    has printed goes to standard error.
    """

    text: str
    data: object
    code: ExitCode = ExitCode.OK
    is_beside_data: bool = False
    reasons: Sequence[str] = ()


class StreamedOutput(NamedTuple):
    """The output of a command that is too long for memory: lines, and for `--json` one object.

    The object has one field, a list of the `entries`.
    """

    lines: Iterable[str]
    field: str
    entries: Iterable[Mapping[str, object]]


@contextmanager
def stop_at_closed_pipe() -> Iterator[None]:
    """Print and flush until the reader of standard output has enough, as `head` has."""
    try:
        yield
    except BrokenPipeError:
        # Python would complain when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class CommandFailed(Exception):
    """The command failed; each line gives one reason."""

    def __init__(self, *lines: str, code: ExitCode = ExitCode.FAILED) -> None:
        super().__init__(" ".join(lines))
        self.lines = lines
        self.code = code


class FailureReport(NamedTuple):
    """A failure as the user sees it, line by line; unexpected ones deserve a traceback."""

    code: ExitCode
    lines: Sequence[str]
    expected: bool = True


def describe_failure(error: Exception) -> FailureReport:
    """Describe any failure of a command for its user."""
    one_line = " ".join(str(error).split())
    match error:
        case CommandFailed():
            return FailureReport(error.code, error.lines)
        case InvalidSettings():
            return FailureReport(ExitCode.USAGE, error.problems)
        case CycloptsError():
            return FailureReport(ExitCode.USAGE, (_describe_misuse(error, one_line),))
        case PenstockError() | BadKeyFile():
            unreachable = isinstance(error, Unavailable)
            return FailureReport(ExitCode.STORE if unreachable else ExitCode.FAILED, (one_line,))
        case _:
            return _describe_failure_of_machine(error) or _describe_unexpected(error)


def _describe_unexpected(error: Exception) -> FailureReport:
    # Few commands fail so, and loading it takes longer than a short command.
    from penstock.datastore.logged_errors import describe_error  # noqa: PLC0415

    words = " ".join(describe_error(error).split())
    return FailureReport(ExitCode.FAILED, (f"{words} (--debug shows where)",), expected=False)


def _describe_misuse(error: CycloptsError, words: str) -> str:
    """Describe a command line that cannot be read, and name the help that tells more."""
    help_ = f"`{' '.join(('penstock', *(error.command_chain or ())))} --help`"
    match error:
        case MissingArgumentError(argument=argument, keyword=None) if argument:
            return f"{argument.name} is required. {help_} explains the command."
        case UnknownCommandError() if words.endswith(", ..."):
            return f"{words.partition(' Available commands:')[0]} {help_} lists the commands."
        case UnknownOptionError() if "Did you mean" not in words:
            return f"{words} {help_} lists the options."
        case _:
            return words


_AWS_SETTINGS = {
    "NoRegionError": "No AWS region is set: give --region, PENSTOCK_REGION or AWS_REGION.",
    "NoCredentialsError": "AWS knows no credentials: set AWS_PROFILE or AWS_ACCESS_KEY_ID, or give "
    "the machine a role.",
}


def _describe_failure_of_machine(error: Exception) -> FailureReport | None:
    """Describe a failure of files or of AWS's settings; None for others."""
    # AWS's library is loaded late, so its classes cannot be named here.
    if words := _AWS_SETTINGS.get(type(error).__name__):
        return FailureReport(ExitCode.USAGE, (words,))
    if isinstance(error, OSError) and error.filename and error.strerror:
        return FailureReport(ExitCode.FAILED, (_describe_file_failure(error),))
    return None


def _describe_file_failure(error: OSError) -> str:
    path = Path(error.filename)
    if isinstance(error, FileExistsError | NotADirectoryError):
        place = path if path.is_file() else path.parent
        return f"{place} is a file, and a directory is needed."
    return f"{path}: {error.strerror}."


def logs_are_json() -> bool:
    """Tell whether standard error is for programs, whatever the other settings are."""
    return os.environ.get(f"{PREFIX}LOG_FORMAT") == "json"
