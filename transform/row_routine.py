"""Compiles a program and the places of its columns into one function for a row of a file.

Most rows are in order: one function reads them, computes their cells and does nothing else. A row
that is not in order is processed again, step by step, to find its problems.

No text of a plan enters the source: names are numbered, and values are passed in the namespace.
"""

import re
import sys
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Final, NamedTuple, TypeAlias

from penstock.formula.codegen.emitter import FAULTS, Routine
from penstock.formula.core.limits import MAX_STRING, WorkMeter
from penstock.formula.core.numbers import number_text
from penstock.formula.core.values import FormulaType, Value, text_of

is_plain_number: Final = re.compile(r"-?[0-9]{1,40}(?:\.[0-9]{1,40})?").fullmatch
"""Matches a number that is within all limits, so that nothing else checks it."""

RowRoutine: TypeAlias = Callable[[Sequence[str]], tuple[list[str], int] | None]
"""Returns the output cells of a row's fields, and their characters; None for a row with problems.

It is for one thread at a time.
"""


class InputColumn(NamedTuple):
    """An input column: its type, the function that reads its entries, and its place in a row."""

    type: FormulaType
    read: Callable[[object], Value]
    place: int | None


class OutputColumn(NamedTuple):
    """An output column and the function that computes it."""

    name: str
    key: str | None
    routine: Routine


def csv_cell(value: Value) -> str:
    """Return a value as a CSV cell: null is empty, numbers are plain, lists are JSON."""
    if type(value) is Decimal:
        return number_text(value)
    if type(value) is str:
        return value
    return "" if value is None else text_of(value)


_READ_BY_TYPE: Final = {
    FormulaType.NUMBER: "Decimal(entry) if is_plain_number(entry) else {read}(entry)",
    FormulaType.STRING: "entry if len(entry) <= MAX_STRING else {read}(entry)",
}


class RowCompiler:
    """Builds the source of the function, line by line.

    `lookup` and `impact` answer the formulas from datasets; `is_kept` tells whether a row with
    these cells can be kept.
    """

    def __init__(
        self, lookup: object, impact: object, is_kept: Callable[[list[str]], bool] | None
    ) -> None:
        self._lines: list[str] = []
        self._values: list[str] = []
        self._cells: list[str] = []
        self._checks_cells = is_kept is not None
        self._namespace: dict[str, object] = {
            "Decimal": Decimal,
            "FAULTS": FAULTS,
            "MAX_STRING": MAX_STRING,
            # Rows have a limit each; all of them have none.
            "work": WorkMeter(sys.maxsize),
            "csv_cell": csv_cell,
            "is_plain_number": is_plain_number,
            "number_text": number_text,
            "lookup": lookup,
            "impact": impact,
            "is_kept": is_kept,
        }

    def compile(
        self, columns: Sequence[InputColumn], outputs: Sequence[OutputColumn]
    ) -> RowRoutine:
        """Compile the function; it wants as many fields as the header of its file has."""
        for column in columns:
            self._add_column(column)
        if any(output.routine.metered for output in outputs):
            self._lines.append("work.begin_row()")
        self._lines.append("earlier = {}")
        for output in outputs:
            self._add_output(output)
        self._lines.append(f"cells = [{', '.join(self._cells)}]")
        if self._checks_cells:
            self._lines.append("if not is_kept(cells): return None")
        sizes = " + ".join(f"len({cell})" for cell in self._cells)
        self._lines.append(f"return cells, {sizes or 0}")
        body = "\n  ".join(self._lines)
        source = f"def run(fields):\n try:\n  {body}\n except FAULTS:\n  return None"
        code = compile(source, "<row>", "exec", dont_inherit=True, optimize=0)
        exec(code, self._namespace)  # noqa: S102 - the source holds numbered names only
        routine: RowRoutine = self._namespace["run"]  # type: ignore[assignment]
        return routine

    def _add_column(self, column: InputColumn) -> None:
        value, read = f"value{len(self._values)}", f"read{len(self._values)}"
        self._values.append(value)
        self._namespace[read] = column.read
        if column.place is None:
            self._lines.append(f"{value} = {read}(None)")
        else:
            found = _READ_BY_TYPE.get(column.type, "{read}(entry)").format(read=read)
            self._lines += [f"entry = fields[{column.place}]", f"{value} = {found}"]

    def _add_output(self, output: OutputColumn) -> None:
        n = len(self._cells)
        cell, run, key = f"cell{n}", f"run{n}", f"key{n}"
        self._cells.append(cell)
        self._namespace |= {run: output.routine.run, key: output.key}
        given = ", ".join([*self._values, "lookup, impact, earlier.get, work"])
        self._lines += [
            f"result = {run}({given})",
            f"{cell} = number_text(result) if type(result) is Decimal else csv_cell(result)",
        ]
        if output.key is not None:
            self._lines.append(f"earlier[{key}] = {cell} if type(result) is tuple else result")
