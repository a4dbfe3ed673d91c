"""`penstock query`: sends a GraphQL operation from a file to a running server."""

import asyncio
import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Final

from cyclopts import Parameter

from penstock.server.commands.client.graphql_client import is_user_error
from penstock.server.commands.client.missed_names import ask_for_nearest
from penstock.server.commands.client.run_files import STANDARD
from penstock.server.commands.client.server_options import LOCAL_SERVER, ServerOptions
from penstock.server.core.command_output import (
    CommandFailed,
    CommandOutput,
    ExitCode,
    shown_as_json,
)

_VARIABLE: Final = re.compile(r"\$[\s,]*([_A-Za-z][_0-9A-Za-z]*)")

_FILE_HELP = "File with a query or a mutation; `-` is standard input."
_VARIABLES_HELP = "The variables: a JSON object, or a file with one."
_OPERATION_HELP = "The operation to run, in a file with several."


def query(
    file: Annotated[Path, Parameter(allow_leading_hyphen=True, help=_FILE_HELP)],
    /,
    *,
    variables: Annotated[str | None, Parameter(help=_VARIABLES_HELP)] = None,
    operation: Annotated[str | None, Parameter(help=_OPERATION_HELP)] = None,
    server: ServerOptions = LOCAL_SERVER,
) -> CommandOutput:
    """Send a GraphQL query or mutation from a file to a running server; print the answer as JSON.

    It makes and changes what has no command of its own. It exits with 1 if the answer has errors
    or is a refusal: a `UserError` by its `code` and `message`, or a `ValidationProblem` by its
    `problems`, if the operation selects them.
    """
    request: dict[str, Any] = {
        "query": _read_text(file),
        "variables": _read_variables(variables),
    }
    _check_variables(request["query"], request["variables"])
    if operation is not None:
        request["operationName"] = operation
    answer = asyncio.run(_send(server, request))
    code = ExitCode.FAILED if _is_refused(answer) else ExitCode.OK
    return CommandOutput(shown_as_json(answer, indent=2), answer, code)


async def _send(server: ServerOptions, request: dict[str, Any]) -> Any:
    async with server.client() as client:
        return await client.send(request)


def _read_text(path: Path) -> str:
    content = sys.stdin.buffer.read() if path == STANDARD else path.read_bytes()
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise CommandFailed(f"{path} is not in UTF-8.", code=ExitCode.USAGE) from None


def _read_variables(given: str | None) -> dict[str, Any]:
    if given is None:
        return {}
    is_text = given.lstrip().startswith("{")
    place = "--variables" if is_text else given
    try:
        found = json.loads(given if is_text else _read_text(Path(given)))
    except json.JSONDecodeError as error:
        words = f"{place} is no JSON: line {error.lineno}, column {error.colno}."
        raise CommandFailed(words, code=ExitCode.USAGE) from None
    except RecursionError:
        raise CommandFailed(f"{place} is nested too deep.", code=ExitCode.USAGE) from None
    if isinstance(found, dict):
        return found
    raise CommandFailed(f"{place} is no JSON object.", code=ExitCode.USAGE)


def _check_variables(text: str, given: Iterable[str]) -> None:
    """Refuse a variable that the document does not name: the server would ignore it."""
    known = dict.fromkeys(_VARIABLE.findall(text))
    if unknown := [name for name in given if name not in known]:
        names = ", ".join(f"${name}" for name in known) or "none"
        words = f"The document has no variable {unknown[0]!r}; there are {names}."
        hint = ask_for_nearest(unknown[0], known)
        raise CommandFailed(f"{words}{hint}", code=ExitCode.USAGE)


def _is_refused(answer: Any) -> bool:
    """Tell whether an answer has errors, or a refusal in place of what a mutation gives."""
    values = (answer.get("data") or {}).values()
    return (
        bool(answer.get("errors"))
        or any(map(is_user_error, values))
        or any(isinstance(one, dict) and one.get("problems") for one in values)
    )
