"""The tests that no worker has begun, which are handed out in shares."""

from collections import deque
from collections.abc import Sequence
from typing import Final

import pytest

SHARES_LEFT: Final = 8
"""The shares for each worker that the remaining tests make at least.

So shares are whole files at first, and single tests at the end, when nobody should wait for others.
"""


class Shares:
    """The positions of the tests. A worker runs a share in order, and then asks for another."""

    def __init__(self, items: Sequence[pytest.Item], workers: int) -> None:
        self._files = [str(item.path) for item in items]
        self._least = workers * SHARES_LEFT
        groups: dict[str | None, list[int]] = {}
        for position, item in enumerate(items):
            groups.setdefault(group_of(item), []).append(position)
        self._rest = deque(groups.pop(None, ()))
        # Groups of many files take longest, so nobody should begin them late.
        self._groups = sorted(groups.values(), key=self._count_files)

    def _count_files(self, positions: Sequence[int]) -> int:
        return len({self._files[one] for one in positions})

    def take(self) -> list[int]:
        """Return the next share; it is empty when there are no more."""
        if self._groups:
            return self._groups.pop()
        most = max(1, len(self._rest) // self._least)
        share: list[int] = []
        while self._rest and len(share) < most and self._continues(share):
            share.append(self._rest.popleft())
        return share

    def _continues(self, share: Sequence[int]) -> bool:
        """Tell whether the next test is in the file of the share, and so has its fixtures."""
        return not share or self._files[share[-1]] == self._files[self._rest[0]]

    def give_back(self, positions: Sequence[int]) -> None:
        """Take back what a worker has not run, for another."""
        if positions:
            self._groups.append(list(positions))


def group_of(item: pytest.Item) -> str | None:
    """Return the name of what the test shares with others, which run before and after it."""
    mark = item.get_closest_marker("runs_together")
    return None if mark is None else str(mark.args[0])
