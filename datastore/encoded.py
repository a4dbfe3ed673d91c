"""Rows as a store keeps them, of which nothing is decoded before it is asked for."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

from penstock.datastore.parts import Asked
from penstock.datastore.table import Item, Key, Value

_ESCAPE = b"\\u"


class EncodedItem(Mapping[str, Value]):
    """A row as text of a store's own; its key is known without the text."""

    __slots__ = ("_item", "_text", "key")

    def __init__(self, key: Key, text: bytes) -> None:
        self.key = key
        self._text = text
        self._item: Item | None = None

    @abstractmethod
    def load(self, record: type, asked: Asked, more: Mapping[str, Value]) -> Any:
        """Decode a record, with `more` attributes; see `penstock.datastore.items.load`."""

    @abstractmethod
    def _decoded(self) -> Item:
        """Decode everything."""

    @property
    def item(self) -> Item:
        """All attributes, which are decoded once."""
        if self._item is None:
            self._item = self._decoded()
        return self._item

    def __getitem__(self, name: str) -> Value:
        if name == "pk":
            return self.key.pk
        return self.key.sk if name == "sk" else self.item[name]

    def __contains__(self, name: object) -> bool:
        if self._item is None and f'"{name}"'.encode() not in self._text:
            # Only an escape could hide the letters of a name.
            return _ESCAPE in self._text and name in self.item
        return name in self.item

    def __iter__(self) -> Iterator[str]:
        return iter(self.item)

    def __len__(self) -> int:
        return len(self.item)

    def __repr__(self) -> str:
        """For tests; what is logged of a row is its key."""
        return repr(self.item)


def with_more(text: bytes, more: bytes) -> bytes:
    """Put the attributes of one JSON object behind those of another, which has some.

    Of an attribute in both, the second is the one that counts for decoders.
    """
    return b"%b,%b" % (text[:-1], more[1:])
