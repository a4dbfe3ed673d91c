"""A formula ready to run: in threads of its own, with all that it calls and looks up at hand."""

from asyncio import get_running_loop
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeVar

from datastore.errors import Invalid, LimitExceeded
from datastore.formulas import field_problem
from datastore.lookups import Lookups
from formula.check import Surroundings
from formula.errors import Fault, FormulaFailure, FormulaInvalid
from formula.evaluate import Results, RowError, compile_formula, evaluate_rows
from formula.explain import Explanation, Part, explain
from formula.limits import MAX_BATCH_STEPS
from formula.values import Value, text_of

MAX_ROWS = 1_000
MAX_TEXT = 2_000_000
MAX_PARTS = 1_000
ROUNDS = 3
THREADS = 2

T = TypeVar("T")
Row = Mapping[str, object]

# Few threads: more would keep the event loop waiting for the interpreter's lock.
_THREADS: Final = ThreadPoolExecutor(THREADS, "formulas")


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A value for each row and the same as text; None where an error names the row."""

    values: tuple[Value, ...]
    texts: tuple[str | None, ...]
    errors: tuple[RowError, ...]


class Shown(NamedTuple):
    """A part of an explained formula, with its values as texts, `depth` levels below the lines.

    `parent` is the position of the part that it belongs to; `called` says that it stands in the
    formula of a calculation which that part calls.
    """

    part: Part
    depth: int
    parent: int | None
    called: bool
    text: str | None
    so_far: str | None


@dataclass(frozen=True, slots=True)
class Explained:
    """Every part of a formula, each before its own parts, and its value or why there is none."""

    parts: tuple[Shown, ...]
    value: Value
    text: str | None
    failure: FormulaFailure | None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A formula with all that it calls; `path` is where it stands in the input.

    Both methods raise Invalid with every problem of a formula that cannot be used, and
    LimitExceeded for more than is allowed.
    """

    text: str
    surroundings: Surroundings
    lookups: Lookups
    path: tuple[str, ...]

    async def evaluate(self, rows: Sequence[Row]) -> Evaluated:
        """Evaluate up to 1,000 rows; the error of one does not stop the others."""
        _bounded("rows", MAX_ROWS, len(rows))
        return await self._run(lambda: _written(self._evaluate(rows)))

    async def explain(self, row: Row) -> Explained:
        """Evaluate one row and give every intermediate value; a failure of it is in the answer."""
        return await self._run(
            lambda: _shown(explain(self.text, self.surroundings, row, self.lookups))
        )

    async def _run(self, work: Callable[[], T]) -> T:
        """Do the work in a thread, and again when it asked for data that was not read yet."""
        loop = get_running_loop()
        try:
            result = await loop.run_in_executor(_THREADS, work)
            for _ in range(ROUNDS):
                if not await self.lookups.read_missing():
                    break
                result = await loop.run_in_executor(_THREADS, work)
        except FormulaInvalid as invalid:
            problems = [field_problem(self.path, problem) for problem in invalid.problems]
            raise Invalid(problems) from None
        return result

    def _evaluate(self, rows: Sequence[Row]) -> Results:
        compiled = compile_formula(self.text, self.surroundings)
        try:
            return evaluate_rows(compiled, rows, self.lookups)
        except FormulaFailure:
            steps = max(1, compiled.steps) * len(rows)
            raise LimitExceeded("steps of all rows", MAX_BATCH_STEPS, steps, ["rows"]) from None


def _written(results: Results) -> Evaluated:
    """The results with the values as texts; a list that is too long as one is an error, too."""
    texts: list[str | None] = []
    values, errors = list(results.values), list(results.errors)
    failed = {error.row for error in errors}
    for number, value in enumerate(values):
        text = None
        try:
            text = None if number in failed or value is None else text_of(value)
        except Fault as fault:
            values[number] = None
            errors.append(RowError(number, None, fault.code, fault.message, None))
        texts.append(text)
    length = sum(len(text) for text in texts if text is not None)
    _bounded("characters of all values", MAX_TEXT, length)
    errors.sort(key=lambda error: error.row)
    return Evaluated(tuple(values), tuple(texts), tuple(errors))


def _shown(explanation: Explanation) -> Explained:
    parts: list[Shown] = []
    for line in explanation.lines:
        _flatten(line, 0, None, False, parts)
    texts = [text for shown in parts for text in (shown.text, shown.so_far) if text is not None]
    _bounded("parts of an explanation", MAX_PARTS, len(parts))
    _bounded("characters of all values", MAX_TEXT, sum(map(len, texts)))
    value = explanation.value
    return Explained(tuple(parts), value, _text(value), explanation.failure)


def _flatten(part: Part, depth: int, parent: int | None, called: bool, found: list[Shown]) -> None:
    place = len(found)
    so_far = None if part.so_far is None else _text(part.so_far)
    found.append(Shown(part, depth, parent, called, _text(part.value), so_far))
    for below, is_called in ((part.parts, False), (part.body, True)):
        for each in below:
            _flatten(each, depth + 1, place, is_called, found)


def _text(value: Value) -> str | None:
    """A value as text; None for null, and for a list that is too long as one."""
    try:
        return None if value is None else text_of(value)
    except Fault:
        return None


def _bounded(limit: str, maximum: int, actual: int) -> None:
    if actual > maximum:
        raise LimitExceeded(limit, maximum, actual, ["rows"])
