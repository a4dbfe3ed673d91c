"""Transforms a JSON list of objects, with JSON's types, for small numbers of rows."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

import msgspec

from penstock.formula.core.limits import MAX_BATCH_STEPS
from penstock.transform.header import names_of
from penstock.transform.outcome import Ending, Outcome, Written, headings
from penstock.transform.problems import Code, Problem
from penstock.transform.program import Program

_DECODER: Final = msgspec.json.Decoder(list[dict[str, Any]], float_hook=Decimal)


class JsonTransform:
    """A list of objects, each a row; a parameter's value is found by its label or key.

    A missing value is null. The list is held in memory until its end, and refused where its cost is
    more than a request may take, because the process also answers other requests.
    """

    def __init__(self, program: Program, max_failed: int | None = None) -> None:
        self._program = program
        self._names = names_of(program.columns)
        self._outcome = Outcome(max_failed)
        self._data = bytearray()

    @property
    def ending(self) -> Ending:
        return self._outcome.ending(len(self._data))

    def feed(self, data: bytes) -> Written:
        self._data += data
        return Written()

    def finish(self) -> Written:
        try:
            rows = _DECODER.decode(self._data)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            message = f"the rows are no list of objects: {error}"
            self._outcome.refuse(Problem(0, "", Code.INVALID_ROWS, message))
            rows = []
        self._require_few_steps(len(rows))
        for number, row in enumerate(rows, start=1):
            if self._outcome.refusal is None:
                self._take(number, row)
        return self._outcome.take(headings(self._program.headings))

    def _require_few_steps(self, rows: int) -> None:
        steps = rows * self._program.cost
        if steps > MAX_BATCH_STEPS:
            message = f"{rows} rows take {steps} steps, more than {MAX_BATCH_STEPS}; send a file"
            self._outcome.refuse(Problem(0, "", Code.TOO_MANY_STEPS, message))

    def _take(self, number: int, row: Mapping[str, object]) -> None:
        entries: list[object] = [None] * len(self._program.columns)
        given: set[int] = set()
        problems: list[Problem] = []
        for name, entry in row.items():
            place = self._names.get(name.strip())
            if place is None:
                message = f"no parameter is called {name[:100]!r}"
                problems.append(Problem(number, name[:100], Code.UNKNOWN_COLUMN, message))
            elif place in given:
                key = self._program.columns[place].key
                message = f"the row has {key!r} twice, by its key and by its label"
                problems.append(Problem(number, key, Code.DUPLICATE_COLUMN, message))
            else:
                given.add(place)
                entries[place] = entry
        if problems:
            self._outcome.fail(problems)
        else:
            self._outcome.take_row(self._program, number, entries)
