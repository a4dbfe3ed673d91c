"""Tables of the parameters and outputs of a pipeline or a calculation."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from penstock.server.commands.client.listings import align_columns, format_value, print_fields
from penstock.server.core.command_output import CommandOutput

PARAMETERS = "parameters { key label description type required }"
TRANSFORMS = "transforms { formula outputs { key label description type } }"
OUTPUTS = "outputs { key label description type }"


def print_pipeline(pipeline: Mapping[str, Any]) -> CommandOutput:
    """Print a pipeline: its fields, the columns of its input, its outputs with their formulas."""
    transformer = pipeline["transformer"]
    outputs = [
        # One formula may fill several outputs.
        output | {"formula": transform["formula"] if not n else None}
        for transform in transformer["transforms"]
        for n, output in enumerate(transform["outputs"])
    ]
    rest = {name: transformer[name] for name in ("extraColumns", "timestamps")}
    return _print_with_tables(pipeline, ["transformer"], rest, transformer["parameters"], outputs)


def print_calculation(calculation: Mapping[str, Any]) -> CommandOutput:
    """Print a calculation: its fields, its parameters and its outputs."""
    shown_below = ["parameters", "outputs"]
    return _print_with_tables(
        calculation, shown_below, {}, calculation["parameters"], calculation["outputs"]
    )


def _print_with_tables(
    value: Mapping[str, Any],
    shown_below: Sequence[str],
    more: dict[str, Any],
    parameters: Iterable[dict[str, Any]],
    outputs: Iterable[dict[str, Any]],
) -> CommandOutput:
    fields = {name: field for name, field in value.items() if name not in shown_below} | more
    columns = [
        one | {"label": one["label"] or one["key"], "required": "yes" if one["required"] else "no"}
        for one in parameters
    ]
    lines = print_fields(fields).text.splitlines()
    lines += _table("PARAMETER", "COLUMN", columns)
    # The one output of a calculation may have no key.
    lines += _table("OUTPUT", "LABEL", [one | {"key": one["key"] or "(no key)"} for one in outputs])
    return CommandOutput("\n".join(lines), value)


def _table(key: str, label: str, entries: Iterable[dict[str, Any]]) -> list[str]:
    """Return lines for entries, below an empty one; a column without values is left out."""
    titles = {
        key: "key",
        label: "label",
        "TYPE": "type",
        "REQUIRED": "required",
        "DESCRIPTION": "description",
        "FORMULA": "formula",
    }
    cells = [[format_value(entry.get(field)) for field in titles.values()] for entry in entries]
    if not cells:
        return []
    shown = [n for n in range(len(titles)) if any(row[n] for row in cells)]
    rows = [[row[n] for n in shown] for row in [[*titles], *cells]]
    return ["", *align_columns(rows)]
