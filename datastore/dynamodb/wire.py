"""Items in DynamoDB's JSON: every value is a map of its type's letter to its text."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any, TypeAlias

from penstock.datastore.table.limits import number_size
from penstock.datastore.table.port import Item, Key, Value

Raw: TypeAlias = dict[str, Any]


def encode(value: Value) -> Raw:
    """Encode one value; sets, bytes and floats have no place in an item and raise TypeError."""
    match value:
        case str():
            return {"S": value}
        case bool():
            return {"BOOL": value}
        case int() | Decimal():
            return {"N": str(value)}
        case None:
            return {"NULL": True}
        case list():
            return {"L": [encode(element) for element in value]}
        case dict():
            return {"M": encode_item(value)}
        case _:
            raise TypeError(f"a {type(value).__name__} is no value of an item")


def encode_item(item: Mapping[str, Value]) -> Raw:
    return {name: encode(value) for name, value in item.items()}


def encode_key(key: Key) -> Raw:
    return {"pk": {"S": key.pk}, "sk": {"S": key.sk}}


def decode(raw: Raw) -> Value:
    """Decode one value; types that the port does not know raise ValueError."""
    value, _ = _decode_measured(raw)
    return value


def decode_item(raw: Raw) -> Item:
    item, _ = decode_measured_item(raw)
    return item


def decode_measured_item(raw: Raw) -> tuple[Item, int]:
    """Decode an item, and count its bytes as DynamoDB does, in one walk through it.

    The count equals `limits.item_size`, which also refuses values that no store returns.
    """
    item: Item = {}
    size = 0
    for name, typed in raw.items():
        # Most values are strings: no further call for them saves a third of the time.
        text = typed.get("S")
        if text is None:
            item[name], bytes_of_value = _decode_measured(typed)
            size += bytes_of_value
        else:
            item[name] = text
            size += len(text) if text.isascii() else len(text.encode())
        size += len(name) if name.isascii() else len(name.encode())
    return item, size


def decode_key(raw: Raw) -> Key:
    """Decode the base-table key among the attributes of an item, a key or a start key."""
    return Key(raw["pk"]["S"], raw["sk"]["S"])


def _decode_measured(raw: Raw) -> tuple[Value, int]:
    ((letter, content),) = raw.items()
    decoder = _DECODERS.get(letter)
    if decoder is None:
        raise ValueError(f"the port knows no values of type {letter}")
    return decoder(content)


@lru_cache(4096)
def _number(text: str) -> tuple[int | Decimal, int]:
    """Decode a number; most are versions, counts and positions, which repeat often."""
    number = Decimal(text) if "." in text or "e" in text or "E" in text else int(text)
    return number, number_size(number)


def _text(text: str) -> tuple[str, int]:
    return text, len(text.encode())


def _map(members: Raw) -> tuple[Item, int]:
    item, size = decode_measured_item(members)
    return item, 3 + size + len(item)


def _list(elements: list[Raw]) -> tuple[list[Value], int]:
    values: list[Value] = []
    size = 3 + len(elements)
    for element in elements:
        value, bytes_of_value = _decode_measured(element)
        values.append(value)
        size += bytes_of_value
    return values, size


def _boolean(content: bool) -> tuple[bool, int]:
    return content, 1


def _null(_: bool) -> tuple[None, int]:
    return None, 1


_DECODERS: Mapping[str, Callable[[Any], tuple[Value, int]]] = {
    "S": _text,
    "N": _number,
    "BOOL": _boolean,
    "M": _map,
    "L": _list,
    "NULL": _null,
}
