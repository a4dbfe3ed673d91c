"""`penstock explain`: evaluates a calculation for one row, and shows how the value comes about."""

import asyncio
from collections.abc import Iterator
from typing import Annotated, Any

from cyclopts import Parameter

from penstock.server.commands.client.graphql_client import AnsweredError, GraphQLClient
from penstock.server.commands.client.listings import align_columns
from penstock.server.commands.client.missed_names import (
    ask_for_nearest,
    require_group,
    suggest_name,
)
from penstock.server.commands.client.server_options import LOCAL_SERVER, ServerOptions
from penstock.server.core.command_output import (
    CommandFailed,
    CommandOutput,
    ExitCode,
    put_in_line,
)

EVALUATE = """query($input: EvaluateInput!) { evaluate(input: $input) {
  ...on UserError { code message }
  ...on EvaluatePayload { version
    values { type text }
    errors { column code message }
    datasets { name version }
    explanation(row: 0) { parts { depth operator text evaluated value { text } } }
  } } }"""

PARAMETERS = """query($name: String!, $group: GroupPath, $version: Int!) {
  calculationByName(name: $name, group: $group) {
    versionNumbered(version: $version) { parameters { key } } } }"""

_NAME_HELP = "Name of the calculation, such as vehicle_emissions."
_VALUES_HELP = "The values of the parameters, such as distance=12.5."
_GROUP_HELP = "Group that sees the calculation. By default that of the profile or the token."
_NUMBER_HELP = "Number of the version to evaluate. By default the newest."
_LABEL_HELP = "Label of the version to evaluate, such as prod."
_WIDEST = 72


def explain(
    calculation: Annotated[str, Parameter(help=_NAME_HELP)],
    /,
    *values: Annotated[str, Parameter(help=_VALUES_HELP)],
    group: Annotated[str | None, Parameter(help=_GROUP_HELP)] = None,
    number: Annotated[int | None, Parameter(help=_NUMBER_HELP)] = None,
    label: Annotated[str | None, Parameter(help=_LABEL_HELP)] = None,
    server: ServerOptions = LOCAL_SERVER,
) -> CommandOutput:
    """Evaluate a calculation for one row of values, and show the value of each part of it.

    Each line is a part of the formula, indented below the part that it belongs to. Parts that the
    row does not need are left out.
    """
    given = {
        "name": calculation,
        "group": group or server.read_profile().group,
        "version": number,
        "label": label,
        "rows": [dict(map(_parse_value, values))],
    }
    return asyncio.run(_explain(server, calculation, given))


async def _explain(server: ServerOptions, name: str, given: dict[str, Any]) -> CommandOutput:
    wanted = {key: value for key, value in given.items() if value is not None}
    async with server.client() as client:
        answer = await _evaluate(client, name, given["group"], wanted)
        named = {"name": name, "group": given["group"], "version": answer["version"]}
        _check_keys(name, given["rows"][0], await client.execute(PARAMETERS, **named))
    (value,) = answer["values"]
    blocks = (
        [put_in_line(f"{name} = {_format_part(value)}")],
        _list_parts(answer),
        _list_datasets(answer),
        [put_in_line(f"{error['code']}: {error['message']}") for error in answer["errors"]],
    )
    text = "\n\n".join("\n".join(lines) for lines in blocks if lines)
    return CommandOutput(text, answer, ExitCode.FAILED if answer["errors"] else ExitCode.OK)


async def _evaluate(
    client: GraphQLClient, name: str, group: str | None, wanted: dict[str, Any]
) -> Any:
    """Return the answer about a row; for a name that nothing has, ask for the one that is near."""
    try:
        return await client.execute(EVALUATE, input=wanted)
    except AnsweredError as error:
        if error.error_code != "NOT_FOUND":
            raise
        if group is not None:
            await require_group(client, group)
        hint = await suggest_name(client, "calculation", name, group, below=False)
        raise CommandFailed(f"{error}{hint}") from None


def _list_datasets(answer: Any) -> list[str]:
    used = ", ".join(f"{one['name']} (version {one['version']})" for one in answer["datasets"])
    return [f"looked up in {used}"] if used else []


def _check_keys(name: str, row: dict[str, str], calculation: Any) -> None:
    """Refuse a key that names no parameter: the server would evaluate the row without it."""
    known = [one["key"] for one in calculation["versionNumbered"]["parameters"]]
    if unknown := [key for key in row if key not in known]:
        words = f"{name} has no parameter {unknown[0]!r}; there are {', '.join(known) or 'none'}."
        hint = ask_for_nearest(unknown[0], known)
        raise CommandFailed(f"{words}{hint}", code=ExitCode.USAGE)


def _list_parts(answer: Any) -> list[str]:
    parts = (answer["explanation"] or {"parts": []})["parts"]
    rows = [[text, value] for text, value in _read_parts(parts)]
    return align_columns(rows) if rows else []


def _read_parts(parts: list[Any]) -> Iterator[tuple[str, str]]:
    """Yield the parts that were evaluated and are no plain literals, with their values."""
    for part in parts:
        value = _format_part(part["value"])
        if not part["evaluated"] or part["text"].strip("'") == value:
            continue
        operator = f"{part['operator']} " if part["operator"] else ""
        text = f"{'  ' * part['depth']}{operator}{part['text']}"
        yield text if len(text) <= _WIDEST else f"{text[: _WIDEST - 4]} ...", value


def _format_part(value: Any) -> str:
    return "null" if value is None or value["text"] is None else str(value["text"])


def _parse_value(text: str) -> tuple[str, str]:
    key, is_value, value = text.partition("=")
    if not is_value:
        raise CommandFailed(f"{text!r} is no value such as distance=12.5.", code=ExitCode.USAGE)
    return key, value
