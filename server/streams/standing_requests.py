"""The memory that the requests of open subscriptions keep, for each caller."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from penstock.datastore.errors import LimitExceeded
from penstock.schema.core.scalars import encode_json
from penstock.schema.engine.documents import ParsedDocument
from penstock.schema.engine.operations import PreparedOperation

MOST_BYTES: Final = 64 * 2**20
"""The most memory for the documents and variables of one caller's open subscriptions."""

_BYTES_PER_BYTE: Final = 24
"""Memory of a byte of JSON: three of them can be an empty list, or an empty object."""


class _CallerRequests:
    """The requests of one caller: their memory, and how often each document is kept."""

    def __init__(self) -> None:
        self.size = 0
        self.documents: Counter[ParsedDocument] = Counter()


class StandingRequests:
    """The requests of open subscriptions, which stay in memory as long as these are open.

    One document counts once for each caller, however many subscriptions have it.
    """

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self._kept: dict[str, _CallerRequests] = {}

    def __len__(self) -> int:
        """Return the number of callers whose requests are kept."""
        return len(self._kept)

    @contextmanager
    def keep(self, user_id: str, prepared: PreparedOperation) -> Iterator[None]:
        """Count the request of a subscription as its caller's; raises LimitExceeded."""
        kept, document = self._kept.get(user_id, _CallerRequests()), prepared.document
        size = len(encode_json(prepared.variables)) * _BYTES_PER_BYTE
        added = size + (0 if document in kept.documents else document.memory_bytes)
        if kept.size + added > self._most:
            limit = "bytes of the documents and variables of your subscriptions"
            raise LimitExceeded(limit, self._most, kept.size + added)
        self._kept[user_id] = kept
        kept.size += added
        kept.documents[document] += 1
        try:
            yield
        finally:
            self._forget(user_id, document, size)

    def _forget(self, user_id: str, document: ParsedDocument, size: int) -> None:
        kept = self._kept[user_id]
        kept.documents[document] -= 1
        kept.size -= size
        if not kept.documents[document]:
            del kept.documents[document]
            kept.size -= document.memory_bytes
        if not kept.documents:
            del self._kept[user_id]
