"""Lists of ids that overlap by chance, as much as possible, or in bursts."""

from collections.abc import Callable, Mapping, Sequence
from random import Random

UNIVERSE = 1_000_000
BURST = 200
BURST_WIDTH = 2_000

_START = 0x0190_0000_0000
_MILLISECONDS_APART = 37
_SCATTER = 0x9E37_79B9_7F4A_7C15


def id_of(number: int) -> str:
    """A UUIDv7 in canonical text; ids are in the order of their numbers."""
    moment = f"{_START + number * _MILLISECONDS_APART:012x}"
    noise = f"{number * _SCATTER % 2**64:016x}"
    return f"{moment[:8]}-{moment[8:]}-7{noise[:3]}-8{noise[3:6]}-{noise[4:]}"


def _independent_lists(sizes: Sequence[int], universe: int, chance: Random) -> list[list[int]]:
    return [chance.sample(range(universe), size) for size in sizes]


def _nested_lists(sizes: Sequence[int], universe: int, chance: Random) -> list[list[int]]:
    """Every list contains all shorter lists."""
    longest = chance.sample(range(universe), max(sizes))
    return [longest[:size] for size in sizes]


def _bursty_lists(sizes: Sequence[int], universe: int, chance: Random) -> list[list[int]]:
    """Resources created together have the same tags: 200 among 2,000 consecutive ones."""
    return [_bursts(size, universe, chance) for size in sizes]


def _bursts(size: int, universe: int, chance: Random) -> list[int]:
    drawn: set[int] = set()
    while len(drawn) < size:
        start = chance.randrange(universe - BURST_WIDTH)
        burst = chance.sample(range(start, start + BURST_WIDTH), BURST)
        drawn.update(burst[: size - len(drawn)])
    return list(drawn)


_DRAWS: Mapping[str, Callable[[Sequence[int], int, Random], list[list[int]]]] = {
    "independent": _independent_lists,
    "nested": _nested_lists,
    "bursty": _bursty_lists,
}
DISTRIBUTIONS = tuple(_DRAWS)


def draw(distribution: str, sizes: Sequence[int], universe: int = UNIVERSE) -> list[list[str]]:
    """One ascending list of distinct ids for each size; the same lists every time."""
    drawn = _DRAWS[distribution](sizes, universe, Random(distribution))
    return [[id_of(number) for number in sorted(numbers)] for numbers in drawn]
