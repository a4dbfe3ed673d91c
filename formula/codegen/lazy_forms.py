"""Code for functions that read data or skip arguments: IF, SWITCH, LOOKUP and others."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Final, NoReturn

from penstock.formula.checking.dataset_uses import pin_of
from penstock.formula.codegen.emitter import ExpressionEmitter, Operand
from penstock.formula.core.comparison import USUAL_SIZE, pay_for_equality
from penstock.formula.core.errors import Fault, FormulaCode
from penstock.formula.core.limits import WorkMeter
from penstock.formula.core.values import SCALAR, SOMETHING, Scalar, ValueKind, python_types, text_of
from penstock.formula.functions.catalogue import FUNCTIONS, result_kind
from penstock.formula.functions.text import same_text
from penstock.formula.syntax.tree import FunctionCall

_SCALARS: Final = python_types(SCALAR)
_CASE_COST: Final = 50  # units of work to compare with a case, as much as an operation
_WRITTEN_AT_ONCE: Final = 4  # characters of a number that are written for a unit


def _if_form(code: ExpressionEmitter, node: FunctionCall) -> Operand:
    condition, then, otherwise = node.arguments
    tested = code.checked_operand(condition, ValueKind.BOOLEAN)
    target = code.new_variable()
    with code.block(f"if {tested.name}:", node.at):
        first = code.operand(then)
        code.emit(f"{target} = {first.name}", node.at)
    with code.block("else:", node.at):
        second = code.operand(otherwise)
        code.emit(f"{target} = {second.name}", node.at)
    return Operand(target, first.kind | second.kind)


def _coalesce_form(code: ExpressionEmitter, node: FunctionCall) -> Operand:
    target = code.new_variable()
    first = code.operand(node.arguments[0])
    code.emit(f"{target} = {first.name}", node.at)
    kinds = [first.kind]
    for argument in node.arguments[1:]:
        with code.block(f"if {target} is None:", node.at):
            operand = code.operand(argument)
            code.emit(f"{target} = {operand.name}", node.at)
        kinds.append(operand.kind)
    return Operand(target, result_kind(FUNCTIONS["COALESCE"], kinds, {}))


def _and_form(code: ExpressionEmitter, node: FunctionCall) -> Operand:
    return _short_circuit(code, node, "if {}:")


def _or_form(code: ExpressionEmitter, node: FunctionCall) -> Operand:
    return _short_circuit(code, node, "if not {}:")


def _short_circuit(code: ExpressionEmitter, node: FunctionCall, going_on: str) -> Operand:
    target = code.new_variable()
    first = code.checked_operand(node.arguments[0], ValueKind.BOOLEAN)
    code.emit(f"{target} = {first.name}", node.at)
    for argument in node.arguments[1:]:
        with code.block(going_on.format(target), node.at):
            operand = code.checked_operand(argument, ValueKind.BOOLEAN)
            code.emit(f"{target} = {operand.name}", node.at)
    return Operand(target, ValueKind.BOOLEAN)


def _switch_form(code: ExpressionEmitter, node: FunctionCall) -> Operand:
    options = {option.name: option.value for option in node.options}
    subject = code.checked_operand(node.arguments[0], SOMETHING)
    fold = "None"
    if "ignoreCase" in options:
        fold = code.checked_operand(options["ignoreCase"], ValueKind.BOOLEAN | ValueKind.NULL).name
    target, done, hit = code.new_variable(), code.new_variable(), code.new_variable()
    code.emit(f"{target} = {done} = {hit} = None", node.at)
    kinds = []
    for case, result in zip(node.arguments[1::2], node.arguments[2::2], strict=True):
        with code.block(f"if not {done}:", node.at):
            value = code.checked_operand(case, SCALAR)
            test = f"{code.shared_name(_is_case)}(work, {subject.name}, {value.name}, {fold})"
            code.emit(f"{hit} = {done} = {test}", case.at)
        with code.block(f"if {hit}:", node.at):
            operand = code.operand(result)
            code.emit(f"{target} = {operand.name}; {hit} = None", node.at)
        kinds.append(operand.kind)
    with code.block(f"if not {done}:", node.at):
        if "default" in options:
            operand = code.operand(options["default"])
            code.emit(f"{target} = {operand.name}", node.at)
            kinds.append(operand.kind)
        else:
            code.emit(f"{code.shared_name(_no_case)}({subject.name})", node.at)
    return Operand(target, _union(kinds))


def _union(kinds: list[ValueKind]) -> ValueKind:
    union = ValueKind(0)
    for kind in kinds:
        union |= kind
    return union


def _is_case(work: WorkMeter, subject: Scalar, case: Scalar, ignore_case: bool | None) -> bool:
    if case is None:
        return False
    if isinstance(subject, str) and isinstance(case, str) and not ignore_case:
        if subject.__sizeof__() > USUAL_SIZE:
            pay_for_equality(work, subject, case)
        return subject == case
    left, right = text_of(subject), text_of(case)
    written = sum(len(text) for text in (left, right) if text not in (subject, case))
    work.spend(_CASE_COST + written // _WRITTEN_AT_ONCE)
    return same_text(work, left, right, ignore_case)


def _no_case(subject: Scalar) -> NoReturn:
    message = f"no case is {text_of(subject)[:60]!r}, and there is no `default=`"
    raise Fault(FormulaCode.NO_CASE_MATCHES, message)


def _data_source(code: ExpressionEmitter, node: FunctionCall) -> str:
    """Return the arguments that identify data besides its name: the pin and the calculation."""
    return f"{code.shared_name(pin_of(node.options))}, {code.shared_name(code.within)}"


def _impact_form(code: ExpressionEmitter, node: FunctionCall) -> Operand:
    names = ", ".join(
        code.checked_operand(argument, ValueKind.TEXT).name for argument in node.arguments
    )
    target = code.new_variable()
    code.emit(f"{target} = impact({names}, {_data_source(code, node)})", node.at)
    decimal, refuse = code.shared_name(Decimal), code.shared_name(_no_factor)
    code.emit(f"if type({target}) is not {decimal}: {refuse}({target}, {names})", node.at)
    return Operand(target, ValueKind.NUMBER)


def _no_factor(found: object, activity: str, impact: str, component: str) -> NoReturn:
    if found is not None:
        raise TypeError(f"a dataset gave a {type(found).__name__} as an emission factor")
    path = ", ".join(repr(part[:60]) for part in (activity, impact, component))
    raise Fault(FormulaCode.IMPACT_NOT_FOUND, f"there is no emission factor for {path}")


def _lookup_form(code: ExpressionEmitter, node: FunctionCall) -> Operand:
    slots = FUNCTIONS["LOOKUP"].slots_for(len(node.arguments))
    operands: dict[str, list[Operand]] = {}
    for slot, argument in zip(slots, node.arguments, strict=True):
        operands.setdefault(slot.name, []).append(code.checked_operand(argument, slot.kinds))
    keys = [_text_source(code, value) for value in operands["value"]]
    key, columns = keys[0] if len(keys) == 1 else f"({', '.join(keys)})", "None"
    if "keyColumn" in operands:
        names = [one.name for one in (*operands["keyColumn"], *operands["outputColumn"])]
        columns = f"({', '.join(names)})"
    target, arguments = code.new_variable(), f"{operands['dataset'][0].name}, {key}, {columns}"
    code.emit(f"{target} = lookup({arguments}, {_data_source(code, node)})", node.at)
    types, refuse = code.shared_name(_SCALARS), code.shared_name(_not_a_value)
    code.emit(f"if type({target}) not in {types}: {refuse}({target})", node.at)
    return Operand(target, SCALAR)


def _text_source(code: ExpressionEmitter, value: Operand) -> str:
    if value.kind is ValueKind.TEXT:
        return value.name
    return f"{code.shared_name(text_of)}({value.name})"


def _not_a_value(found: object) -> NoReturn:
    raise TypeError(f"a dataset gave a {type(found).__name__}, which is no value")


def _ref_form(code: ExpressionEmitter, node: FunctionCall) -> Operand:
    output = code.checked_operand(node.arguments[0], ValueKind.TEXT)
    target = code.new_variable()
    code.emit(f"{target} = earlier({output.name})", node.at)
    types, refuse = code.shared_name(_SCALARS), code.shared_name(_not_a_value)
    code.emit(f"if type({target}) not in {types}: {refuse}({target})", node.at)
    return Operand(target, SCALAR)


FORMS: Final[Mapping[str, Callable[[ExpressionEmitter, FunctionCall], Operand]]] = {
    "AND": _and_form,
    "COALESCE": _coalesce_form,
    "IF": _if_form,
    "IFNULL": _coalesce_form,
    "IMPACT": _impact_form,
    "LOOKUP": _lookup_form,
    "OR": _or_form,
    "REF": _ref_form,
    "SWITCH": _switch_form,
}
