"""Items as compact JSON, with exact numbers, and rows that are decoded from it as they are read.

A whole number is read as an int and any other as a Decimal, however it was written:
`Decimal("1E+2")` comes back as `100`, which is equal, just as DynamoDB gives every number its own
plain form.
"""

from collections.abc import Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any

import msgspec

from penstock.datastore.encoded import EncodedItem, with_more
from penstock.datastore.parts import Asked, plain_part
from penstock.datastore.table import Item, Value

_KEPT = 1_000


def _number(text: str) -> int | Decimal:
    number = Decimal(text)
    return int(number) if number == number.to_integral_value() else number


encode = msgspec.json.Encoder(decimal_format="number").encode
decode = msgspec.json.Decoder[Item](float_hook=_number).decode


class JsonItem(EncodedItem):
    """A row of which records are decoded without an item between."""

    __slots__ = ()

    def load(self, record: type, asked: Asked, more: Mapping[str, Value]) -> Any:
        text = with_more(self._text, encode(more)) if more else self._text
        return _decoder(record, asked).decode(text)

    def _decoded(self) -> Item:
        item: Item = decode(self._text)
        return item


@lru_cache(_KEPT)
def _decoder(record: type, asked: Asked) -> "msgspec.json.Decoder[Any]":
    return msgspec.json.Decoder(plain_part(record, asked), float_hook=_number)
