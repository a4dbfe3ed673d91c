"""Large values: a value that does not fit into its item lies in a file, which the item names.

The file is written before the item, under a name that follows from the item's key, so that storing
a sample again writes the same file. It goes with its sample: a deletion removes it before the item,
and files of samples that expire lie in folders by the day on which they do.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

import msgspec

from penstock.datastore.errors import NotFound
from penstock.datastore.ngsi.events import delete_old_files, identity_digest
from penstock.datastore.ngsi.rows import FILES_FIELD, METADATA_SUFFIX, RESERVED_FIELDS, is_row_item
from penstock.datastore.objects.chunks import require_size, single_chunk
from penstock.datastore.objects.port import Files
from penstock.datastore.table.limits import ITEM_BYTES, item_size, value_size
from penstock.datastore.table.port import TTL, Attributes, Item, Value

FOLDER: Final = "ngsi/values"
ROW_VALUE: Final = "attrValue"
LEAST_BYTES: Final = 1024
"""Smaller values stay in their item."""

_CONTENT_TYPE = "text/plain; charset=utf-8"
_KEPT = "kept"
_MARGIN = timedelta(days=1)
_encode = msgspec.json.Encoder(decimal_format="number").encode


class StoredValue(msgspec.Struct, frozen=True):
    """A value in a file of so many bytes."""

    file: str
    size: int


class DividedItem(NamedTuple):
    """An item that names the files of its largest values, and the contents of these by key."""

    item: Item
    files: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class LargeValues:
    """The values in the files of one bucket."""

    files: Files

    async def move_values(self, item: Item) -> Item:
        """Write the largest values of an item to files until it fits, and name them in it.

        An item that cannot fit comes back as it is.
        """
        divided = divide_item(item)
        await self.write(divided.files)
        return divided.item

    async def write(self, files: Mapping[str, bytes]) -> None:
        """Write the files of an item, which is written next."""
        for file, text in files.items():
            await self.files.write(file, single_chunk(text), content_type=_CONTENT_TYPE)

    async def read(self, value: StoredValue) -> str | None:
        """Read a value; None if its sample has been deleted in the meantime.

        Raises Unavailable for a file of another size.
        """
        content = require_size(self.files.read(value.file, end=value.size), value.size)
        try:
            return b"".join([chunk async for chunk in content]).decode()
        except NotFound:
            return None

    async def delete_of(self, item: Attributes) -> None:
        """Delete the files of an item; the item goes next."""
        for value in stored_values(item).values():
            await self.files.delete(value.file)

    async def delete_expired(self, now: datetime) -> int:
        """Delete the files of samples that expired a day ago or earlier; return their number."""
        return await delete_old_files(self.files, FOLDER, now - _MARGIN)


def divide_item(item: Item) -> DividedItem:
    """Take the largest values of an item into files until it fits; nothing is written.

    An item that cannot fit comes back as it is, without files.
    """
    small, texts = dict(item), dict[str, bytes]()
    named: dict[str, Value] = {}
    for field in sorted(_value_fields(item), key=lambda name: -value_size(item[name])):
        if item_size(small) <= ITEM_BYTES or value_size(item[field]) < LEAST_BYTES:
            break
        file = _file_of(item, field)
        texts[file] = (value_text(item[field]) or "").encode()
        named = {**named, field: {"file": file, "size": len(texts[file])}}
        small |= {field: None, FILES_FIELD: named}
    return DividedItem(item, {}) if item_size(small) > ITEM_BYTES else DividedItem(small, texts)


def stored_values(item: Attributes) -> Mapping[str, StoredValue]:
    """The values of an item that lie in files of its own, by the names of their fields.

    What names other files was written by another program, and names none.
    """
    found = item.get(FILES_FIELD)
    if not found:
        return {}
    try:
        named = msgspec.convert(found, dict[str, StoredValue], strict=False)
    except msgspec.ValidationError:
        return {}
    return {
        field: value
        for field, value in named.items()
        if value.file.startswith(f"{FOLDER}/") and value.file.endswith(_file_name(item, field))
    }


def value_text(value: Value) -> str | None:
    """A stored value as text, with numbers and objects as JSON; None for null."""
    if value is None or isinstance(value, str):
        return value
    return _encode(value).decode()


def _value_fields(item: Attributes) -> Iterator[str]:
    """The fields that hold values: that of a row item, or the columns that have metadata."""
    if is_row_item(item):
        yield ROW_VALUE
        return
    for name in item:
        if name not in RESERVED_FIELDS and name + METADATA_SUFFIX in item:
            yield name


def _file_of(item: Attributes, field: str) -> str:
    until = item.get(TTL)
    day = f"{datetime.fromtimestamp(until, UTC):%Y-%m-%d}" if isinstance(until, int) else _KEPT
    return f"{FOLDER}/{day}{_file_name(item, field)}"


def _file_name(item: Attributes, field: str) -> str:
    """The end of the key of a field's file, which follows from the keys of its item."""
    return f"/{identity_digest(str(item['pk']), str(item['sk']), field)}"
