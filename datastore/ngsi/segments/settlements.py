"""Settlements that wait for the next commit of their service paths, whose transaction they join.

Both change the same rows of counts: together they cost half of what they cost one by one.
"""

import asyncio
from asyncio import Future, get_running_loop
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from penstock.datastore.ngsi.counts import SegmentSettled, ServicePathKey, Settlement

MAX_JOINING: Final = 8
"""The settlements that join one commit, and that wait for the same service path."""

MAX_WAITING: Final = 500


class _Outcome(Enum):
    MADE = "it was made by a commit"
    MADE_BEFORE = "another worker had made it"
    NOT_MADE = "no commit came, or none succeeded"


@dataclass(slots=True, eq=False)
class _WaitingSettlement:
    """A settlement in the queue; one that `is_late` waits for nothing but a commit under way."""

    settlement: Settlement
    outcome: "Future[_Outcome]" = field(default_factory=lambda: get_running_loop().create_future())
    is_joining: bool = False
    is_late: bool = False

    def end(self, outcome: _Outcome) -> None:
        if not self.outcome.done():
            self.outcome.set_result(outcome)


@dataclass(slots=True)
class SettlementQueue:
    """The settlements of one process that wait, each for up to `seconds`."""

    seconds: float
    _waiting: list[_WaitingSettlement] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self._waiting)

    async def join_commit(self, settlement: Settlement) -> bool:
        """Wait until a commit makes the settlement; False if the caller has to make it alone.

        Raises SegmentSettled if another worker settled the segment before.
        """
        if self.seconds <= 0 or self._is_crowded(settlement):
            return False
        waiting = _WaitingSettlement(settlement)
        self._waiting.append(waiting)
        try:
            await asyncio.wait([waiting.outcome], timeout=self.seconds)
            waiting.is_late = True
            if not waiting.is_joining:
                waiting.end(_Outcome.NOT_MADE)
            outcome = await waiting.outcome
        finally:
            self._waiting.remove(waiting)
        if outcome is _Outcome.MADE_BEFORE:
            raise SegmentSettled
        return outcome is _Outcome.MADE

    @contextmanager
    def joining(self, places: set[ServicePathKey]) -> Iterator[list[Settlement]]:
        """Settlements of these service paths alone, which the block commits unless it fails.

        One of each segment: a process that took over its own run holds its segments twice.
        """
        free = {each.settlement.segment: each for each in self._waiting if _may_join(each, places)}
        joining = list(free.values())[:MAX_JOINING]
        for each in joining:
            each.is_joining = True
        try:
            yield [each.settlement for each in joining]
        except BaseException:
            for each in joining:
                each.is_joining = False
                if each.is_late or each.settlement.was_made:
                    each.end(_Outcome.NOT_MADE)
            raise
        for each in joining:
            each.end(_Outcome.MADE_BEFORE if each.settlement.was_made else _Outcome.MADE)

    def release_all(self) -> None:
        """Let all be made alone, and at once, from now on."""
        self.seconds = 0.0
        for each in self._waiting:
            each.is_late = True
            if not each.is_joining:
                each.end(_Outcome.NOT_MADE)

    def _is_crowded(self, settlement: Settlement) -> bool:
        places = settlement.tally.places
        same = sum(any(map(each.settlement.is_at, places)) for each in self._waiting)
        return same >= MAX_JOINING or len(self._waiting) >= MAX_WAITING


def _may_join(waiting: _WaitingSettlement, places: set[ServicePathKey]) -> bool:
    is_free = not (waiting.is_joining or waiting.outcome.done())
    return is_free and places.issuperset(waiting.settlement.tally.places)
