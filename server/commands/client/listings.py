"""Lists of a server as text: aligned columns, and the option that reads the next page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from cyclopts import Group, Parameter
from cyclopts.validators import Number

from penstock.datastore.text import say_count
from penstock.server.core.command_output import CommandOutput, put_in_line

PAGE = Group("Page", sort_key=1)


_FIRST_HELP = "The number of entries to print, 1 to 100."
_AFTER_HELP = "The cursor after which the page starts: what the page before prints as its end."


@Parameter(name="*", group=PAGE)
@dataclass(frozen=True, slots=True, kw_only=True)
class PageOptions:
    """The part of a list to print."""

    first: Annotated[int, Parameter(help=_FIRST_HELP, validator=Number(gte=1, lte=100))] = 50
    after: Annotated[str | None, Parameter(help=_AFTER_HELP, allow_leading_hyphen=True)] = None

    def variables(self) -> dict[str, Any]:
        return {"first": self.first, "after": self.after}


FIRST_PAGE = PageOptions()


def print_page(connection: Any, columns: Mapping[str, str], none: str) -> CommandOutput:
    """Print the nodes of a connection in columns, each a title and the field below it."""
    nodes = connection["nodes"]
    info = connection["pageInfo"]
    rows = [[format_value(node[field]) for field in columns.values()] for node in nodes]
    lines = align_columns([list(columns), *rows]) if rows else [none]
    if info["hasNextPage"]:
        lines += ["", f"More: --after {info['endCursor']}"]
    data = {"nodes": nodes, "endCursor": info["endCursor"] if info["hasNextPage"] else None}
    return CommandOutput("\n".join(lines), data)


def print_fields(value: Mapping[str, Any]) -> CommandOutput:
    """Print the fields of one object, a line each; those without a value are left out."""
    rows = [[name, format_value(field)] for name, field in value.items() if field not in (None, [])]
    return CommandOutput("\n".join(align_columns(rows)), value)


def format_value(value: Any) -> str:
    """Write a value of an answer in a line: tags as `key=value`, lists by commas."""
    match value:
        case str() | None:
            return " ".join((value or "").split())
        case list():
            return ", ".join(map(format_value, value))
        case dict():
            return _format_object(value)
        case _:
            return str(value)


def _format_object(value: Mapping[str, Any]) -> str:
    match value:
        case {"key": key, "value": text}:
            return f"{key}={text}"
        case {"code": str() as code, "column": column, "rows": int() as rows}:
            return f"{say_count(rows, 'row')}: {code}{f' in {column}' if column else ''}"
        case {"name": name, "output": output}:
            return name_input(name, output)
        case _:
            return ", ".join(f"{name} {format_value(one)}" for name, one in value.items())


def name_input(name: str | None, output: str | None) -> str:
    """Name an input of a metric: another metric, or an output of a pipeline."""
    return " ".join(filter(None, (name, output)))


def align_columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the rows as lines whose columns begin below each other."""
    rows = [[put_in_line(text) for text in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
