"""The inputs of Penstock's mutations for the resources of SIF."""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from io import StringIO
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from penstock.server.commands.sif.export_files import Item

TAG: Final = "sif"
"""The key of the tag that says which resource of SIF something was made of."""

TYPES: Final = {one: one.upper() for one in ("string", "number", "boolean", "timestamp")}
FUNCTIONS: Final = {"sum": "SUM", "mean": "AVG", "min": "MIN", "max": "MAX", "count": "COUNT"}
_is_number: Final = re.compile(r"-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,30})?").fullmatch


class NotTakable(Exception):
    """Something of SIF that cannot be made here, with the reason."""


def group_of(item: Item) -> str:
    """Return the group that owns a resource: the first of its groups."""
    groups = item.get("groups") or ["/"]
    return str(groups[0])


def further_groups(item: Item) -> list[str]:
    """Return the other groups to which a resource is granted."""
    return [str(one) for one in (item.get("groups") or [])[1:]]


def given_tags(item: Item) -> dict[str, str]:
    """Return the tags that users gave an item."""
    return {str(key): str(value) for key, value in (item.get("tags") or {}).items()}


def tag_inputs(tags: Mapping[str, str]) -> list[dict[str, str]]:
    """Return tags as inputs have them."""
    return [{"key": key, "value": value} for key, value in tags.items()]


def column(entry: Mapping[str, Any], index: int) -> dict[str, Any]:
    """Return a parameter or an output."""
    type = TYPES.get(str(entry.get("type", "string")))
    if type is None:
        raise NotTakable(f"the type {entry.get('type')!r} is not known")
    found = {name: entry.get(name) for name in ("key", "label", "description")}
    return {"index": index, "type": type, **{k: str(v) for k, v in found.items() if v}}


def columns(entries: Sequence[Mapping[str, Any]] | None) -> list[dict[str, Any]]:
    """Return parameters or outputs in the order of their indexes."""
    ordered = sorted(entries or (), key=lambda entry: int(entry.get("index", 0)))
    return [column(entry, n) for n, entry in enumerate(ordered)]


def shared_content(item: Item) -> dict[str, Any]:
    """Return what the inputs of all kinds have."""
    return {
        "group": group_of(item),
        "name": str(item["name"]),
        "description": str(item["description"]) if item.get("description") else None,
        "tags": tag_inputs({**given_tags(item), TAG: str(item["id"])}),
    }


def group_content(item: Item) -> dict[str, Any]:
    """Return what the input of a group has beside its path."""
    return {
        "name": str(item.get("name") or unquote(str(item["id"]))),
        "description": str(item["description"]) if item.get("description") else None,
        "tags": tag_inputs(given_tags(item)),
    }


def calculation_input(item: Item) -> dict[str, Any]:
    """Return the input that creates a calculation."""
    return {
        **shared_content(item),
        "summary": str(item["summary"]) if item.get("summary") else None,
        "formula": str(item["formula"]),
        "parameters": columns(item.get("parameters")),
        "outputs": columns(item.get("outputs")),
    }


class Table(NamedTuple):
    """The rows of a dataset, and how many of a key that an earlier row has were left out."""

    headings: list[str]
    rows: list[list[str]]
    repeated: int

    def content(self) -> dict[str, Any]:
        """Return the content of a dataset; a column is of numbers if all its values are."""
        numbers = [all(_is_number(row[n]) for row in self.rows) for n in range(len(self.headings))]
        text = StringIO()
        csv.writer(text).writerows([self.headings, *self.rows])
        kinds = ["NUMBER" if is_number and n else "STRING" for n, is_number in enumerate(numbers)]
        named = zip(self.headings, kinds, strict=True)
        return {
            "columns": [{"name": name, "type": kind} for name, kind in named],
            "csv": text.getvalue(),
        }


def read_table(data: bytes) -> Table:
    """Read a file of a reference dataset; the first row of a key counts, as in SIF."""
    try:
        records = list(csv.reader(StringIO(data.decode("utf-8-sig"), newline=""), strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        raise NotTakable(f"its file cannot be read: {error}") from None
    if not records:
        raise NotTakable("its file is empty")
    headings, *rows = [[field.strip() for field in record] for record in records if record]
    if any(len(row) != len(headings) for row in rows):
        raise NotTakable("a row of its file has more or fewer fields than the header")
    kept = {row[0]: row for row in reversed(rows)}
    first = [row for row in rows if kept[row[0]] is row]
    return Table(headings, first, len(rows) - len(first))


def factor_table(item: Item) -> Table:
    """Return the factors of an activity of SIF: a row for each impact, a column for a component."""
    impacts = item.get("impacts") or {}
    found = {str(name): impact.get("components") or {} for name, impact in impacts.items()}
    keys = list(dict.fromkeys(str(key) for one in found.values() for key in one))
    if not keys:
        raise NotTakable("it has no impacts with components in its item")
    rows = [
        [name, *(_number(one[key].get("value")) if key in one else "" for key in keys)]
        for name, one in found.items()
    ]
    return Table(["impact", *keys], rows, 0)


def _number(value: object) -> str:
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def metric_input(item: Item, pipelines: Mapping[str, str]) -> dict[str, Any]:
    """Return the input that creates a metric; `pipelines` has global ids by ids of SIF."""
    function = FUNCTIONS.get(str(item.get("aggregationType")))
    if function is None:
        raise NotTakable(f"the aggregation {item.get('aggregationType')!r} is not known")
    return {**shared_content(item), "function": function, "inputs": list(_inputs(item, pipelines))}


def _inputs(item: Item, pipelines: Mapping[str, str]) -> Iterator[dict[str, str]]:
    for one in item.get("inputPipelines") or ():
        id = str(one["pipelineId"])
        if id not in pipelines:
            raise NotTakable(f"the pipeline {id} of its inputs was not taken")
        yield {"pipeline": pipelines[id], "output": str(one["output"])}
    for name in item.get("inputMetrics") or ():
        yield {"metric": str(name)}
