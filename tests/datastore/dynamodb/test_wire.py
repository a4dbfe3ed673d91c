"""Items as DynamoDB's JSON and back."""

from decimal import Decimal
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastore.dynamodb.wire import (
    decode,
    decode_item,
    decode_key,
    decode_measured_item,
    encode,
    encode_item,
    encode_key,
)
from penstock.datastore.table.limits import NUMBER_DIGITS, NUMBER_NEGATIVE_EXPONENT, item_size
from penstock.datastore.table.port import Item, Key, Value

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NUMBERS = st.integers(-(10**38) + 1, 10**38 - 1) | st.decimals(
    allow_nan=False, allow_infinity=False, min_value=Decimal("-1E+20"), max_value=Decimal("1E+20")
)


def storable(number: int | Decimal) -> bool:
    exact = Decimal(number)
    return (
        len(exact.as_tuple().digits) <= NUMBER_DIGITS
        and exact.adjusted() >= -NUMBER_NEGATIVE_EXPONENT
    )


def values(
    names: st.SearchStrategy[str], numbers: st.SearchStrategy[int | Decimal]
) -> st.SearchStrategy[Value]:
    return st.recursive(
        st.none() | st.booleans() | numbers | TEXTS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
        max_leaves=8,
    )


VALUES = values(TEXTS, NUMBERS)
STORED = values(TEXTS.filter(bool), NUMBERS.filter(storable))


def typed_value(value: Value) -> object:
    """The value with its types, because Python's equality takes true for 1."""
    if isinstance(value, list):
        return [typed_value(each) for each in value]
    if isinstance(value, dict):
        return {name: typed_value(each) for name, each in value.items()}
    return (isinstance(value, bool), value)


@given(st.dictionaries(TEXTS, VALUES, max_size=4))
def test_an_item_comes_back_from_the_wire_as_it_went(item: Item) -> None:
    assert typed_value(decode_item(orjson.loads(orjson.dumps(encode_item(item))))) == typed_value(
        item
    )


@given(st.dictionaries(TEXTS.filter(bool), STORED, max_size=4))
def test_an_item_is_measured_while_it_is_read(item: Item) -> None:
    assert decode_measured_item(encode_item(item)) == (item, item_size(item))


@pytest.mark.parametrize(
    ("value", "wire"),
    [
        ("", {"S": ""}),
        ("ä", {"S": "ä"}),
        (True, {"BOOL": True}),
        (False, {"BOOL": False}),
        (0, {"N": "0"}),
        (-7, {"N": "-7"}),
        (10**37, {"N": "1" + "0" * 37}),
        (Decimal("1.50"), {"N": "1.50"}),
        (None, {"NULL": True}),
        ([], {"L": []}),
        ({}, {"M": {}}),
        ([1, {"a": "b"}], {"L": [{"N": "1"}, {"M": {"a": {"S": "b"}}}]}),
    ],
)
def test_each_type_has_its_letter(value: Value, wire: dict[str, Any]) -> None:
    assert encode(value) == wire
    assert typed_value(decode(wire)) == typed_value(value)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12", 12),
        ("-12", -12),
        ("1.5", Decimal("1.5")),
        ("1e3", Decimal("1E+3")),
        ("1E-130", Decimal("1E-130")),
    ],
)
def test_a_number_is_an_integer_exactly_when_it_is_written_as_one(
    text: str, number: int | Decimal
) -> None:
    decoded = decode({"N": text})
    assert decoded == number
    assert type(decoded) is type(number)


@pytest.mark.parametrize("value", [1.5, b"bytes", {"a", "b"}, (1,)])
def test_what_the_port_does_not_know_is_not_written(value: Any) -> None:
    with pytest.raises(TypeError, match="is no value of an item"):
        encode(value)


@pytest.mark.parametrize("wire", [{"SS": ["a"]}, {"NS": ["1"]}, {"B": "AA=="}, {"BS": ["AA=="]}])
def test_what_the_port_does_not_know_is_not_read(wire: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="the port knows no values of type"):
        decode(wire)


def test_a_key_is_read_from_among_other_attributes() -> None:
    key = Key("P:1", "PV:latest")
    assert decode_key(encode_key(key) | {"siKey1": {"S": "P"}}) == key
