"""Infers the kinds of value of each part of a formula, and collects its problems."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from difflib import get_close_matches
from functools import singledispatchmethod
from typing import Final

from penstock.formula.checking.calculation_library import (
    CalculationLibrary,
    Callee,
    ResolvedCalculation,
)
from penstock.formula.checking.dataset_uses import (
    DatasetUse,
    dataset_use,
    pin_of,
    pin_problems,
    text_at,
)
from penstock.formula.checking.literals import literal_problems
from penstock.formula.core.comparison import may_compare
from penstock.formula.core.errors import START, FormulaCode, FormulaProblem, Position, problem
from penstock.formula.core.values import (
    ANY,
    SCALAR,
    FormulaParameter,
    ValueKind,
    in_words,
    kind_of,
    output_kind,
)
from penstock.formula.functions.catalogue import (
    FUNCTIONS,
    PIN_OPTIONS,
    UNSUPPORTED,
    Function,
    Slot,
    result_kind,
)
from penstock.formula.syntax.tree import (
    COMPARISONS,
    CalculationCall,
    Chain,
    ChainStep,
    Expression,
    FunctionCall,
    Index,
    Literal,
    Name,
    Negate,
    Option,
)

MAX_PROBLEMS: Final = 50
_MAX_SUGGESTIONS: Final = 10
_MAX_CANDIDATES: Final = 100


class FormulaScope:
    """The names in force at a line, and the problems (at most 50), calls and datasets so far."""

    def __init__(self, text: str, parameters: Sequence[FormulaParameter]) -> None:
        self._text = text
        self._parameters = {parameter.key: parameter.kind for parameter in parameters}
        self._variables: dict[str, ValueKind] = {}
        self._suggestions = 0
        self.used: set[str] = set()
        self.problems: list[FormulaProblem] = []
        self.calls: list[Callee] = []
        self.datasets: list[DatasetUse] = []

    def report(self, code: FormulaCode, message: str, at: Position | None) -> None:
        """Add a problem; one that is not of a place in the text shows no excerpt of it."""
        if len(self.problems) < MAX_PROBLEMS:
            if at is None:
                self.problems.append(FormulaProblem(code, message, START))
            else:
                self.problems.append(problem(self._text, code, message, at))

    def assign(self, name: str, kind: ValueKind, at: Position) -> None:
        if name in self._parameters:
            message = f":{name} is a parameter; a variable needs another name"
            self.report(FormulaCode.SHADOWED_PARAMETER, message, at)
        self._variables[name] = kind

    def kind_of(self, name: str, at: Position) -> ValueKind | None:
        """Return the kinds that a name may hold; None and a problem for an unknown name."""
        if name in self._parameters:
            self.used.add(name)
            return self._parameters[name]
        if name not in self._variables:
            known = (*self._parameters, *self._variables)
            hint = self.suggestion(name, known, ":")
            message = f"no parameter or variable is called :{name}{hint}"
            self.report(FormulaCode.UNDECLARED_PARAMETER, message, at)
            return None
        return self._variables[name]

    def suggestion(self, name: str, known: Iterable[str], mark: str = "") -> str:
        """Return `; did you mean ...?` with the nearest known name, or an empty text."""
        near = [one for one in known if abs(len(one) - len(name)) <= 2][:_MAX_CANDIDATES]
        if self._suggestions >= _MAX_SUGGESTIONS or len(name) > 60:
            return ""
        self._suggestions += 1
        folded = {one.lower(): one for one in reversed(near)}
        found = get_close_matches(name.lower(), folded, n=1, cutoff=0.6)
        return f"; did you mean {mark}{folded[found[0]]}?" if found else ""


_CALL_OPTIONS = (*PIN_OPTIONS, "tenant")


class KindInference:
    """Infers the kinds of expressions and reports problems to the scope."""

    def __init__(
        self,
        scope: FormulaScope,
        library: CalculationLibrary,
        within: str | None,
        earlier: Set[str] | None,
    ) -> None:
        self._scope = scope
        self._library = library
        self._within = within
        self._earlier = earlier

    @singledispatchmethod
    def kind_of(self, node: Expression) -> ValueKind:
        """Return the kinds of value that the expression may have."""
        raise TypeError(f"not an expression: {node!r}")

    @kind_of.register
    def _literal(self, node: Literal) -> ValueKind:
        return kind_of(node.value)

    @kind_of.register
    def _name(self, node: Name) -> ValueKind:
        return self._scope.kind_of(node.name, node.at) or ANY

    @kind_of.register
    def _negate(self, node: Negate) -> ValueKind:
        self._require_kind(node.operand, ValueKind.NUMBER)
        return ValueKind.NUMBER

    @kind_of.register
    def _index(self, node: Index) -> ValueKind:
        self._require_kind(node.operand, ValueKind.LIST)
        is_split = isinstance(node.operand, FunctionCall) and node.operand.name == "SPLIT"
        return ValueKind.TEXT if is_split else SCALAR

    @kind_of.register
    def _chain(self, node: Chain) -> ValueKind:
        if node.steps[0].operator not in COMPARISONS:
            for operand in (node.first, *(step.operand for step in node.steps)):
                self._require_kind(operand, ValueKind.NUMBER)
            return ValueKind.NUMBER
        left = self.kind_of(node.first)
        for step in node.steps:
            self._compare(left, step)
            left = ValueKind.BOOLEAN
        return left

    def _compare(self, left: ValueKind, step: ChainStep) -> None:
        right = self.kind_of(step.operand)
        if not may_compare(step.operator, left, right):
            message = f"{in_words(left)} cannot be compared with {in_words(right)}"
            self._scope.report(FormulaCode.WRONG_TYPE, message, step.at)

    @kind_of.register
    def _call(self, node: FunctionCall) -> ValueKind:
        function = FUNCTIONS.get(node.name)
        if function is None:
            self._visit_all((*node.arguments, *(option.value for option in node.options)))
            self._report_unknown(node)
            return ANY
        options = self._options(node, function)
        if not function.takes(len(node.arguments)):
            self._visit_all(node.arguments)
            message = f"{node.name} does not take {_argument_count(len(node.arguments))}"
            message += f": it is written {function.signature}"
            self._scope.report(FormulaCode.WRONG_ARITY, message, node.at)
            return ANY
        slots = function.slots_for(len(node.arguments))
        kinds = [self._require_kind(a, s.kinds) for a, s in zip(node.arguments, slots, strict=True)]
        self._check_call(node, function)
        return result_kind(function, kinds, options)

    def _visit_all(self, nodes: Sequence[Expression]) -> None:
        for node in nodes:
            self.kind_of(node)

    def _report_unknown(self, node: FunctionCall) -> None:
        if node.name in UNSUPPORTED:
            message = f"{node.name} is not supported: {UNSUPPORTED[node.name]}"
            self._scope.report(FormulaCode.UNSUPPORTED_FUNCTION, message, node.at)
        else:
            hint = self._scope.suggestion(node.name, FUNCTIONS)
            message = f"there is no function {node.name[:60]}{hint}"
            self._scope.report(FormulaCode.UNKNOWN_FUNCTION, message, node.at)

    def _check_call(self, node: FunctionCall, function: Function) -> None:
        for code, message, at in literal_problems(node, function):
            self._scope.report(code, message, at)
        if function.pinned:
            self._scope.datasets.append(dataset_use(node))
        if node.name == "REF":
            for code, message, at in self._ref_problems(node):
                self._scope.report(code, message, at)

    def _ref_problems(self, node: FunctionCall) -> Iterator[tuple[FormulaCode, str, Position]]:
        output = text_at(node, 0)
        if self._earlier is None:
            message = "REF reads earlier outputs of a pipeline; there are none here"
            yield FormulaCode.UNSUPPORTED_FUNCTION, message, node.at
        elif output is not None and output not in self._earlier:
            hint = self._scope.suggestion(output, self._earlier)
            yield (
                FormulaCode.UNKNOWN_OUTPUT,
                f"no earlier output is called {output!r}{hint}",
                node.at,
            )

    def _options(self, node: FunctionCall, function: Function) -> Mapping[str, ValueKind]:
        known = {slot.name: slot for slot in function.options}
        pins = _CALL_OPTIONS if function.pinned else ()
        return self._check_options(node.name, node.options, known, pins)

    def _check_options(
        self, owner: str, options: Sequence[Option], known: Mapping[str, Slot], pins: Sequence[str]
    ) -> Mapping[str, ValueKind]:
        kinds: dict[str, ValueKind] = {}
        for option in options:
            slot = known.get(option.name)
            if option.name in kinds:
                message = f"the option `{option.name}` is given twice"
                self._scope.report(FormulaCode.DUPLICATE_OPTION, message, option.at)
            elif slot is None and option.name not in pins:
                hint = self._scope.suggestion(option.name, (*known, *pins))
                message = f"{owner} has no option `{option.name[:60]}`{hint}"
                self._scope.report(FormulaCode.UNKNOWN_OPTION, message, option.at)
            wanted = slot.kinds | ValueKind.NULL if slot else ANY
            kinds[option.name] = self._require_kind(option.value, wanted)
        if pins:
            for code, message, at in pin_problems(options):
                self._scope.report(code, message, at)
        return kinds

    @kind_of.register
    def _custom(self, node: CalculationCall) -> ValueKind:
        self._check_options(f"#{node.name}", node.options, {}, _CALL_OPTIONS)
        callee = Callee(node.name, pin_of(node.options))
        self._scope.calls.append(callee)
        signature = self._library.find_callee(callee, self._within)
        if signature is None:
            self._visit_all(node.arguments)
            message = f"no calculation #{node.name[:60]} can be seen from here"
            self._scope.report(FormulaCode.UNKNOWN_CALCULATION, message, node.at)
            return ANY
        return self._check_calculation_call(node, signature)

    def _check_calculation_call(
        self, node: CalculationCall, signature: ResolvedCalculation
    ) -> ValueKind:
        count, parameters = len(node.arguments), signature.parameters
        if not signature.required_count <= count <= len(parameters):
            self._visit_all(node.arguments)
            message = _arity_message(node.name, count, signature)
            self._scope.report(FormulaCode.WRONG_ARITY, message, node.at)
        else:
            for argument, parameter in zip(node.arguments, parameters, strict=False):
                self._require_argument(node.name, argument, parameter, signature.shown)
        return ANY if signature.output is None else output_kind(signature.output)

    def _require_argument(
        self, name: str, argument: Expression, parameter: FormulaParameter, shown: bool
    ) -> None:
        """Check an argument; of a calculation out of sight, the wanted type is not told."""
        if shown:
            self._require_kind(argument, parameter.kind)
        elif not self.kind_of(argument) & parameter.kind:
            message = f"#{name} cannot be used with this argument"
            self._scope.report(FormulaCode.WRONG_TYPE, message, argument.at)

    def _require_kind(self, node: Expression, wanted: ValueKind) -> ValueKind:
        kind = self.kind_of(node)
        if not kind & wanted:
            message = f"expected {in_words(wanted)}, found {in_words(kind)}"
            self._scope.report(FormulaCode.WRONG_TYPE, message, node.at)
        return kind


def _arity_message(name: str, count: int, signature: ResolvedCalculation) -> str:
    """Say which arguments the calculation takes, if the caller may see it."""
    if not signature.shown:
        return f"#{name} cannot be used with {_argument_count(count)}"
    keys = ", ".join(parameter.key for parameter in signature.parameters)
    return f"#{name} does not take {_argument_count(count)}: it is #{name}({keys})"


def _argument_count(count: int) -> str:
    return "1 argument" if count == 1 else f"{count or 'no'} arguments"
