"""What the processes of one server have in common, and how each is told of it."""

import os
from secrets import token_hex
from typing import Any, Final, Self

import msgspec

RATES_BYTES: Final = 384 * 1024
"""How large the file is in which processes share what callers have left to ask for."""


class Siblings(msgspec.Struct, frozen=True):
    """One process among `count`, by its `index`; files are inherited by their numbers."""

    index: int
    count: int
    name: str
    """What the sockets by which they reach each other are called, in Linux's abstract space."""
    rates: int
    """The file of what callers have left to ask for."""

    @classmethod
    def first(cls, count: int) -> Self:
        """Make what is common to so many processes that are yet to be started."""
        rates = os.memfd_create("penstock-rates")
        os.ftruncate(rates, RATES_BYTES)
        return cls(0, count, f"penstock-{token_hex()}", rates)

    def address_of(self, index: int) -> str:
        return f"\0{self.name}-{index}"

    def share(self, whole: int) -> int:
        """The part of this process in a number that is meant for the whole server."""
        return whole // self.count + (self.index < whole % self.count)


class Orders(msgspec.Struct, frozen=True):
    """What a process is told at its start; `listener` is the number of the inherited socket."""

    settings: dict[str, Any]
    siblings: Siblings
    listener: int
