"""Code for functions that read data or skip arguments: IF, SWITCH, LOOKUP and others."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Final, NoReturn

from penstock.formula.checking.dataset_uses import pin_of
from penstock.formula.codegen.emitter import ExpressionEmitter, Operand
from penstock.formula.core.errors import Code, Fault
from penstock.formula.core.values import SCALAR, SOMETHING, Kind, Scalar, python_types, text_of
from penstock.formula.functions.catalogue import FUNCTIONS, result_kind
from penstock.formula.functions.text import same_text
from penstock.formula.syntax.tree import Call

_SCALARS: Final = python_types(SCALAR)


def _if(code: ExpressionEmitter, node: Call) -> Operand:
    condition, then, otherwise = node.arguments
    tested = code.wanted(condition, Kind.BOOLEAN)
    target = code.fresh()
    with code.block(f"if {tested.name}:", node.at):
        first = code.operand(then)
        code.emit(f"{target} = {first.name}", node.at)
    with code.block("else:", node.at):
        second = code.operand(otherwise)
        code.emit(f"{target} = {second.name}", node.at)
    return Operand(target, first.kind | second.kind)


def _coalesce(code: ExpressionEmitter, node: Call) -> Operand:
    target = code.fresh()
    first = code.operand(node.arguments[0])
    code.emit(f"{target} = {first.name}", node.at)
    kinds = [first.kind]
    for argument in node.arguments[1:]:
        with code.block(f"if {target} is None:", node.at):
            operand = code.operand(argument)
            code.emit(f"{target} = {operand.name}", node.at)
        kinds.append(operand.kind)
    return Operand(target, result_kind(FUNCTIONS["COALESCE"], kinds, {}))


def _all(code: ExpressionEmitter, node: Call) -> Operand:
    return _until(code, node, "if {}:")


def _any(code: ExpressionEmitter, node: Call) -> Operand:
    return _until(code, node, "if not {}:")


def _until(code: ExpressionEmitter, node: Call, going_on: str) -> Operand:
    target = code.fresh()
    first = code.wanted(node.arguments[0], Kind.BOOLEAN)
    code.emit(f"{target} = {first.name}", node.at)
    for argument in node.arguments[1:]:
        with code.block(going_on.format(target), node.at):
            operand = code.wanted(argument, Kind.BOOLEAN)
            code.emit(f"{target} = {operand.name}", node.at)
    return Operand(target, Kind.BOOLEAN)


def _switch(code: ExpressionEmitter, node: Call) -> Operand:
    options = {option.name: option.value for option in node.options}
    subject = code.wanted(node.arguments[0], SOMETHING)
    fold = "None"
    if "ignoreCase" in options:
        fold = code.wanted(options["ignoreCase"], Kind.BOOLEAN | Kind.NULL).name
    target, done, hit = code.fresh(), code.fresh(), code.fresh()
    code.emit(f"{target} = {done} = {hit} = None", node.at)
    kinds = []
    for case, result in zip(node.arguments[1::2], node.arguments[2::2], strict=True):
        with code.block(f"if not {done}:", node.at):
            value = code.wanted(case, SCALAR)
            test = f"{code.shared(_is_case)}({subject.name}, {value.name}, {fold})"
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
            code.emit(f"{code.shared(_no_case)}({subject.name})", node.at)
    return Operand(target, _union(kinds))


def _union(kinds: list[Kind]) -> Kind:
    union = Kind(0)
    for kind in kinds:
        union |= kind
    return union


def _is_case(subject: Scalar, case: Scalar, ignore_case: bool | None) -> bool:
    return case is not None and same_text(text_of(subject), text_of(case), ignore_case)


def _no_case(subject: Scalar) -> NoReturn:
    message = f"no case is {text_of(subject)[:60]!r}, and there is no `default=`"
    raise Fault(Code.NO_CASE_MATCHES, message)


def _meant(code: ExpressionEmitter, node: Call) -> str:
    """Return the arguments that identify data besides its name: the pin and the calculation."""
    return f"{code.shared(pin_of(node.options))}, {code.shared(code.within)}"


def _impact(code: ExpressionEmitter, node: Call) -> Operand:
    names = ", ".join(code.wanted(argument, Kind.TEXT).name for argument in node.arguments)
    target = code.fresh()
    code.emit(f"{target} = impact({names}, {_meant(code, node)})", node.at)
    decimal, refuse = code.shared(Decimal), code.shared(_no_factor)
    code.emit(f"if type({target}) is not {decimal}: {refuse}({target}, {names})", node.at)
    return Operand(target, Kind.NUMBER)


def _no_factor(found: object, activity: str, impact: str, component: str) -> NoReturn:
    if found is not None:
        raise TypeError(f"a dataset gave a {type(found).__name__} as an emission factor")
    path = ", ".join(repr(part[:60]) for part in (activity, impact, component))
    raise Fault(Code.IMPACT_NOT_FOUND, f"there is no emission factor for {path}")


def _lookup(code: ExpressionEmitter, node: Call) -> Operand:
    slots = FUNCTIONS["LOOKUP"].slots_for(len(node.arguments))
    operands = {
        slot.name: code.wanted(argument, slot.kinds)
        for slot, argument in zip(slots, node.arguments, strict=True)
    }
    value = operands["value"]
    key = value.name if value.kind is Kind.TEXT else f"{code.shared(text_of)}({value.name})"
    columns = "None"
    if "keyColumn" in operands:
        columns = f"({operands['keyColumn'].name}, {operands['outputColumn'].name})"
    target, asked = code.fresh(), f"{operands['dataset'].name}, {key}, {columns}"
    code.emit(f"{target} = lookup({asked}, {_meant(code, node)})", node.at)
    types, refuse = code.shared(_SCALARS), code.shared(_not_a_value)
    code.emit(f"if type({target}) not in {types}: {refuse}({target})", node.at)
    return Operand(target, SCALAR)


def _not_a_value(found: object) -> NoReturn:
    raise TypeError(f"a dataset gave a {type(found).__name__}, which is no value")


def _ref(code: ExpressionEmitter, node: Call) -> Operand:
    output = code.wanted(node.arguments[0], Kind.TEXT)
    target = code.fresh()
    code.emit(f"{target} = earlier({output.name})", node.at)
    types, refuse = code.shared(_SCALARS), code.shared(_not_a_value)
    code.emit(f"if type({target}) not in {types}: {refuse}({target})", node.at)
    return Operand(target, SCALAR)


FORMS: Final[Mapping[str, Callable[[ExpressionEmitter, Call], Operand]]] = {
    "AND": _all,
    "COALESCE": _coalesce,
    "IF": _if,
    "IMPACT": _impact,
    "LOOKUP": _lookup,
    "OR": _any,
    "REF": _ref,
    "SWITCH": _switch,
}
