"""Items in DynamoDB's JSON, of which records are decoded without anything between."""

from collections.abc import Callable, Mapping
from typing import Any, TypedDict

import msgspec
import orjson

from penstock.datastore.dynamodb.views import decoder_of
from penstock.datastore.dynamodb.wire import decode_item, decode_key, encode_item, measured_item
from penstock.datastore.encoded import EncodedItem, with_more
from penstock.datastore.limits import READ_BLOCK
from penstock.datastore.parts import Asked
from penstock.datastore.table import Item, Value


class _Keyed(TypedDict):
    pk: dict[str, str]
    sk: dict[str, str]


_keyed: Callable[[msgspec.Raw], Any] = msgspec.json.Decoder(_Keyed).decode


class WireItem(EncodedItem):
    """An item as an answer tells it."""

    __slots__ = ()

    @classmethod
    def read(cls, text: msgspec.Raw) -> "WireItem":
        """Read the key, which an item always has."""
        return cls(decode_key(_keyed(text)), bytes(text))

    @property
    def charged_size(self) -> int:
        """As many bytes as DynamoDB counts, or some for which it charges the same.

        No item is longer than its text, so that only those of some length are measured.
        """
        length = len(self._text)
        return length if length <= READ_BLOCK else self._measured()

    def load(self, record: type, asked: Asked, more: Mapping[str, Value]) -> Any:
        told = orjson.dumps(encode_item(more)) if more else None
        text = self._text if told is None else with_more(self._text, told)
        return decoder_of(record, asked)(text)

    def _decoded(self) -> Item:
        return decode_item(orjson.loads(self._text))

    def _measured(self) -> int:
        """Count the bytes, and keep what was decoded for it."""
        self._item, size = measured_item(orjson.loads(self._text))
        return size
