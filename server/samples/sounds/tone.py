"""Tones: samples of 16 bits at 8 kHz, one channel."""

from array import array
from collections.abc import Sequence
from math import pi, sin

RATE = 8000


def tone(hertz: int, seconds: float) -> Sequence[int]:
    """A sine wave, not loud; after a second it repeats itself."""
    second = array("h", (round(3000 * sin(2 * pi * hertz * n / RATE)) for n in range(RATE)))
    whole, rest = divmod(round(seconds * RATE), RATE)
    return second * whole + second[:rest]
