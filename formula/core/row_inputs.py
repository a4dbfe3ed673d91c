"""Converts a row's entries to values by the declared type, without loss."""

from collections.abc import Callable
from decimal import Decimal

from penstock.formula.core.errors import Fault, FormulaCode
from penstock.formula.core.limits import MAX_STRING
from penstock.formula.core.numbers import out_of_range, read_number, within_range
from penstock.formula.core.values import FormulaParameter, FormulaType, Scalar, Value

_FLOAT_DIGITS = 15  # a decimal with this many digits is exact in a binary float
_INT_BITS = 3_400


def binder(parameter: FormulaParameter) -> Callable[[object], Value]:
    """Return the function that converts a row's entry for the parameter to a value.

    Numbers may be Decimal, int, text, or a float that stands for one decimal of at most 15 digits.
    Booleans may be bool or the texts true and false. An absent entry, None and, except for strings,
    the empty text are null, which a required parameter refuses.
    """
    convert = entry_converter(parameter.type)
    is_number = parameter.type is FormulaType.NUMBER
    empty_is_null = parameter.type is not FormulaType.STRING

    def bind(entry: object) -> Value:
        if is_number and type(entry) is Decimal and within_range(entry):
            return entry
        if entry is None or (empty_is_null and entry == ""):
            _refuse_null(parameter)
            return None
        try:
            return convert(entry)
        except Fault as fault:
            raise _fault_about(parameter, fault.code, fault.message) from None

    return bind


def entry_converter(type: FormulaType) -> Callable[[object], Scalar]:
    """Return the function that converts an entry that is not null to a value of the type.

    It raises a Fault for an entry that it cannot convert.
    """
    convert, wanted = _CONVERSIONS[type], _WANTED[type]

    def convert_entry(entry: object) -> Scalar:
        value = convert(entry)
        if value is None:
            has_comma = type is FormulaType.NUMBER and isinstance(entry, str) and "," in entry
            form = " with a decimal point" if has_comma else ""
            message = f"expected {wanted}{form}, found {_describe_entry(entry)}"
            raise Fault(FormulaCode.INVALID_INPUT, message)
        return value

    return convert_entry


def _refuse_null(parameter: FormulaParameter) -> None:
    if parameter.required:
        raise Fault(FormulaCode.MISSING_VALUE, f":{parameter.key} has no value", parameter.key)


def _fault_about(parameter: FormulaParameter, code: FormulaCode, message: str) -> Fault:
    return Fault(code, f":{parameter.key}: {message}", parameter.key)


def _describe_entry(entry: object) -> str:
    if isinstance(entry, str | int | float | Decimal):
        return repr(str(entry)[:40]) if isinstance(entry, str) else str(entry)[:40]
    return f"a {type(entry).__name__}"


def _number(entry: object) -> Decimal | None:
    if isinstance(entry, Decimal):
        if not within_range(entry):
            raise out_of_range()
        return Decimal(entry)
    if isinstance(entry, str):
        return read_number(entry)
    if isinstance(entry, float):
        return _number_of_float(entry)
    if isinstance(entry, int) and not isinstance(entry, bool):
        if entry.bit_length() > _INT_BITS:
            raise out_of_range()
        return _number(Decimal(entry))
    return None


def _number_of_float(entry: float) -> Decimal:
    number = Decimal(repr(entry))
    if not number.is_finite():
        raise Fault(FormulaCode.INVALID_INPUT, f"{entry} is not a number")
    if len(number.as_tuple().digits) > _FLOAT_DIGITS:
        message = f"the float {entry!r} may have lost digits: send it as text or as a decimal"
        raise Fault(FormulaCode.INVALID_INPUT, message)
    return number


def _text(entry: object) -> str | None:
    if not isinstance(entry, str):
        return None
    if len(entry) > MAX_STRING:
        message = f"a text of {len(entry)} characters is longer than {MAX_STRING}"
        raise Fault(FormulaCode.STRING_TOO_LONG, message)
    return str(entry)


def _boolean(entry: object) -> bool | None:
    if isinstance(entry, str):
        return {"true": True, "false": False}.get(entry.strip().lower())
    return entry if isinstance(entry, bool) else None


_CONVERSIONS: dict[FormulaType, Callable[[object], Scalar]] = {
    FormulaType.NUMBER: _number,
    FormulaType.STRING: _text,
    FormulaType.BOOLEAN: _boolean,
    FormulaType.TIMESTAMP: _text,
}
_WANTED = {
    FormulaType.NUMBER: "a number",
    FormulaType.STRING: "text",
    FormulaType.BOOLEAN: "true or false",
    FormulaType.TIMESTAMP: "the text of a time",
}
