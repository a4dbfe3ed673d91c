"""The answers that a caller leaves unread, in all streams of a process."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final

from penstock.server.streams.backpressure import Outbox

MOST_BYTES: Final = 8 * 2**20
"""Bytes of answers that wait for the clients of one caller.

Large answers do not count, which have turns until they are sent.
"""


class UnreadAnswers:
    """The outboxes of each caller; if more waits in them than may, the fullest one ends."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        self._outboxes: dict[str, list[Outbox]] = {}

    def __len__(self) -> int:
        """Return the number of callers who have an outbox."""
        return len(self._outboxes)

    @contextmanager
    def watch(self, user_id: str, outbox: Outbox) -> Iterator[None]:
        """Count what waits in an outbox as its caller's."""
        outboxes = self._outboxes.setdefault(user_id, [])
        outboxes.append(outbox)
        outbox.note_growth = partial(self._end_fullest, outboxes)
        try:
            yield
        finally:
            outboxes.remove(outbox)
            if not outboxes:
                del self._outboxes[user_id]

    def _end_fullest(self, outboxes: list[Outbox]) -> None:
        if sum(outbox.unread_bytes for outbox in outboxes) > self._most:
            max(outboxes, key=lambda outbox: outbox.unread_bytes).give_up_unread()
