"""The most bytes that the completed values of a selection take as JSON.

They follow from the document and from what the fields promise, so that an answer whose bound is
small need not be counted. The bound is infinite where a field promises nothing.
"""

from graphql import is_leaf_type, is_list_type

from penstock.graphql_jit.plan import Field, Selection

_NULL = 4
"""The bytes of null; an empty list has fewer."""
_SIGNS = 4
"""The bytes around a key and behind its value."""


def item_bytes(field: Field, depth: int) -> float:
    """The most bytes of an item of a field's list, without the items of lists in it."""
    return 1 + (_NULL if is_list_type(field.types[depth]) else _value_bytes(field))


def selection_bytes(selection: Selection) -> float:
    """The most bytes of an object, without the items of lists in it."""
    return 2 + sum(map(_entry_bytes, selection.fields))


def _entry_bytes(field: Field) -> float:
    value = _NULL if is_list_type(field.types[0]) else _value_bytes(field)
    return len(field.key) + _SIGNS + value


def _value_bytes(field: Field) -> float:
    if is_leaf_type(field.named_type):
        return max(_NULL, field.leaf_bytes)
    return max(map(selection_bytes, field.selections.values()), default=_NULL)
