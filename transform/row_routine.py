"""Compiles a program and the places of its columns into functions for the rows of a file.

Most rows are in order: one loop computes their cells and does nothing else. It stops at a row that
is not in order, which is processed again, step by step, to find its problems.

No text of a plan enters the source: names are numbered, and values are passed in the namespace.
"""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Final, NamedTuple, TypeAlias

from penstock.formula.codegen.emitter import FAULTS, Routine
from penstock.formula.core.limits import MAX_STRING, WorkMeter
from penstock.formula.core.numbers import number_text
from penstock.formula.core.values import FormulaType, Value, ValueKind, text_of
from penstock.transform.column_values import PLAIN_LENGTH, InputColumn
from penstock.transform.row_identity import IdentityCheck


class RowsDone(NamedTuple):
    """The rows that a routine has done, the characters of their cells, and how it ended.

    Either all rows so far were `in_order`, or one more was taken that is not.
    """

    rows: int
    characters: int
    in_order: bool


Fields: TypeAlias = Sequence[str] | None
"""The fields of a row; None for one that has none or cannot be read."""

RowValues: TypeAlias = tuple[Value, ...]
"""The values of a row, one for each column."""


class RowOutOfOrder(Exception):
    """The row has other fields than the file's header."""


class RowRoutine(NamedTuple):
    """The functions of a file: both are for one thread at a time.

    `run` takes the values of rows, keeps the output cells of each, and returns what RowsDone
    describes; it ends with the rows, or once their cells have so many characters. `read` returns
    the values of the fields of a row; it raises a Fault, or RowOutOfOrder, for one that is not in
    order. `columns` are the columns by which the values of many rows are read at once.
    """

    run: Callable[[Iterator[RowValues], Callable[[list[str]], object], int], tuple[int, int, bool]]
    read: Callable[[Fields], RowValues]
    columns: Sequence[InputColumn]


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
    FormulaType.TIMESTAMP: "entry if 0 < len(entry) <= MAX_STRING else {read}(entry)",
}


_OUT_OF_ORDER: Final = "return done, characters, False"
_FUNCTIONS: Final = f"""
def run(rows, keep, most):
 done = characters = 0
 try:
  for {{values}} in rows:
   {{body}}
 except OUT_OF_ORDER:
  {_OUT_OF_ORDER}
 return done, characters, True

def read(fields):
 {{reading}}
 return {{values}}
"""


_EARLIER: Final = re.compile(r"\bearlier\((\w+)\)")
"""How a formula reads an earlier result; the name is that of the result's key."""


class FormulaBody(NamedTuple):
    """The lines of a formula, and the names of its result, for its cell and for later formulas."""

    lines: Sequence[str]
    result: str
    earlier: str

    @property
    def source(self) -> str:
        return "\n".join(self.lines)


class RowCompiler:
    """Builds the source of the function, line by line.

    `lookup` and `impact` answer the formulas from datasets; `identity` checks rows that are kept.
    """

    def __init__(self, lookup: object, impact: object, identity: IdentityCheck | None) -> None:
        self._lines: list[str] = []
        self._reading: list[str] = []
        self._values: list[str] = []
        self._cells: list[str] = []
        self._identity = identity
        self._earlier: dict[object, str] = {}
        self._namespace: dict[str, object] = {
            "Decimal": Decimal,
            "OUT_OF_ORDER": (*FAULTS, RowOutOfOrder),
            "RowOutOfOrder": RowOutOfOrder,
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
        """Compile the functions; rows have `width` fields each, or any number of them."""
        wrong = "fields is None" if width is None else f"fields is None or len(fields) != {width}"
        self._reading.append(f"if {wrong}: raise RowOutOfOrder")
        for column in columns:
            self._add_column(column)
        if any(output.routine.metered for output in outputs):
            self._lines.append("work.begin_row()")
        bodies = [self._body_of(n, output) for n, output in enumerate(outputs)]
        referring = [n for n, body in enumerate(bodies) if "earlier" in body.source]
        if referring:
            self._lines += ["results = {}", "earlier = results.get"]
        for n, (output, body) in enumerate(zip(outputs, bodies, strict=True)):
            self._lines += body.lines
            self._add_cell(n, output, body.result)
            if output.key is not None and n < max(referring, default=0):
                self._namespace[f"key{n}"] = output.key
                self._lines.append(f"results[key{n}] = {body.earlier}")
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
        source = _FUNCTIONS.format(
            values=f"({''.join(f'{value}, ' for value in self._values)})",
            body="\n   ".join(self._lines),
            reading="\n ".join(self._reading),
        )
        code = compile(source, "<rows>", "exec", dont_inherit=True, optimize=0)
        exec(code, self._namespace)  # noqa: S102 - the source holds numbered names only
        run, read = self._namespace["run"], self._namespace["read"]
        return RowRoutine(run, read, columns)  # type: ignore[arg-type]

    def _add_column(self, column: InputColumn) -> None:
        value, read = f"value{len(self._values)}", f"read{len(self._values)}"
        self._values.append(value)
        self._namespace[read] = column.read
        if column.place is None:
            self._reading.append(f"{value} = {read}(None)")
        else:
            found = _READ_BY_TYPE.get(column.type, "{read}(entry)").format(read=read)
            self._reading += [f"entry = fields[{column.place}]", f"{value} = {found}"]

    def _add_cell(self, number: int, output: OutputColumn, result: str) -> None:
        """Add the lines that write a result as a cell."""
        cell, write = f"cell{number}", f"write{number}"
        self._cells.append(cell)
        if output.write is not csv_cell:
            self._namespace[write] = output.write
            self._lines.append(f"{cell} = {write}({result})")
            return
        # Most numbers are written as they are; number_text looks for zeros and exponents.
        self._lines += [
            f"if type({result}) is Decimal:",
            f" {cell} = str({result})",
            f" if 'E' in {cell} or {cell}[-1] == '0' and ('.' in {cell} or {cell} == '-0'):"
            f" {cell} = number_text({result})",
            f"else: {cell} = {result} if type({result}) is str else csv_cell({result})",
        ]

    def _add_identity(self, identity: IdentityCheck) -> None:
        """Add the line that ends the loop at a row that cannot be kept."""
        self._namespace |= {"accepts": identity.accepts, "usual_groups": identity.usual_groups}
        usual = identity.usual_source(self._cells)
        self._lines.append(f"if not ({usual} or accepts(cells)): {_OUT_OF_ORDER}")

    def _body_of(self, number: int, output: OutputColumn) -> FormulaBody:
        """Return the lines of a formula, or else of its call; they know the results above it."""
        routine, prefix = output.routine, f"f{number}"
        inlined = routine.inline(prefix, self._values)
        if inlined is None:
            run, result = f"run{number}", f"result{number}"
            self._namespace[run] = routine.run
            earlier = "earlier" if routine.refers_earlier else "None"
            given = ", ".join([*self._values, "lookup", "impact", earlier, "work"])
            lines: Sequence[str] = [f"{result} = {run}({given})"]
        else:
            self._namespace |= inlined.namespace
            result = inlined.result
            lines = [_EARLIER.sub(self._earlier_result, line) for line in inlined.lines]
        if output.key is None:
            return FormulaBody(lines, result, result)
        if ValueKind.LIST not in routine.kind:
            self._earlier[output.key] = result
            return FormulaBody(lines, result, result)
        return FormulaBody(lines, result, f"cell{number} if type({result}) is tuple else {result}")

    def _earlier_result(self, found: re.Match[str]) -> str:
        """The result that a formula reads by its key, if that is known; else how it is read."""
        return self._earlier.get(self._namespace.get(found[1]), found[0])
