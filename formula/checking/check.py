"""Finds all problems within one formula, without evaluating it.

Problems of the calculations it calls, such as circles and total cost, are found by `linker`.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from penstock.formula.checking.calculation_library import CalculationLibrary, Callee, NoLibrary
from penstock.formula.checking.dataset_uses import DatasetUse
from penstock.formula.checking.inference import FormulaScope, KindInference
from penstock.formula.core.errors import START, FormulaCode, FormulaProblem, Position
from penstock.formula.core.limits import MAX_PARAMETERS
from penstock.formula.core.values import (
    ANY,
    FormulaParameter,
    FormulaType,
    ValueKind,
    in_words,
    output_kind,
)
from penstock.formula.syntax.parser import is_writable
from penstock.formula.syntax.tree import Assign, Formula

_NO_LIBRARY: Final = NoLibrary()


class Surroundings(msgspec.Struct, frozen=True):
    """The declarations that a formula is checked against.

    `earlier` are the outputs that REF may read; it is None for a calculation, which has none.
    `library` finds calculations; `within` is the identity of the calculation being checked, if it
    is one.
    """

    parameters: tuple[FormulaParameter, ...] = ()
    output: FormulaType | None = None
    library: CalculationLibrary = _NO_LIBRARY
    within: str | None = None
    earlier: frozenset[str] | None = None


class CheckReport(msgspec.Struct, frozen=True):
    """The result of a check: the problems in the order of the text, and the formula's needs."""

    problems: tuple[FormulaProblem, ...]
    kind: ValueKind = ANY
    used: frozenset[str] = frozenset()
    calls: tuple[Callee, ...] = ()
    datasets: tuple[DatasetUse, ...] = ()


def check(formula: Formula, surroundings: Surroundings) -> CheckReport:
    """Check a parsed formula.

    Unused parameters are problems; a pipeline, whose transforms share parameters, ignores those
    that another transform's `used` contains.
    """
    scope = FormulaScope(formula.text, surroundings.parameters)
    _check_parameters(scope, surroundings.parameters)
    inference = KindInference(
        scope, surroundings.library, surroundings.within, surroundings.earlier
    )
    kind = _check_lines(formula, scope, inference)
    _check_output(scope, kind, formula.lines[-1].at, surroundings.output)
    for parameter in surroundings.parameters:
        if parameter.key not in scope.used:
            message = f"the parameter :{parameter.key} is not used"
            scope.report(FormulaCode.UNUSED_PARAMETER, message, START)
    problems = tuple(sorted(scope.problems, key=lambda one: one.at))
    calls, datasets = tuple(dict.fromkeys(scope.calls)), tuple(dict.fromkeys(scope.datasets))
    return CheckReport(problems, kind, frozenset(scope.used), calls, datasets)


def _check_parameters(scope: FormulaScope, parameters: Sequence[FormulaParameter]) -> None:
    if len(parameters) > MAX_PARAMETERS:
        message = f"more than {MAX_PARAMETERS} parameters are declared"
        scope.report(FormulaCode.FORMULA_TOO_COMPLEX, message, START)
    seen: set[str] = set()
    for key in (parameter.key for parameter in parameters):
        if key in seen:
            message = f"the parameter :{key} is declared twice"
            scope.report(FormulaCode.DUPLICATE_PARAMETER, message, START)
        elif not is_writable(key):
            message = (
                f"the parameter {key!r} cannot be written in a formula, as :name; give it a key of "
                "letters, digits and _, and put the heading into its label"
            )
            scope.report(FormulaCode.UNWRITABLE_PARAMETER, message, None)
        seen.add(key)


def _check_lines(formula: Formula, scope: FormulaScope, inference: KindInference) -> ValueKind:
    kind = ANY
    for number, line in enumerate(formula.lines, start=1):
        is_last = number == len(formula.lines)
        if isinstance(line, Assign):
            kind = inference.kind_of(line.value)
            scope.assign(line.name, kind, line.at)
            if is_last:
                message = "the last line must be a value, not a SET"
                scope.report(FormulaCode.NO_VALUE, message, line.at)
        else:
            kind = inference.kind_of(line)
            if not is_last:
                message = "the value of this line is not used: only the last line is the result"
                scope.report(FormulaCode.UNUSED_VALUE, message, line.at)
    return kind


def _check_output(
    scope: FormulaScope, kind: ValueKind, at: Position, output: FormulaType | None
) -> None:
    if output is not None and not kind & output_kind(output):
        wanted = in_words(output_kind(output))
        message = f"the output is declared as {output}, {wanted}; this is {in_words(kind)}"
        scope.report(FormulaCode.WRONG_TYPE, message, at)
