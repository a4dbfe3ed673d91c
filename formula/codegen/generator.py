"""Generates a Python function from a checked formula: one line for each operation."""

from collections.abc import Callable, Mapping
from functools import singledispatchmethod
from typing import Final, TypeAlias

from penstock.formula.checking.calculation_library import Callee
from penstock.formula.checking.dataset_uses import pin_of
from penstock.formula.checking.linker import LinkedFormula
from penstock.formula.codegen import lazy_forms
from penstock.formula.codegen.emitter import ExpressionEmitter, Operand, Routine
from penstock.formula.core import comparison, numbers
from penstock.formula.core.limits import MAX_STRING
from penstock.formula.core.row_inputs import binder
from penstock.formula.core.values import (
    SCALAR,
    FormulaParameter,
    ValueKind,
    kind_of,
    output_kind,
    python_types,
)
from penstock.formula.functions import text
from penstock.formula.functions.catalogue import FUNCTIONS, result_kind
from penstock.formula.syntax.tree import (
    COMPARISONS,
    Assign,
    CalculationCall,
    Chain,
    ChainStep,
    Expression,
    Formula,
    FunctionCall,
    Index,
    Literal,
    Name,
    Negate,
)

_ARITHMETIC: Final[Mapping[str, Callable[..., object]]] = {
    "+": numbers.add,
    "-": numbers.subtract,
    "*": numbers.multiply,
    "/": numbers.divide,
    "^": numbers.power,
}
_SAME: Final = frozenset((ValueKind.NUMBER, ValueKind.TEXT, ValueKind.BOOLEAN))
_USUAL_TYPES: Final = python_types(comparison.COMPARABLE)

CalledRoutines: TypeAlias = dict[str | None, Routine]
"""The routines of called calculations, by identity."""


def routine_for_rows(linked: LinkedFormula, traced: bool = False) -> Routine:
    """Return the routine that takes a function which reads a column, and converts the values."""
    generator = FormulaGenerator(linked, traced)
    for place, parameter in enumerate(linked.surroundings.parameters):
        generator.bind_parameter(f"p{place}", parameter)
    return generator.finish(["get"])


def routine_for_calls(
    linked: LinkedFormula, traced: bool = False, called: CalledRoutines | None = None
) -> Routine:
    """Return the routine that takes values of the parameters' kinds, as calls pass them.

    Formulas that share `called` share the routines of the calculations that they call.
    """
    parameters = linked.surroundings.parameters
    return FormulaGenerator(linked, traced, called).finish(
        [f"p{place}" for place in range(len(parameters))]
    )


class FormulaGenerator(ExpressionEmitter):
    """Writes one function; `operand` adds the lines of an expression and returns its variable."""

    def __init__(
        self, linked: LinkedFormula, traced: bool, called: CalledRoutines | None = None
    ) -> None:
        super().__init__()
        self._linked = linked
        self._traced = traced
        self._called: CalledRoutines = {} if called is None else called
        self._scope: dict[str, Operand] = {}
        for place, parameter in enumerate(linked.surroundings.parameters):
            self._scope[parameter.key] = Operand(f"p{place}", parameter.kind)

    @property
    def within(self) -> str | None:
        """The identity of the calculation that contains this formula, if it is one."""
        return self._linked.surroundings.within

    def bind_parameter(self, name: str, parameter: FormulaParameter) -> None:
        """Add the lines that read a parameter from the row."""
        key, bind = self.constant(parameter.key), self.constant(binder(parameter))
        if parameter.kind is ValueKind.TEXT:
            self.emit(f"{name} = get({key})", None)
            unlike = f"type({name}) is not str or len({name}) > {MAX_STRING}"
            empty = "" if parameter.type == "string" else f" or not {name}"
            self.emit(f"if {unlike}{empty}: {name} = {bind}({name})", None)
        else:
            self.emit(f"{name} = {bind}(get({key}))", None)

    def finish(self, parameters: list[str]) -> Routine:
        """Return the finished routine, which takes the parameters and then the environment.

        The environment: `lookup` and `impact` read datasets, `earlier` returns the value of an
        output above, `work` is the WorkMeter, and `seen` receives the values of traced parts.
        """
        result = self._lines(self._linked.formula)
        self.emit(f"return {result.name}", None)
        names = [*parameters, "lookup", "impact", "earlier", "work"]
        names += ["seen"] if self._traced else []
        return Routine(names, self, result.kind)

    def _lines(self, formula: Formula) -> Operand:
        for line in formula.lines[:-1]:
            if isinstance(line, Assign):
                self._scope[line.name] = self.operand(line.value)
        last = formula.lines[-1]
        if isinstance(last, Assign):
            raise TypeError("a checked formula ends in a value")
        result = self.operand(last)
        output = self._linked.surroundings.output
        return result if output is None else self.check_kind(result, output_kind(output), last.at)

    def operand(self, node: Expression) -> Operand:
        """Add the lines that compute an expression; return the variable with its value."""
        operand = self._operand(node)
        if self._traced:
            self.emit(f"seen[{self.constant(id(node))}] = {operand.name}", node.at)
        return operand

    @singledispatchmethod
    def _operand(self, node: Expression) -> Operand:
        raise TypeError(f"not an expression: {node!r}")

    @_operand.register
    def _literal(self, node: Literal) -> Operand:
        return Operand(self.constant(node.value), kind_of(node.value))

    @_operand.register
    def _name(self, node: Name) -> Operand:
        return self._scope[node.name]

    @_operand.register
    def _negate(self, node: Negate) -> Operand:
        operand = self.checked_operand(node.operand, ValueKind.NUMBER)
        target = self.new_variable()
        self.emit(f"{target} = {self.shared_name(numbers.negate)}({operand.name})", node.at)
        return Operand(target, ValueKind.NUMBER)

    @_operand.register
    def _index(self, node: Index) -> Operand:
        values = self.checked_operand(node.operand, ValueKind.LIST)
        target = self.new_variable()
        source = f"{self.shared_name(text.element)}({values.name}, {node.index})"
        self.emit(f"{target} = {source}", node.at)
        return Operand(target, SCALAR)

    @_operand.register
    def _chain(self, node: Chain) -> Operand:
        if node.steps[0].operator in COMPARISONS:
            return self._comparison(node)
        left = self.checked_operand(node.first, ValueKind.NUMBER)
        for step in node.steps:
            right = self.checked_operand(step.operand, ValueKind.NUMBER)
            target = self.new_variable()
            function = self.shared_name(_ARITHMETIC[step.operator])
            self.emit(f"{target} = {function}({left.name}, {right.name})", step.at)
            if step.operator == "*":
                pay = f"{self.shared_name(numbers.pay_for_product)}(work, {target})"
                self.emit(f"if {target}.__sizeof__() > {numbers.USUAL_SIZE}: {pay}", step.at)
            left = self._record_step(step, Operand(target, ValueKind.NUMBER))
        return left

    def _record_step(self, step: ChainStep, operand: Operand) -> Operand:
        if self._traced:
            self.emit(f"seen[{self.constant(id(step))}] = {operand.name}", step.at)
        return operand

    def _comparison(self, node: Chain) -> Operand:
        left = self.operand(node.first)
        for step in node.steps:
            right = self.operand(step.operand)
            if not (_is_short(node.first) or _is_short(step.operand)):
                self._pay_for_texts(left, right, step)
            left = self._compare_step(left, right, step)
        return left

    def _pay_for_texts(self, left: Operand, right: Operand, step: ChainStep) -> None:
        """Add the line that pays for comparing long texts, if both may be texts."""
        if left.kind & right.kind & ValueKind.TEXT:
            pay = f"{self.shared_name(comparison.payment_of(step.operator))}(work, "
            long = f"{left.name}.__sizeof__() > {comparison.USUAL_SIZE}"
            self.emit(f"if {long}: {pay}{left.name}, {right.name})", step.at)

    def _compare_step(self, left: Operand, right: Operand, step: ChainStep) -> Operand:
        target = self.new_variable()
        source = f"{left.name} {step.operator} {right.name}"
        if left.kind is not right.kind or left.kind not in _SAME:
            function = self.shared_name(comparison.COMPARE[step.operator])
            same = f"type({left.name}) is type({right.name}) in {self.shared_name(_USUAL_TYPES)}"
            source = f"{source} if {same} else {function}({left.name}, {right.name})"
        self.emit(f"{target} = {source}", step.at)
        return self._record_step(step, Operand(target, ValueKind.BOOLEAN))

    @_operand.register
    def _call(self, node: FunctionCall) -> Operand:
        form = lazy_forms.FORMS.get(node.name)
        return self._eager_call(node) if form is None else form(self, node)

    def _eager_call(self, node: FunctionCall) -> Operand:
        function = FUNCTIONS[node.name]
        slots = function.slots_for(len(node.arguments))
        operands = [
            self.checked_operand(a, slot.kinds)
            for a, slot in zip(node.arguments, slots, strict=True)
        ]
        names = [operand.name for operand in operands]
        given = {option.name: option.value for option in node.options}
        for slot in function.options:
            value = given.get(slot.name)
            wanted = slot.kinds | ValueKind.NULL
            names.append("None" if value is None else self.checked_operand(value, wanted).name)
        meter = ["work"] if function.metered else []
        target = self.new_variable()
        run = self.shared_name(function.run)
        self.emit(f"{target} = {run}({', '.join(meter + names)})", node.at)
        return Operand(target, result_kind(function, [o.kind for o in operands], {}))

    @_operand.register
    def _custom(self, node: CalculationCall) -> Operand:
        callee = Callee(node.name, pin_of(node.options))
        linked = self._linked.callees[callee]
        identity = linked.surroundings.within
        if identity not in self._called:
            self._called[identity] = routine_for_calls(linked, called=self._called)
        routine = self._called[identity]
        parameters = linked.surroundings.parameters
        names = ["None"] * len(parameters)
        for place, argument in enumerate(node.arguments):
            names[place] = self.checked_operand(argument, parameters[place].kind).name
        target = self.new_variable()
        call = self.shared_name(routine.as_call(node.name))
        environment = "lookup, impact, earlier, work"
        self.emit(f"{target} = {call}({', '.join([*names, environment])})", node.at)
        return Operand(target, routine.kind)


def _is_short(node: Expression) -> bool:
    """Whether a value stands in the formula, and comparing with it is soon over."""
    return isinstance(node, Literal) and len(str(node.value)) < comparison.SHORT_TEXT
