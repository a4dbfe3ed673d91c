"""A reference evaluator that walks a formula's tree; generated code must agree with it."""

from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_HALF_EVEN, Context, Decimal, localcontext

from penstock.formula.checking.calculation_library import Callee
from penstock.formula.checking.dataset_uses import pin_of
from penstock.formula.checking.linker import LinkedFormula
from penstock.formula.core.datasets import Datasets
from penstock.formula.core.errors import Fault, FormulaCode, FormulaFailure, Position
from penstock.formula.core.limits import WorkMeter
from penstock.formula.core.numbers import within_range
from penstock.formula.core.row_inputs import binder
from penstock.formula.core.values import (
    SCALAR,
    Scalar,
    Value,
    ValueKind,
    kind_of,
    output_kind,
    refuse,
    text_of,
)
from penstock.formula.functions.catalogue import FUNCTIONS
from penstock.formula.syntax.tree import (
    COMPARISONS,
    Assign,
    CalculationCall,
    Chain,
    ChainStep,
    Expression,
    FunctionCall,
    Index,
    Literal,
    Name,
    Negate,
)

ROOMY = Context(prec=30_000, rounding=ROUND_HALF_EVEN, Emin=-99_999, Emax=99_999)
OUT_OF_RANGE = "the number needs more than 1000 digits or is beyond 10^9999"


class ReferenceEvaluator:
    """Evaluates one formula for one row; every failure is a FormulaFailure with its place."""

    def __init__(
        self,
        linked: LinkedFormula,
        datasets: Datasets,
        earlier: Mapping[str, Scalar],
        work: WorkMeter,
    ) -> None:
        self.linked = linked
        self.datasets = datasets
        self.earlier = earlier
        self.work = work
        self.names: dict[str, Value] = {}

    def for_row(self, row: Mapping[str, object]) -> Value:
        for parameter in self.linked.surroundings.parameters:
            try:
                self.names[parameter.key] = binder(parameter)(row.get(parameter.key))
            except Fault as fault:
                raise FormulaFailure(fault.code, fault.message, None, fault.column) from None
        return self.result()

    def result(self) -> Value:
        *before, last = self.linked.formula.lines
        for line in before:
            assert isinstance(line, Assign)
            self.names[line.name] = self.value(line.value)
        assert not isinstance(last, Assign)
        value = self.value(last)
        output = self.linked.surroundings.output
        if output is not None:
            self.with_position(last.at, lambda: require(value, output_kind(output)))
        return value

    def with_position(self, at: Position, compute: Callable[[], Value]) -> Value:
        try:
            return compute()
        except Fault as fault:
            raise FormulaFailure(fault.code, fault.message, at, fault.column) from None

    def checked_value(self, node: Expression, kinds: ValueKind) -> Value:
        value = self.value(node)
        return self.with_position(node.at, lambda: require(value, kinds))

    def number(self, node: Expression) -> Decimal:
        value = self.checked_value(node, ValueKind.NUMBER)
        assert isinstance(value, Decimal)
        return value

    def value(self, node: Expression) -> Value:
        match node:
            case Literal() | Name():
                return node.value if isinstance(node, Literal) else self.names[node.name]
            case Negate():
                operand = self.number(node.operand)
                return self.with_position(node.at, lambda: exact(Decimal(0), "-", operand))
            case Index():
                values = self.checked_value(node.operand, ValueKind.LIST)
                assert isinstance(values, tuple)
                return self.with_position(node.at, lambda: element(values, node.index))
            case Chain():
                return self.chain(node)
            case FunctionCall():
                return self.call(node)
            case CalculationCall():
                return self.custom(node)

    def chain(self, node: Chain) -> Value:
        if node.steps[0].operator in COMPARISONS:
            value = self.value(node.first)
            for step in node.steps:
                value = self.compare(value, step)
            return value
        number = self.number(node.first)
        for step in node.steps:
            number = self.calculate(number, step)
        return number

    def compare(self, left: Value, step: ChainStep) -> Value:
        right = self.value(step.operand)
        return self.with_position(step.at, lambda: compare(left, step.operator, right))

    def calculate(self, left: Decimal, step: ChainStep) -> Decimal:
        right = self.number(step.operand)
        found = self.with_position(step.at, lambda: arithmetic(left, step.operator, right))
        assert isinstance(found, Decimal)
        return found

    def call(self, node: FunctionCall) -> Value:
        options = {option.name: option.value for option in node.options}
        match node.name:
            case "IF":
                chosen = 1 if self.checked_value(node.arguments[0], ValueKind.BOOLEAN) else 2
                return self.value(node.arguments[chosen])
            case "COALESCE" | "IFNULL":
                return self.coalesce(node)
            case "AND" | "OR":
                return self.logical(node)
            case "SWITCH":
                return self.switch(node, options)
            case "IMPACT" | "LOOKUP" | "REF":
                return self.data(node)
            case _:
                return self.eager(node, options)

    def coalesce(self, node: FunctionCall) -> Value:
        for argument in node.arguments:
            value = self.value(argument)
            if value is not None:
                return value
        return None

    def logical(self, node: FunctionCall) -> Value:
        for argument in node.arguments:
            value = self.checked_value(argument, ValueKind.BOOLEAN)
            if value is (node.name == "OR"):
                return value
        return node.name == "AND"

    def switch(self, node: FunctionCall, options: Mapping[str, Expression]) -> Value:
        subject = text_of(
            self.checked_value(
                node.arguments[0], ValueKind.NUMBER | ValueKind.TEXT | ValueKind.BOOLEAN
            )
        )
        fold = False
        if "ignoreCase" in options:
            fold = bool(
                self.checked_value(options["ignoreCase"], ValueKind.BOOLEAN | ValueKind.NULL)
            )
        for case, result in zip(node.arguments[1::2], node.arguments[2::2], strict=True):
            value = self.checked_value(case, SCALAR)
            texts = (subject, text_of(value))
            if value is not None and (texts[0] == texts[1] or (fold and same_folded(*texts))):
                return self.value(result)
        if "default" in options:
            return self.value(options["default"])
        message = f"no case is {subject[:60]!r}, and there is no `default=`"
        raise FormulaFailure(FormulaCode.NO_CASE_MATCHES, message, node.at)

    def data(self, node: FunctionCall) -> Value:
        slots = FUNCTIONS[node.name].slots_for(len(node.arguments))
        values = [
            self.checked_value(argument, slot.kinds)
            for slot, argument in zip(slots, node.arguments, strict=True)
        ]
        return self.with_position(node.at, lambda: self.fetch_data(node, values))

    def fetch_data(self, node: FunctionCall, values: Sequence[Value]) -> Value:
        texts = [text_of(value) for value in values]
        pin = pin_of(node.options)
        if node.name == "REF":
            return self.earlier.get(texts[0])
        if node.name == "LOOKUP":
            if len(texts) == 2:
                return self.datasets.lookup(texts[0], texts[1], None, pin)
            value, dataset, column, output, *pairs = texts
            columns = (column, *pairs[1::2], output)
            key = (value, *pairs[::2]) if pairs else value
            return self.datasets.lookup(dataset, key, columns, pin)
        activity, impact, component = texts
        found = self.datasets.impact(activity, impact, component, pin)
        if found is None:
            path = ", ".join(map(repr, texts))
            raise Fault(FormulaCode.IMPACT_NOT_FOUND, f"there is no emission factor for {path}")
        return found

    def eager(self, node: FunctionCall, options: Mapping[str, Expression]) -> Value:
        function = FUNCTIONS[node.name]
        slots = function.slots_for(len(node.arguments))
        values = [
            self.checked_value(a, s.kinds) for a, s in zip(node.arguments, slots, strict=True)
        ]
        for slot in function.options:
            given = options.get(slot.name)
            values.append(
                None if given is None else self.checked_value(given, slot.kinds | ValueKind.NULL)
            )
        run = function.run
        assert run is not None
        meter = [self.work] if function.metered else []
        return self.with_position(node.at, lambda: run(*meter, *values))

    def custom(self, node: CalculationCall) -> Value:
        linked = self.linked.callees[Callee(node.name, pin_of(node.options))]
        called = ReferenceEvaluator(linked, self.datasets, self.earlier, self.work)
        parameters = linked.surroundings.parameters
        called.names = {parameter.key: None for parameter in parameters}
        for parameter, argument in zip(parameters, node.arguments, strict=False):
            called.names[parameter.key] = self.checked_value(argument, parameter.kind)
        try:
            return called.result()
        except FormulaFailure as failure:
            message = f"in #{node.name}, {failure.at}: {failure.message}"
            raise FormulaFailure(failure.code, message, node.at) from None


def require(value: Value, kinds: ValueKind) -> Value:
    if kind_of(value) not in kinds:
        refuse(value, kinds)
    return value


def element(values: tuple[Scalar, ...], index: int) -> Scalar:
    if index < len(values):
        return values[index]
    message = f"there is no element [{index}] in a list of {len(values)}"
    raise Fault(FormulaCode.INDEX_OUT_OF_RANGE, message)


def same_folded(left: str, right: str) -> bool:
    return len(left) == len(right) and left.lower() == right.lower()


def exact(left: Decimal, operator: str, right: Decimal) -> Decimal:
    with localcontext(ROOMY):
        result = {"+": left + right, "-": left - right, "*": left * right}[operator]
    if not within_range(result):
        raise Fault(FormulaCode.NUMBER_OUT_OF_RANGE, OUT_OF_RANGE)
    return result


def arithmetic(left: Decimal, operator: str, right: Decimal) -> Decimal:
    if operator in "+-*":
        return exact(left, operator, right)
    if operator == "/":
        if right == 0:
            raise Fault(FormulaCode.DIVISION_BY_ZERO, "division by zero")
        with localcontext(ROOMY) as context:
            context.prec = 34
            return within(left / right)
    if not -9999 <= right <= 9999:
        raise Fault(FormulaCode.EXPONENT_TOO_LARGE, "the exponent is beyond 9999")
    if left == 0 and right <= 0:
        raise Fault(FormulaCode.UNDEFINED_POWER, "zero has no power of zero or below")
    if left < 0 and int(right) != right:
        raise Fault(FormulaCode.UNDEFINED_POWER, "a negative number has no fractional power")
    with localcontext(ROOMY) as context:
        context.prec = 34
        context.clear_traps()
        return within(left**right)


def within(number: Decimal) -> Decimal:
    if not within_range(number) or (number != 0 and number.adjusted() < -9999):
        raise Fault(FormulaCode.NUMBER_OUT_OF_RANGE, OUT_OF_RANGE)
    return number


def compare(left: Value, operator: str, right: Value) -> bool:
    if operator in {"==", "!="} and (left is None or right is None):
        return (left is right) is (operator == "==")
    if left is None or right is None:
        raise Fault(FormulaCode.NULL_OPERAND, "null has no order; only == and != take it")
    kinds = kind_of(left), kind_of(right)
    if kinds[0] != kinds[1] or kinds[0] == ValueKind.LIST:
        words = [WORDS[kind] for kind in kinds]
        raise Fault(FormulaCode.WRONG_TYPE, f"{words[0]} cannot be compared with {words[1]}")
    below = left < right  # type: ignore[operator]
    answers = {
        "==": left == right,
        "!=": left != right,
        "<": below,
        "<=": below or left == right,
        ">": not below and left != right,
        ">=": not below,
    }
    return answers[operator]


WORDS = {
    ValueKind.NUMBER: "a number",
    ValueKind.TEXT: "text",
    ValueKind.BOOLEAN: "true or false",
    ValueKind.LIST: "a list",
}
