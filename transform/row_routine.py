"""Compiles a program and the places of its columns into one function for the rows of a file.

Most rows are in order: one loop reads them, computes their cells and does nothing else. It stops
at a row that is not in order, which is processed again, step by step, to find its problems.

No text of a plan enters the source: names are numbered, and values are passed in the namespace.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Final, NamedTuple, TypeAlias

from penstock.formula.codegen.emitter import FAULTS, Routine
from penstock.formula.core.limits import MAX_STRING, WorkMeter
from penstock.formula.core.numbers import number_text
from penstock.formula.core.values import FormulaType, Value, text_of
from penstock.transform.row_identity import IdentityCheck

PLAIN_LENGTH: Final = 80
"""The most characters of a number that is within all limits if it has only digits and a point."""


class RowsDone(NamedTuple):
    """The rows that a routine has done, the characters of their cells, and how it ended.

    Either all rows so far were `in_order`, or one more was taken that is not.
    """

    rows: int
    characters: int
    in_order: bool


Fields: TypeAlias = Sequence[str] | None
"""The fields of a row; None for one that has none or cannot be read."""

RowRoutine: TypeAlias = Callable[
    [Iterator[Fields], Callable[[list[str]], object], int], tuple[int, int, bool]
]
"""Takes rows, and keeps the output cells of each; returns what RowsDone describes.

It ends with the rows, or once their cells have so many characters. It is for one thread at a time.
"""


class InputColumn(NamedTuple):
    """An input column: its type, the function that reads its entries, and its place in a row."""

    type: FormulaType
    read: Callable[[object], Value]
    place: int | None


def csv_cell(value: Value) -> str:
    """Return a value as a CSV cell: null is empty, numbers are plain, lists are JSON."""
    if type(value) is Decimal:
        return number_text(value)
    if type(value) is str:
        return value
    return "" if value is None else text_of(value)


class OutputColumn(NamedTuple):
    """An output column, the function that computes it, and the one that writes its cell."""

    name: str
    key: str | None
    routine: Routine
    write: Callable[[Value], str] = csv_cell


_READ_BY_TYPE: Final = {
    # A third of the time of a pattern; a file has a million of these.
    FormulaType.NUMBER: (
        "Decimal(entry) if entry.replace('.', '', 1).isdecimal() and entry.isascii()"
        " and len(entry) <= PLAIN_LENGTH else {read}(entry)"
    ),
    FormulaType.STRING: "entry if len(entry) <= MAX_STRING else {read}(entry)",
}


_OUT_OF_ORDER: Final = "return done, characters, False"
_LOOP: Final = f"""
def run(rows, keep, most):
 done = characters = 0
 try:
  for fields in rows:
   {{body}}
 except FAULTS:
  {_OUT_OF_ORDER}
 return done, characters, True
"""


class RowCompiler:
    """Builds the source of the function, line by line.

    `lookup` and `impact` answer the formulas from datasets; `identity` checks rows that are kept.
    """

    def __init__(self, lookup: object, impact: object, identity: IdentityCheck | None) -> None:
        self._lines: list[str] = []
        self._values: list[str] = []
        self._cells: list[str] = []
        self._identity = identity
        self._refers_earlier = False
        self._namespace: dict[str, object] = {
            "Decimal": Decimal,
            "FAULTS": FAULTS,
            "MAX_STRING": MAX_STRING,
            "PLAIN_LENGTH": PLAIN_LENGTH,
            # Rows have a limit each; all of them have none.
            "work": WorkMeter(sys.maxsize),
            "csv_cell": csv_cell,
            "number_text": number_text,
            "lookup": lookup,
            "impact": impact,
        }

    def compile(
        self,
        columns: Sequence[InputColumn],
        outputs: Sequence[OutputColumn],
        width: int | None = None,
    ) -> RowRoutine:
        """Compile the function; it wants `width` fields of each row, or any number of them."""
        self._refers_earlier = any(output.routine.refers_earlier for output in outputs)
        wrong = "fields is None" if width is None else f"fields is None or len(fields) != {width}"
        self._lines.append(f"if {wrong}: {_OUT_OF_ORDER}")
        for column in columns:
            self._add_column(column)
        if any(output.routine.metered for output in outputs):
            self._lines.append("work.begin_row()")
        if self._refers_earlier:
            self._lines += ["results = {}", "earlier = results.get"]
        referring = [n for n, output in enumerate(outputs) if output.routine.refers_earlier]
        for n, output in enumerate(outputs):
            self._add_output(output, is_referred=n < max(referring, default=0))
        self._lines.append(f"cells = [{', '.join(self._cells)}]")
        if self._identity is not None:
            self._add_identity(self._identity)
        sizes = " + ".join(f"len({cell})" for cell in self._cells)
        self._lines += [
            "keep(cells)",
            f"characters += {sizes or 0}",
            "done += 1",
            "if characters >= most: break",
        ]
        source = _LOOP.format(body="\n   ".join(self._lines))
        code = compile(source, "<rows>", "exec", dont_inherit=True, optimize=0)
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

    def _add_output(self, output: OutputColumn, *, is_referred: bool) -> None:
        n = len(self._cells)
        cell, key = f"cell{n}", f"key{n}"
        self._cells.append(cell)
        result = self._add_formula(n, output.routine)
        self._add_cell(n, output, result)
        if output.key is not None and is_referred:
            self._namespace[key] = output.key
            self._lines.append(f"results[{key}] = {cell} if type({result}) is tuple else {result}")

    def _add_cell(self, number: int, output: OutputColumn, result: str) -> None:
        """Add the lines that write a result as a cell."""
        cell, write = self._cells[number], f"write{number}"
        if output.write is not csv_cell:
            self._namespace[write] = output.write
            self._lines.append(f"{cell} = {write}({result})")
            return
        # Most numbers are written as they are; number_text looks for zeros and exponents.
        self._lines += [
            f"if type({result}) is Decimal:",
            f" {cell} = str({result})",
            f" if {cell}[-1] == '0' or 'E' in {cell}: {cell} = number_text({result})",
            f"else: {cell} = {result} if type({result}) is str else csv_cell({result})",
        ]

    def _add_identity(self, identity: IdentityCheck) -> None:
        """Add the line that ends the loop at a row that cannot be kept."""
        self._namespace |= {"accepts": identity.accepts, "usual_groups": identity.usual_groups}
        usual = identity.usual_source(self._cells)
        self._lines.append(f"if not ({usual} or accepts(cells)): {_OUT_OF_ORDER}")

    def _add_formula(self, number: int, routine: Routine) -> str:
        """Add the lines of a formula, or else a call; return the name of its result."""
        inlined = routine.inline(f"f{number}", self._values)
        if inlined is not None:
            self._namespace |= inlined.namespace
            self._lines += inlined.lines
            return inlined.result
        run, earlier = f"run{number}", "earlier" if self._refers_earlier else "None"
        self._namespace[run] = routine.run
        given = ", ".join([*self._values, "lookup", "impact", earlier, "work"])
        self._lines.append(f"result = {run}({given})")
        return "result"
