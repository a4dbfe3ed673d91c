"""Ranks: texts whose byte order is the order of a list, and room for more between any two.

A rank is a number in digits of base 52: eight, which leave 65,536 free between neighbours at an
end of the list, and as many behind them as a crowded place takes. New ranks lie at random in the
middle half of their share of a gap: two writers at one gap rarely take the same, and never one on
the wrong side. The digits are letters, which all sort behind the `:` that ends a rank in a key: so
a rank that another goes on from comes before it.
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
"""How many places the share of each new rank has at least."""

LONGEST: Final = 64
"""Where a rank would be longer, its neighbourhood is spread anew first."""

SETTLED: Final = 48
"""How long ranks may be that were spread anew."""

NEIGHBOURHOOD: Final = 16

_VALUES: Final[dict[str, int]] = {digit: value for value, digit in enumerate(DIGITS)}
_CHANCE: Final = SystemRandom()


def between(
    low: str | None, high: str | None, count: int = 1, chance: Random = _CHANCE
) -> tuple[str, ...]:
    """So many ranks in ascending order, above `low` and below `high`; None is an end of the list.

    Raises ValueError where `low` is not below `high`: equal ranks have to be told apart first.
    """
    width = _width(low, high, count)
    bottom, top = _bounds(low, high, count, width)
    share = (top - bottom) // (count + 1)
    middle = share // 4
    return tuple(
        _text(bottom + share * n + chance.randrange(-middle, middle + 1), width)
        for n in range(1, count + 1)
    )


def fits(low: str | None, high: str | None, count: int, longest: int = LONGEST) -> bool:
    """Whether there are so many ranks between the two that are not longer than this."""
    if low is not None and high is not None and low >= high:
        return False
    return _width(low, high, count) <= longest


def crowd(ranks: Sequence[str], at: int, count: int) -> range:
    """Which ranks to spread anew before `count` entries find room before position `at`.

    None where there is room. `ranks` are those of the whole list, in order; some may be equal.
    """
    if fits(*_neighbours(ranks, at, at), count):
        return range(at, at)
    reach = NEIGHBOURHOOD
    while True:
        start, stop = max(at - reach, 0), min(at + reach, len(ranks))
        low, high = _neighbours(ranks, start, stop)
        if stop - start == len(ranks) or fits(low, high, stop - start, SETTLED):
            return range(start, stop)
        reach *= 4


def spread(ranks: Sequence[str], crowded: range, chance: Random = _CHANCE) -> list[tuple[int, str]]:
    """New ranks for the crowded positions, in an order of changes that keeps the list's order.

    After any number of the changes the list is in order: what moves up goes from the top, then
    what moves down from the bottom.
    """
    low, high = _neighbours(ranks, crowded.start, crowded.stop)
    wanted = dict(zip(crowded, between(low, high, len(crowded), chance), strict=True))
    up = [(n, rank) for n, rank in wanted.items() if rank > ranks[n]]
    down = [(n, rank) for n, rank in wanted.items() if rank < ranks[n]]
    return up[::-1] + down


def _neighbours(ranks: Sequence[str], start: int, stop: int) -> tuple[str | None, str | None]:
    low = ranks[start - 1] if start > 0 else None
    return low, ranks[stop] if stop < len(ranks) else None


def _width(low: str | None, high: str | None, count: int) -> int:
    """How many digits give each of so many ranks a share of the gap that is large enough."""
    if low is not None and high is not None and low >= high:
        raise ValueError(f"{low!r} is not below {high!r}")
    width = WIDTH if low is None or high is None else max(WIDTH, _shared(low, high))
    while True:
        bottom, top = _bounds(low, high, count, width)
        if top - bottom >= SHARE * (count + 1):
            return width
        width += 1


def _bounds(low: str | None, high: str | None, count: int, width: int) -> tuple[int, int]:
    """The gap at so many digits; towards an end of the list no more of it than is needed."""
    end, room = BASE**width, SPACING * (count + 1) * BASE ** (width - WIDTH)
    if low is None and high is None:
        return (end - room) // 2, (end + room) // 2
    if low is None:
        top = _value(high or "", width)
        return max(top - room, 0), top
    # What is cut off of the lower bound still lies below what it is rounded up to.
    bottom = _value(low, width) + (len(low) > width)
    return bottom, min(bottom + room, end) if high is None else _value(high, width)


def _shared(low: str, high: str) -> int:
    """How many digits the two begin with alike; with no more than those nothing is between."""
    pairs = enumerate(zip(low, high, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(low), len(high)))


def _value(rank: str, width: int) -> int:
    value = 0
    for digit in rank[:width].ljust(width, DIGITS[0]):
        value = value * BASE + _VALUES[digit]
    return value


def _text(value: int, width: int) -> str:
    digits = []
    for _ in range(width):
        value, digit = divmod(value, BASE)
        digits.append(DIGITS[digit])
    text = "".join(reversed(digits))
    return text[:WIDTH] + text[WIDTH:].rstrip(DIGITS[0])
