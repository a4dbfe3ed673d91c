"""Links a formula with all calculations it calls, checks them, and bounds their cost."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Final

import msgspec

from penstock.formula.checking.calculation_library import (
    CalculationLibrary,
    Callee,
    ResolvedCalculation,
    ResolvedCall,
    find_cycle,
)
from penstock.formula.checking.check import CheckReport, Surroundings, check
from penstock.formula.checking.dataset_uses import pin_of
from penstock.formula.core.errors import (
    FormulaCode,
    FormulaInvalid,
    FormulaProblem,
    FormulaSyntax,
    Position,
    problem,
)
from penstock.formula.core.limits import (
    MAX_CALCULATIONS,
    MAX_CALL_DEPTH,
    MAX_CALLED_TEXT,
    MAX_STEPS,
)
from penstock.formula.functions.catalogue import FUNCTIONS
from penstock.formula.syntax.parser import parse
from penstock.formula.syntax.tree import (
    CalculationCall,
    Chain,
    ChainStep,
    Formula,
    FunctionCall,
    Literal,
    Name,
    Negate,
    walk,
)

_POWER_COST: Final = 50
_ARGUMENTS_OF_A_STEP: Final = 3  # so many arguments take about as long as an operation
_ROOT_COST: Final = 250  # a fractional power takes about as long as this many operations
_CALL_COST: Final = 3
_THIS: Final = "this formula"
_UNSEEN: Final = "a calculation out of sight"


class LinkedFormula(msgspec.Struct, frozen=True):
    """A usable formula; `steps` bounds the operations of one row, calculations included."""

    formula: Formula
    surroundings: Surroundings
    callees: Mapping[Callee, "LinkedFormula"]
    steps: int
    depth: int  # calculations below it, at most


class CalledFindings(msgspec.Struct, frozen=True):
    """The findings about called calculations, by identity, which formulas of one resource share.

    Without them, a calculation that many formulas call would be checked for each of them.
    """

    calls: dict[str, tuple[Callee, ...]] = msgspec.field(default_factory=dict)
    problems: dict[str, FormulaProblem | None] = msgspec.field(default_factory=dict)
    linked: dict[str, LinkedFormula] = msgspec.field(default_factory=dict)


def examine(
    text: str, surroundings: Surroundings | None = None, findings: CalledFindings | None = None
) -> CheckReport:
    """Return all problems of a formula, with those of the calculations it calls.

    A text that cannot be parsed gives a report with one problem. When a calculation is being saved,
    `surroundings.within` is its identity, and the library must return the new text for its own
    name; otherwise a calculation that calls itself is not detected.
    """
    around = surroundings or Surroundings()
    try:
        formula = parse(text)
    except FormulaSyntax as error:
        return CheckReport((error.problem,))
    report = check(formula, around)
    beyond = _Linker(formula, around, findings or CalledFindings()).problems()
    return msgspec.structs.replace(report, problems=(*report.problems, *beyond))


def link(
    formula: Formula, surroundings: Surroundings, findings: CalledFindings | None = None
) -> LinkedFormula:
    """Return the formula with the calculations it calls; raises FormulaInvalid if it is unusable.

    An unused parameter is allowed here; only `examine` reports it.
    """
    problems = [
        one
        for one in check(formula, surroundings).problems
        if one.code != FormulaCode.UNUSED_PARAMETER
    ]
    linker = _Linker(formula, surroundings, findings or CalledFindings())
    problems += linker.problems()
    if problems:
        raise FormulaInvalid(problems)
    return linker.linked_formula


def reachable_calls(
    formula: Formula,
    library: CalculationLibrary,
    within: str | None,
    known: dict[str, tuple[Callee, ...]] | None = None,
) -> tuple[ResolvedCall, ...]:
    """Return every call reached from a formula with the calculation it names, up to the limits.

    `known` collects the calls of each calculation.
    """
    calls = {} if known is None else known
    found: dict[tuple[str | None, Callee], ResolvedCall] = {}
    seen = {within}
    length = 0
    waiting = [(within, calls_of(formula))]
    while waiting:
        owner, callees = waiting.pop()
        for callee in callees:
            signature = library.find_callee(callee, owner)
            found[owner, callee] = ResolvedCall(owner, callee, signature)
            if signature is None or signature.identity in seen:
                continue
            seen.add(signature.identity)
            length += len(signature.formula)
            if len(seen) <= MAX_CALCULATIONS and length <= MAX_CALLED_TEXT:
                if signature.identity not in calls:
                    calls[signature.identity] = _calls_of_calculation(signature)
                waiting.append((signature.identity, calls[signature.identity]))
    return tuple(found.values())


def calls_of(formula: Formula) -> tuple[Callee, ...]:
    """Return the calculations that a formula names, each once, in the order of the text."""
    calls = (node for node in walk(formula) if isinstance(node, CalculationCall))
    return tuple(dict.fromkeys(Callee(node.name, pin_of(node.options)) for node in calls))


def _calls_of_calculation(signature: ResolvedCalculation) -> tuple[Callee, ...]:
    try:
        return calls_of(parse(signature.formula))
    except FormulaSyntax:
        return ()


class _Linker:
    """Links one formula; a calculation called several times is linked once."""

    def __init__(
        self, formula: Formula, surroundings: Surroundings, findings: CalledFindings
    ) -> None:
        self._formula = formula
        self._around = surroundings
        self._findings = findings
        self._calls = reachable_calls(
            formula, surroundings.library, surroundings.within, findings.calls
        )
        self._signatures = {
            (one.within, one.callee): one.signature for one in self._calls if one.signature
        }

    @property
    def linked_formula(self) -> LinkedFormula:
        return self._link(self._formula, self._around, 0)

    def problems(self) -> Iterator[FormulaProblem]:
        """Yield the problems of the calls; the first circle or exceeded limit is the only one."""
        circle = find_cycle(self._graph())
        if circle:
            message = f"the calls go in a circle: {' -> '.join(map(self._name, circle))}"
            yield self._at_call(FormulaCode.CALCULATION_CYCLE, message)
        elif self._is_large():
            message = f"more than {MAX_CALCULATIONS} calculations are called, or too long ones"
            yield self._at_call(FormulaCode.FORMULA_TOO_COMPLEX, message)
        else:
            yield from self._invalid_calculations() or self._cost_problems()

    def _is_large(self) -> bool:
        called = self._identities().values()
        length = sum(len(signature.formula) for signature in called)
        return len(called) > MAX_CALCULATIONS or length > MAX_CALLED_TEXT

    def _identities(self) -> Mapping[str, ResolvedCalculation]:
        return {signature.identity: signature for signature in self._signatures.values()}

    def _graph(self) -> Mapping[str, list[str]]:
        graph: defaultdict[str, list[str]] = defaultdict(list)
        for (owner, _), signature in self._signatures.items():
            graph[owner or ""].append(signature.identity)
        return graph

    def _name(self, identity: str) -> str:
        """Return the name by which a visible formula calls a calculation."""
        known = self._identities()
        if identity not in known:
            return _THIS
        for (owner, callee), signature in self._signatures.items():
            around = known.get(owner or "")
            if signature.identity == identity and (around is None or around.shown):
                return f"#{callee.name}"
        return _UNSEEN

    def _at_call(self, code: FormulaCode, message: str) -> FormulaProblem:
        """Return a problem at the formula's first call, as it is unknown which call leads there."""
        calls = (node.at for node in walk(self._formula) if isinstance(node, CalculationCall))
        return problem(self._formula.text, code, message, next(calls, Position(1, 1)))

    def _invalid_calculations(self) -> list[FormulaProblem]:
        problems = []
        for identity, signature in self._identities().items():
            reason = self._first_problem(signature) if identity != self._around.within else None
            if reason:
                message = f"{self._name(identity)} cannot be used"
                if self._is_shown(signature):
                    message += f": {reason.at}: {reason.message}"
                problems.append(self._at_call(FormulaCode.INVALID_CALCULATION, message))
        return problems

    def _is_shown(self, signature: ResolvedCalculation) -> bool:
        """Whether problems in a calculation, or in its calls, may be quoted to the reader."""
        called = (
            one for (owner, _), one in self._signatures.items() if owner == signature.identity
        )
        return signature.shown and all(one.shown for one in called)

    def _first_problem(self, signature: ResolvedCalculation) -> FormulaProblem | None:
        known = self._findings.problems
        if signature.identity not in known:
            known[signature.identity] = self._find_first_problem(signature)
        return known[signature.identity]

    def _find_first_problem(self, signature: ResolvedCalculation) -> FormulaProblem | None:
        try:
            report = check(parse(signature.formula), self._surroundings_of(signature))
        except FormulaSyntax as error:
            return error.problem
        return next((p for p in report.problems if p.code != FormulaCode.UNUSED_PARAMETER), None)

    def _surroundings_of(self, signature: ResolvedCalculation) -> Surroundings:
        library, identity = self._around.library, signature.identity
        return Surroundings(signature.parameters, signature.output, library, identity)

    def _cost_problems(self) -> Iterator[FormulaProblem]:
        if not all(one.signature for one in self._calls):
            return
        try:
            linked = self.linked_formula
        except FormulaInvalid as error:
            yield from error.problems
            return
        if linked.steps > MAX_STEPS:
            message = f"the formula takes {linked.steps} steps for a row, more than {MAX_STEPS}"
            yield self._at_call(FormulaCode.FORMULA_TOO_COMPLEX, message)

    def _link(self, formula: Formula, around: Surroundings, level: int) -> LinkedFormula:
        callees = {}
        for callee in calls_of(formula) if level <= MAX_CALL_DEPTH else ():
            callees[callee] = self._link_calculation(
                self._signatures[around.within, callee], level + 1
            )
        depth = max((linked.depth + 1 for linked in callees.values()), default=0)
        if max(level, depth) > MAX_CALL_DEPTH:
            message = f"calculations call each other more than {MAX_CALL_DEPTH} deep"
            raise FormulaInvalid([self._at_call(FormulaCode.FORMULA_TOO_DEEP, message)])
        return LinkedFormula(formula, around, callees, _steps(formula, callees), depth)

    def _link_calculation(self, signature: ResolvedCalculation, level: int) -> LinkedFormula:
        known = self._findings.linked
        if signature.identity not in known:
            formula = parse(signature.formula)
            known[signature.identity] = self._link(formula, self._surroundings_of(signature), level)
        return known[signature.identity]


def _steps(formula: Formula, callees: Mapping[Callee, LinkedFormula]) -> int:
    steps = 0
    for node in walk(formula):
        match node:
            case Literal() | Name():
                pass
            case Chain():
                steps += sum(_power_cost(s) if s.operator == "^" else 1 for s in node.steps)
            case FunctionCall():
                function = FUNCTIONS.get(node.name)
                steps += function.cost if function else 0
                steps += len(node.arguments) // _ARGUMENTS_OF_A_STEP
            case CalculationCall():
                steps += _CALL_COST + callees[Callee(node.name, pin_of(node.options))].steps
            case _:
                steps += 1
    return steps


def _power_cost(step: ChainStep) -> int:
    exponent = step.operand.operand if isinstance(step.operand, Negate) else step.operand
    value = exponent.value if isinstance(exponent, Literal) else None
    whole = isinstance(value, Decimal) and value == value.to_integral_value()
    return _POWER_COST if whole else _ROOT_COST
