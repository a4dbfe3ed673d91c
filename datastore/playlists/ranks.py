"""Ranks: texts whose byte order is the order of a list, with room between any two.

A rank is a number in base 52. Eight digits leave 65,536 free ranks between neighbours at an end of
the list; a crowded place uses more digits. New ranks are random within the middle half of their
share of a gap, so that two writers at one gap rarely choose the same, and never one on the wrong
side. The digits are letters, which sort after the `:` that ends a rank in a key: so a rank sorts
before all ranks that it is a prefix of.
"""

import string
from collections.abc import Sequence
from random import Random, SystemRandom
from typing import Final

DIGITS: Final = string.ascii_uppercase + string.ascii_lowercase
BASE: Final = len(DIGITS)
WIDTH: Final = 8
SPACING: Final = 2**16
SHARE: Final = 2**12
"""The smallest number of possible ranks in the share of each new rank."""

LONGEST: Final = 64
"""The longest rank; before a longer one is made, its neighbours get new ranks."""

RESPREAD_LONGEST: Final = 48
"""The longest rank that a neighbour may get then."""

NEIGHBOURHOOD: Final = 16

_VALUES: Final[dict[str, int]] = {digit: value for value, digit in enumerate(DIGITS)}
_RANDOM: Final = SystemRandom()


def new_ranks(
    low: str | None, high: str | None, count: int = 1, chance: Random = _RANDOM
) -> tuple[str, ...]:
    """`count` ranks in ascending order, between `low` and `high`; None is an end of the list.

    Raises ValueError if `low` is not below `high`: equal ranks must be changed first.
    """
    width = _rank_width(low, high, count)
    bottom, top = _gap_bounds(low, high, count, width)
    share = (top - bottom) // (count + 1)
    middle = share // 4
    return tuple(
        _rank_text(bottom + share * n + chance.randrange(-middle, middle + 1), width)
        for n in range(1, count + 1)
    )


def gap_fits(low: str | None, high: str | None, count: int, longest: int = LONGEST) -> bool:
    """Whether there are `count` ranks between the two with at most `longest` digits."""
    if low is not None and high is not None and low >= high:
        return False
    return _rank_width(low, high, count) <= longest


def crowded_range(ranks: Sequence[str], at: int, count: int) -> range:
    """The positions that need new ranks before `count` entries fit before position `at`.

    The range is empty if there is room. `ranks` are those of the whole list, in order; some may
    be equal.
    """
    if gap_fits(*_neighbours(ranks, at, at), count):
        return range(at, at)
    reach = NEIGHBOURHOOD
    while True:
        start, stop = max(at - reach, 0), min(at + reach, len(ranks))
        low, high = _neighbours(ranks, start, stop)
        if stop - start == len(ranks) or gap_fits(low, high, stop - start, RESPREAD_LONGEST):
            return range(start, stop)
        reach *= 4


def spread_ranks(
    ranks: Sequence[str], crowded: range, chance: Random = _RANDOM
) -> list[tuple[int, str]]:
    """New ranks for the crowded positions, as changes that keep the list in order at each step.

    Entries that move up change from the top, then entries that move down from the bottom.
    """
    low, high = _neighbours(ranks, crowded.start, crowded.stop)
    wanted = dict(zip(crowded, new_ranks(low, high, len(crowded), chance), strict=True))
    up = [(n, rank) for n, rank in wanted.items() if rank > ranks[n]]
    down = [(n, rank) for n, rank in wanted.items() if rank < ranks[n]]
    return up[::-1] + down


def _neighbours(ranks: Sequence[str], start: int, stop: int) -> tuple[str | None, str | None]:
    low = ranks[start - 1] if start > 0 else None
    return low, ranks[stop] if stop < len(ranks) else None


def _rank_width(low: str | None, high: str | None, count: int) -> int:
    """The number of digits that gives each of `count` ranks a large enough share of the gap."""
    if low is not None and high is not None and low >= high:
        raise ValueError(f"{low!r} is not below {high!r}")
    width = WIDTH if low is None or high is None else max(WIDTH, _common_prefix_length(low, high))
    while True:
        bottom, top = _gap_bounds(low, high, count, width)
        if top - bottom >= SHARE * (count + 1):
            return width
        width += 1


def _gap_bounds(low: str | None, high: str | None, count: int, width: int) -> tuple[int, int]:
    """The gap as numbers of so many digits; at an end of the list, only the part that is needed."""
    end, room = BASE**width, SPACING * (count + 1) * BASE ** (width - WIDTH)
    if low is None and high is None:
        return (end - room) // 2, (end + room) // 2
    if low is None:
        top = _rank_value(high or "", width)
        return max(top - room, 0), top
    # The lower bound is rounded up, so its cut digits stay below the gap.
    bottom = _rank_value(low, width) + (len(low) > width)
    return bottom, min(bottom + room, end) if high is None else _rank_value(high, width)


def _common_prefix_length(low: str, high: str) -> int:
    """The length of the common prefix; no rank of that length lies between the two."""
    pairs = enumerate(zip(low, high, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(low), len(high)))


def _rank_value(rank: str, width: int) -> int:
    value = 0
    for digit in rank[:width].ljust(width, DIGITS[0]):
        value = value * BASE + _VALUES[digit]
    return value


def _rank_text(value: int, width: int) -> str:
    digits = []
    for _ in range(width):
        value, digit = divmod(value, BASE)
        digits.append(DIGITS[digit])
    text = "".join(reversed(digits))
    return text[:WIDTH] + text[WIDTH:].rstrip(DIGITS[0])
