"""A formula ready to run: in threads of its own, with all that it calls and looks up at hand."""

from asyncio import get_running_loop
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple, TypeVar

from penstock.datastore.errors import Invalid, LimitExceeded
from penstock.datastore.formulas.checks import field_problem
from penstock.datastore.resources.dataset_prefetch import Lookups
from penstock.formula.checking.check import Surroundings
from penstock.formula.core.errors import Fault, FormulaFailure, FormulaInvalid
from penstock.formula.core.limits import MAX_BATCH_STEPS, Work
from penstock.formula.core.values import Value, text_of
from penstock.formula.evaluate import Compiled, Results, RowError, compile_formula, steps_of
from penstock.formula.explain import Explanation, Part, explain

MAX_ROWS = 1_000
MAX_TEXT = 2_000_000
MAX_PARTS = 1_000
ROUNDS = 3
THREADS = 2
SLICE = 50

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
        compiled = await self._checked(_aside(self._compiled))
        _bounded("steps of all rows", MAX_BATCH_STEPS, steps_of(compiled, len(rows)))
        return await self._again(lambda: self._evaluated(compiled, rows))

    async def explain(self, row: Row) -> Explained:
        """Evaluate one row and give every intermediate value; a failure of it is in the answer."""
        explained = partial(explain, self.text, self.surroundings, row, self.lookups)
        return await self._again(lambda: self._checked(_aside(lambda: _shown(explained()))))

    def _compiled(self) -> Compiled:
        return compile_formula(self.text, self.surroundings)

    async def _evaluated(self, compiled: Compiled, rows: Sequence[Row]) -> Evaluated:
        """Evaluate some rows at a time: others get their turn, and who is gone is not served."""
        work, parts = Work(), []
        for start in range(0, len(rows), SLICE):
            part = rows[start : start + SLICE]
            run = partial(compiled.run_all, part, self.lookups, work, start)
            parts.append(await _aside(run))
        return await _aside(partial(_written, parts))

    async def _checked(self, work: Awaitable[T]) -> T:
        """What the work gives; its problems are those of the place in the input."""
        try:
            return await work
        except FormulaInvalid as invalid:
            problems = [field_problem(self.path, problem) for problem in invalid.problems]
            raise Invalid(problems) from None

    async def _again(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do the work, and again when it asked for data that was not read yet."""
        result = await work()
        for _ in range(ROUNDS):
            if not await self.lookups.read_missing():
                break
            result = await work()
        return result


async def _aside(work: Callable[[], T]) -> T:
    return await get_running_loop().run_in_executor(_THREADS, work)


def _written(parts: Sequence[Results]) -> Evaluated:
    """The results with the values as texts; a list that is too long as one is an error, too."""
    texts: list[str | None] = []
    values = [value for part in parts for value in part.values]
    errors = [error for part in parts for error in part.errors]
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
