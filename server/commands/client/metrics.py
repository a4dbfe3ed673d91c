"""`penstock metrics`: lists the metrics that the caller sees, shows one, prints its values."""

import asyncio
import csv
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from io import StringIO
from typing import Annotated, Any, Final, Literal
from zoneinfo import ZoneInfo

from cyclopts import App, Parameter

from penstock.server.commands.client.find_by_name import find_by_name
from penstock.server.commands.client.listings import (
    FIRST_PAGE,
    PageOptions,
    align_columns,
    name_input,
    print_fields,
    print_page,
)
from penstock.server.commands.client.resource_lists import Below, ListedGroup, SearchedGroup
from penstock.server.commands.client.server_options import LOCAL_SERVER, ServerOptions
from penstock.server.core.command_output import CommandFailed, CommandOutput, ExitCode

COLUMNS = {
    "NAME": "name",
    "OWNER": "owner",
    "FUNCTION": "function",
    "UNIT": "unit",
    "VERSION": "version",
    "STATE": "state",
    "TAGS": "tags",
}

LIST = """query($group: GroupPath, $below: Boolean, $first: Int, $after: String) {
  metrics(group: $group, includeChildGroups: $below, first: $first, after: $after) {
    nodes { id name owner function unit version state tags { key value } }
    pageInfo { hasNextPage endCursor } } }"""
SHOW = """query($id: ID!) { metric(id: $id) {
  id name description owner groups state version unit function inputs { name output }
  tags { key value } createdAt createdBy updatedAt updatedBy } }"""
VALUES = """query($id: ID!, $group: GroupPath, $from: DateTime!, $to: DateTime!, $every: Every!,
    $zone: String, $breakdown: MetricBreakdown, $asAt: DateTime) { metric(id: $id) {
  name unit inputs { name output }
  series(group: $group, from: $from, to: $to, every: $every, zone: $zone, breakdown: $breakdown,
      asAt: $asAt) {
    isComplete points { start end group input value } } } }"""

Every = Literal["hour", "day", "week", "month", "quarter", "year"]
Breakdown = Literal["none", "group", "input"]
Format = Literal["table", "csv"]

_DATE: Final = re.compile(r"([0-9]{4})(?:-([0-9]{2}))?(?:-([0-9]{2}))?")

_NAME_HELP = "Name or id of the metric."
_IN_HELP = "Group whose rows count, with those of all groups below. By default all that you see."
_FROM_HELP = "First day, month or year, such as 2025-01, or a time with its zone; inclusive."
_TO_HELP = "The end, exclusive, in the same form."
_EVERY_HELP = "The length of the time that each value covers."
_ZONE_HELP = "Time zone by whose clock days and months begin, such as Europe/Berlin."
_BREAKDOWN_HELP = "Separate values for each group directly below, or for each input."
_AS_AT_HELP = "Count the rows as they were at this time."
_FORMAT_HELP = "Aligned columns, or CSV; --json gives JSON."

metrics = App(name="metrics", help="List metrics, show one, print its values over time.")


@metrics.command(name="list")
def list_metrics(
    *,
    group: ListedGroup = None,
    below: Below = False,
    page: PageOptions = FIRST_PAGE,
    server: ServerOptions = LOCAL_SERVER,
) -> CommandOutput:
    """List the metrics of a group: its own, and those that are granted to it."""
    return asyncio.run(_list(server, page, group, below))


@metrics.command(name="show")
def show_metric(
    metric: Annotated[str, Parameter(help=_NAME_HELP)],
    /,
    *,
    group: SearchedGroup = None,
    server: ServerOptions = LOCAL_SERVER,
) -> CommandOutput:
    """Show a metric, given by name or id."""
    return asyncio.run(_show(server, metric, group))


@metrics.command(name="values")
def print_values(
    metric: Annotated[str, Parameter(help=_NAME_HELP)],
    /,
    *,
    start: Annotated[str, Parameter(name="--from", help=_FROM_HELP)],
    end: Annotated[str, Parameter(name="--to", help=_TO_HELP)],
    every: Annotated[Every, Parameter(help=_EVERY_HELP)] = "month",
    zone: Annotated[str, Parameter(help=_ZONE_HELP)] = "UTC",
    rows_of: Annotated[str | None, Parameter(name="--in", help=_IN_HELP)] = None,
    breakdown: Annotated[Breakdown, Parameter(help=_BREAKDOWN_HELP)] = "none",
    as_at: Annotated[str | None, Parameter(help=_AS_AT_HELP)] = None,
    format: Annotated[Format, Parameter(help=_FORMAT_HELP)] = "table",
    group: SearchedGroup = None,
    server: ServerOptions = LOCAL_SERVER,
) -> CommandOutput:
    """Print the values of a metric, given by name or id, over time."""
    first, last = _parse_time(start, zone), _parse_time(end, zone)
    if datetime.fromisoformat(first) >= datetime.fromisoformat(last):
        words = f"--from {start} is not before --to {end}, which is exclusive."
        raise CommandFailed(words, code=ExitCode.USAGE)
    wanted = {
        "from": first,
        "to": last,
        "every": every.upper(),
        "zone": zone,
        "group": rows_of,
        "breakdown": breakdown.upper(),
        "asAt": None if as_at is None else _parse_time(as_at, zone),
    }
    found = asyncio.run(_read_values(server, metric, group, wanted))
    if format == "csv":
        return CommandOutput(_write_csv(_rows_of(found, breakdown)), found)
    return CommandOutput(_write_table(found, _rows_of(found, breakdown)), found)


async def _list(
    server: ServerOptions, page: PageOptions, group: str | None, below: bool
) -> CommandOutput:
    group = group or server.read_profile().group
    async with server.client() as client:
        found = await client.execute(LIST, group=group, below=below, **page.variables())
    return print_page(found, COLUMNS, "No metric.")


async def _show(server: ServerOptions, metric: str, group: str | None) -> CommandOutput:
    async with server.client() as client:
        id = await find_by_name(client, "metric", metric, group or server.read_profile().group)
        return print_fields(await client.execute(SHOW, id=id))


async def _read_values(
    server: ServerOptions, metric: str, group: str | None, wanted: Mapping[str, Any]
) -> Any:
    async with server.client() as client:
        id = await find_by_name(client, "metric", metric, group or server.read_profile().group)
        return await client.execute(VALUES, id=id, **wanted)


def _parse_time(text: str, zone: str) -> str:
    """Return a time with its zone: the start of a year, month or day by the clock of `zone`."""
    try:
        clock = ZoneInfo(zone)
    except (ValueError, KeyError, OSError):
        words = f"{zone!r} is no time zone such as Europe/Berlin."
        raise CommandFailed(words, code=ExitCode.USAGE) from None
    with suppress(ValueError):
        if parts := _DATE.fullmatch(text):
            year, month, day = (int(part or 1) for part in parts.groups())
            return datetime(year, month, day, tzinfo=clock).isoformat()
        if datetime.fromisoformat(text).tzinfo is not None:
            return text
    form = "such as 2025, 2025-01, 2025-01-31 or 2025-01-31T00:00:00Z"
    raise CommandFailed(f"{text!r} is no time {form}.", code=ExitCode.USAGE)


def _rows_of(metric: Mapping[str, Any], breakdown: Breakdown) -> list[list[str]]:
    """Return the points as rows below their titles."""
    inputs = [name_input(**one) for one in metric["inputs"]]
    rows = [["START", "END", *([] if breakdown == "none" else [breakdown.upper()]), "VALUE"]]
    for point in metric["series"]["points"]:
        named = {"group": point["group"], "input": inputs[point["input"] or 0]}
        split = [] if breakdown == "none" else [str(named[breakdown])]
        value = "" if point["value"] is None else str(point["value"])
        rows.append([point["start"], point["end"], *split, value])
    return rows


def _write_csv(rows: Sequence[Sequence[str]]) -> str:
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([title.lower() for title in rows[0]])
    writer.writerows(rows[1:])
    return text.getvalue().rstrip("\n")


def _write_table(metric: Mapping[str, Any], rows: Sequence[Sequence[str]]) -> str:
    if len(rows) == 1:
        return "No value."
    width = max(len(row[-1]) for row in rows)
    lines = align_columns([[*row[:-1], row[-1].rjust(width)] for row in rows])
    if metric["unit"]:
        lines += ["", f"Values in {metric['unit']}."]
    if not metric["series"]["isComplete"]:
        lines += ["", "Not all inputs are in your sight: the values of others do not count."]
    return "\n".join(lines)
