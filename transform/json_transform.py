"""Transforms a JSON list of objects, with JSON's types, for small numbers of rows."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

import msgspec

from penstock.formula.core.limits import MAX_BATCH_STEPS, WorkMeter
from penstock.transform.header import HOW_TO_IGNORE, columns_by_heading
from penstock.transform.outcome import FULL, OutputChunk, RowRunner, TransformEnding, headings
from penstock.transform.problems import TransformCode, TransformProblem
from penstock.transform.program import Program

SLICE_STEPS: Final = 20_000
"""The operations of the rows that are processed at once."""

_DECODER: Final = msgspec.json.Decoder(list[dict[str, Any]], float_hook=Decimal)


class JsonTransform:
    """A list of objects, each a row; a parameter's value is found by its label or key.

    A missing value is null. The list is held in memory until its end. It is refused where its cost
    or its results are more than a request may take, because the process also answers other
    requests. At the end of the data, it takes some rows at a time, so that others have their turns.
    """

    def __init__(self, program: Program, max_failed: int | None = None) -> None:
        self._program = program
        self._names = columns_by_heading(program.columns)
        self._meter = WorkMeter()
        self._outcome = RowRunner(max_failed, meter=self._meter)
        self._data = bytearray()
        self._rows: Sequence[Mapping[str, object]] | None = None
        self._at = 0

    @property
    def ending(self) -> TransformEnding:
        return self._outcome.ending(len(self._data))

    def feed(self, data: bytes) -> OutputChunk:
        self._data += data
        return OutputChunk()

    def finish(self) -> OutputChunk:
        try:
            rows = _DECODER.decode(self._data)
        except (msgspec.DecodeError, UnicodeDecodeError):
            message = "the rows are no list of objects"
            self._outcome.refuse(TransformProblem(0, "", TransformCode.INVALID_ROWS, message))
            rows = []
        self._require_few_steps(len(rows))
        self._rows = rows
        return self.take_more()

    @property
    def has_more(self) -> bool:
        return self._rows is not None

    def take_more(self) -> OutputChunk:
        """Process some rows; return the output of all of them after the last one."""
        rows = self._rows or ()
        end = self._at + max(1, SLICE_STEPS // max(1, self._program.cost))
        for row in rows[self._at : end]:
            if self._outcome.refusal is not None:
                break
            self._at += 1
            self._process_row(self._at, row)
            self._require_little_output(self._at)
        if self._outcome.refusal is None and self._at < len(rows):
            return OutputChunk()
        self._rows = None
        keys = [column.key for column in self._program.columns]
        return self._outcome.take_output(headings(self._program.headings, keys))

    def take_spent(self, size: int) -> int:
        """Return how often `size` units of work were spent since the last such call."""
        return self._meter.take_spent(size)

    def _require_few_steps(self, rows: int) -> None:
        steps = rows * self._program.cost
        if steps > MAX_BATCH_STEPS:
            message = f"{rows} rows take {steps} steps, more than {MAX_BATCH_STEPS}; send a file"
            self._outcome.refuse(TransformProblem(0, "", TransformCode.TOO_MANY_STEPS, message))

    def _require_little_output(self, row: int) -> None:
        if self._outcome.is_full:
            message = f"the rows up to here have more than {FULL} bytes of results; send a file"
            self._outcome.refuse(TransformProblem(row, "", TransformCode.OUTPUT_TOO_LARGE, message))

    def _process_row(self, number: int, row: Mapping[str, object]) -> None:
        entries: list[object] = [None] * len(self._program.columns)
        given: set[int] = set()
        problems: list[TransformProblem] = []
        for name, entry in row.items():
            place = self._names.get(name.strip())
            if place is None and self._program.ignores_extra:
                continue
            if place is None:
                message = f"no parameter is called {name[:100]!r}. {HOW_TO_IGNORE}"
                problems.append(
                    TransformProblem(number, name[:100], TransformCode.UNKNOWN_COLUMN, message)
                )
            elif place in given:
                key = self._program.columns[place].key
                message = f"the row has {key!r} twice, by its key and by its label"
                problems.append(
                    TransformProblem(number, key, TransformCode.DUPLICATE_COLUMN, message)
                )
            else:
                given.add(place)
                entries[place] = entry
        if problems:
            self._outcome.fail(problems, _texts(entries))
        else:
            self._outcome.run_row(self._program, number, entries, _texts(entries))


def _texts(entries: Sequence[object]) -> list[str]:
    """Return the entries as the file of errors shows them."""
    return ["" if entry is None else _text(entry) for entry in entries]


def _text(entry: object) -> str:
    if isinstance(entry, str | Decimal):
        return str(entry)
    return msgspec.json.encode(entry).decode()
