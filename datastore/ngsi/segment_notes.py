"""Notes of segments in rows of counts: which are open, and which of a run are settled.

A row names a segment until its events are settled. The same transaction that takes the name away
adds a bit to a number of its run, so that whoever finishes the run knows which of its files were
committed: a file that is neither named nor settled never was. Of dead events it notes the places.
These notes are of no use once the run has ended; a later commit takes them away, or a sweep.
"""

import re
from collections import Counter
from collections.abc import Mapping
from decimal import Decimal
from typing import Final, NamedTuple

from penstock.datastore.table.layout import DEAD_PREFIX, OPEN_PREFIX, SETTLED_PREFIX
from penstock.datastore.table.port import Attributes

LAST_HOUR: Final = 0xFFFFF
"""The last hour that the id of a segment can tell; a later one is told as this."""

SETTLED_BITS: Final = 120
"""The segments whose bits share a number: every store keeps 38 digits exactly."""

MOST_REMOVED: Final = 100
"""The notes that one update takes away: they take 600 bytes of an expression, which has 4 KB."""

_SEGMENT_ID = re.compile(r"(\d{3})([0-9a-f]{5})[\w-]{8}", re.ASCII)


class OpenSegment(NamedTuple):
    """A committed segment that is not settled, as the rows of counts of one shard name it.

    `run` is the mark of its run in the sink's manifest.
    """

    shard: int
    id: str
    run: str

    @property
    def attribute(self) -> str:
        """The attribute that names the segment; its value is the mark of the run."""
        return OPEN_PREFIX + self.id

    @property
    def first_hour(self) -> int:
        """The hour of its earliest sample, since 1970; 0 if a release wrote it that told none."""
        told = _SEGMENT_ID.fullmatch(self.id)
        return 0 if told is None else int(told[2], 16)

    def is_named_by(self, row: Attributes) -> bool:
        """Whether the row names the segment as one of its run."""
        return row.get(self.attribute) == self.run

    @property
    def settled_bit(self) -> tuple[str, int]:
        """The attribute that notes the segment as settled, and the bit to add to it."""
        group, place = divmod(self._number, SETTLED_BITS)
        return f"{SETTLED_PREFIX}{self.run}.{group}", 1 << place

    def dead_note(self, dead: int) -> dict[str, str]:
        """The attribute that notes the places of dead events as bits, if there are any."""
        return {self._dead_attribute: f"{dead:x}"} if dead else {}

    def dead_if_settled(self, row: Attributes) -> int | None:
        """The places of its dead events as bits, if the row notes it as settled in its run."""
        attribute, bit = self.settled_bit
        if not int(Decimal(str(row.get(attribute, 0)))) & bit:
            return None
        return int(str(row.get(self._dead_attribute, "0")), 16)

    @property
    def _dead_attribute(self) -> str:
        return f"{DEAD_PREFIX}{self.run}.{self._number}"

    @property
    def _number(self) -> int:
        return int(self.id[:3])


def open_segments(row: Attributes) -> list[OpenSegment]:
    """The open segments that one row of counts names."""
    shard = shard_of(row)
    return [
        OpenSegment(shard, name.removeprefix(OPEN_PREFIX), str(run))
        for name, run in row.items()
        if name.startswith(OPEN_PREFIX)
    ]


def settled_notes(row: Attributes) -> dict[str, list[str]]:
    """The attributes of a row of counts that note settled segments, by the marks of their runs."""
    notes: dict[str, list[str]] = {}
    for name in row:
        for prefix in (SETTLED_PREFIX, DEAD_PREFIX):
            if name.startswith(prefix):
                mark = name.removeprefix(prefix).rpartition(".")[0]
                notes.setdefault(mark, []).append(name)
    return notes


def shard_of(row: Attributes) -> int:
    """The shard of a row of counts."""
    return int(str(row["sk"]).rpartition(":")[2])


def add_bits(*segments: OpenSegment) -> Mapping[str, int]:
    """The additions that note segments as settled."""
    added = Counter[str]()
    for segment in segments:
        attribute, bit = segment.settled_bit
        added[attribute] += bit
    return added
