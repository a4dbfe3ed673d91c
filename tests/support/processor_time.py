"""Processor time compared with a yardstick, so that neither load nor a slow machine counts."""

import time
from collections.abc import Callable
from typing import Final

WORDS: Final = 50_000
"""The number of words to hash in one yardstick: some 10 ms on an idle machine."""

TRIES: Final = 3


def processor_time(compute: Callable[[], object]) -> float:
    """Return the processor time of this process for one call, in seconds."""
    began = time.process_time()
    compute()
    return time.process_time() - began


def measure_yardstick() -> float:
    return processor_time(_hash_words)


def yardsticks(compute: Callable[[], object], below: float) -> float:
    """Return the processor time of the quickest of some calls, in yardsticks.

    The first one below the bound ends them.
    """
    times: list[float] = []
    while len(times) < TRIES and min(times, default=below) >= below:
        times.append(processor_time(compute) / measure_yardstick())
    return min(times)


def _hash_words() -> None:
    for number in range(WORDS):
        hash(f"word {number}")
