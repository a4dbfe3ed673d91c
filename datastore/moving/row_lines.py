"""Rows and samples as lines of JSON; numbers keep all their digits."""

import msgspec

from penstock.datastore.ngsi.destinations import TableItem
from penstock.datastore.sqlite.rows import JsonItem, decode, decode_number, encode
from penstock.datastore.table.port import Attributes, Item

_decode_sample = msgspec.json.Decoder[tuple[str, Item]](float_hook=decode_number).decode


def encode_row(item: Attributes) -> bytes:
    """Write the row as one line: JSON writes a line break within a text by an escape."""
    if isinstance(item, JsonItem):
        return item.text
    return encode(dict(item))


def decode_row(line: bytes) -> Item:
    item: Item = decode(line)
    return item


def encode_sample(table: str, item: Attributes) -> bytes:
    """Write the sample and the name of its table as one line."""
    return b"[%b,%b]" % (msgspec.json.encode(table), encode_row(item))


def decode_sample(line: bytes) -> TableItem:
    return TableItem(*_decode_sample(line))
