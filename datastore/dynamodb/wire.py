"""Items as DynamoDB writes them in JSON: every value is a map of its type's letter to its text."""

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any, TypeAlias

from datastore.table import Item, Key, Value

Raw: TypeAlias = dict[str, Any]


def encode(value: Value) -> Raw:
    """Write one value; sets, bytes and floats have no place in an item and raise TypeError."""
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
    """Read one value; the types the port does not know raise ValueError."""
    ((letter, content),) = raw.items()
    decoder = _DECODERS.get(letter)
    if decoder is None:
        raise ValueError(f"the port knows no values of type {letter}")
    return decoder(content)


def decode_item(raw: Raw) -> Item:
    # Most values are strings: not calling `decode` for them saves a fifth of the time.
    return {name: value["S"] if "S" in value else decode(value) for name, value in raw.items()}


def decode_items(raws: Iterable[Raw]) -> tuple[Item, ...]:
    return tuple(decode_item(raw) for raw in raws)


def decode_key(raw: Raw) -> Key:
    """Read the base-table key among the attributes of an item, a key or a start key."""
    return Key(raw["pk"]["S"], raw["sk"]["S"])


def _number(text: str) -> int | Decimal:
    if "." in text or "e" in text or "E" in text:
        return Decimal(text)
    return int(text)


def _list(elements: list[Raw]) -> list[Value]:
    return [decode(element) for element in elements]


def _as_it_is(content: str | bool) -> str | bool:
    return content


def _nothing(_: bool) -> None:
    return None


_DECODERS: Mapping[str, Callable[[Any], Value]] = {
    "S": _as_it_is,
    "N": _number,
    "BOOL": _as_it_is,
    "M": decode_item,
    "L": _list,
    "NULL": _nothing,
}
