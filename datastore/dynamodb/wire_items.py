"""Items in DynamoDB's JSON, of which records are decoded without anything between."""

from collections.abc import Mapping
from typing import Any

import msgspec
import orjson

from datastore.dynamodb.views import decoder_of
from datastore.dynamodb.wire import encode_item, measured_item
from datastore.encoded import EncodedItem, with_more
from datastore.limits import READ_BLOCK
from datastore.parts import Asked
from datastore.table import Item, Key, Value


class _Text(msgspec.Struct, frozen=True, gc=False):
    S: str


class _Keyed(msgspec.Struct, frozen=True, gc=False):
    pk: _Text
    sk: _Text


_keyed = msgspec.json.Decoder(_Keyed).decode


class WireItem(EncodedItem):
    """An item as an answer tells it."""

    __slots__ = ()

    @classmethod
    def read(cls, text: msgspec.Raw) -> "WireItem":
        """Read the key, which an item always has."""
        found = _keyed(text)
        return cls(Key(found.pk.S, found.sk.S), bytes(text))

    @property
    def key(self) -> Key:
        return self._key

    @property
    def charged_size(self) -> int:
        """As many bytes as DynamoDB counts, or some for which it charges the same.

        No item is longer than its text, so that only those of some length are measured.
        """
        length = len(self._text)
        return length if length <= READ_BLOCK else self._measured()[1]

    def load(self, record: type, asked: Asked, more: Mapping[str, Value]) -> Any:
        told = orjson.dumps(encode_item(more)) if more else None
        text = self._text if told is None else with_more(self._text, told)
        return decoder_of(record, asked)(text)

    def _decoded(self) -> Item:
        return self._measured()[0]

    def _measured(self) -> tuple[Item, int]:
        return measured_item(orjson.loads(self._text))
