"""Comparison: equal types only; text by code point, false before true, null only with `==` `!=`."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from operator import ge, gt, le, lt
from typing import Final

from penstock.formula.core.errors import Fault, FormulaCode
from penstock.formula.core.limits import WorkMeter
from penstock.formula.core.values import Value, ValueKind, in_words, kind_of

COMPARABLE: Final = ValueKind.NUMBER | ValueKind.TEXT | ValueKind.BOOLEAN

_USUAL_TYPES: Final = frozenset({Decimal, str, bool})

SHORT_TEXT: Final = 500
"""Characters of a text with which any other is compared within an operation."""
USUAL_SIZE: Final = 4 * SHORT_TEXT
"""The bytes of a text beyond which comparing it may take longer."""
_EQUAL_AT_ONCE: Final = 100
"""Characters of equally long texts that are found equal in a unit."""
_ORDERED_AT_ONCE: Final = 16
"""Characters of texts that are found equal one by one in a unit, to learn which comes first."""


def equal(left: Value, right: Value) -> bool:
    """Whether two values are equal; null equals only null."""
    if type(left) is type(right) and type(left) in _USUAL_TYPES:
        return left == right
    if left is None or right is None:
        return left is right
    _refuse_mixture(left, right)
    return left == right


def unequal(left: Value, right: Value) -> bool:
    return not equal(left, right)


def _order_comparison(test: Callable[..., bool]) -> Callable[[Value, Value], bool]:
    def compare(left: Value, right: Value) -> bool:
        if left is None or right is None:
            raise Fault(FormulaCode.NULL_OPERAND, "null has no order; only == and != take it")
        _refuse_mixture(left, right)
        return test(left, right)

    return compare


def _refuse_mixture(left: Value, right: Value) -> None:
    if type(left) is type(right) and type(left) in _USUAL_TYPES:
        return
    kinds = kind_of(left), kind_of(right)
    if kinds[0] is not kinds[1] or kinds[0] not in COMPARABLE:
        message = f"{in_words(kinds[0])} cannot be compared with {in_words(kinds[1])}"
        raise Fault(FormulaCode.WRONG_TYPE, message)


def pay_for_equality(work: WorkMeter, left: Value, right: Value) -> None:
    """Spend what it takes to learn whether two long texts are equal; others cost nothing more."""
    if isinstance(left, str) and isinstance(right, str) and len(left) == len(right):
        work.spend(len(left) // _EQUAL_AT_ONCE)


def pay_for_order(work: WorkMeter, left: Value, right: Value) -> None:
    """Spend what it takes to learn which of two long texts comes first."""
    if isinstance(left, str) and isinstance(right, str):
        work.spend(min(len(left), len(right)) // _ORDERED_AT_ONCE)


def payment_of(operator: str) -> Callable[[WorkMeter, Value, Value], None]:
    """The function that spends what comparing two values takes if one has over USUAL_SIZE bytes."""
    return pay_for_equality if operator in {"==", "!="} else pay_for_order


COMPARE: Final[Mapping[str, Callable[[Value, Value], bool]]] = {
    "==": equal,
    "!=": unequal,
    "<": _order_comparison(lt),
    "<=": _order_comparison(le),
    ">": _order_comparison(gt),
    ">=": _order_comparison(ge),
}


def may_compare(operator: str, left: ValueKind, right: ValueKind) -> bool:
    """Whether values of these kinds may be comparable."""
    if operator in {"==", "!="} and (left | right) & ValueKind.NULL:
        return True
    return bool(left & right & COMPARABLE)
