"""The resources that the processes of one server share, and the parameters each starts with."""

import os
from secrets import token_hex
from typing import Any, Final, Self

import msgspec

RATES_BYTES: Final = 384 * 1024
"""The size of the shared file with the rate limit buckets of callers."""


class Siblings(msgspec.Struct, frozen=True):
    """One of `count` processes that serve the same port; it inherits files by their numbers."""

    index: int
    count: int
    name: str
    """The prefix of the processes' socket names, in Linux's abstract namespace."""
    rates: int
    """The number of the shared file with the rate limit buckets."""

    @classmethod
    def create(cls, count: int) -> Self:
        """Create the shared resources of `count` processes, before they start."""
        rates = os.memfd_create("penstock-rates")
        os.ftruncate(rates, RATES_BYTES)
        return cls(0, count, f"penstock-{token_hex()}", rates)

    def address_of(self, index: int) -> str:
        return f"\0{self.name}-{index}"

    def share_of(self, whole: int) -> int:
        """Return this process's share of a number that is meant for the whole server."""
        return whole // self.count + (self.index < whole % self.count)


class ServerProcessConfig(msgspec.Struct, frozen=True):
    """The start parameters of a process; `listeners` are the numbers of the inherited sockets."""

    settings: dict[str, Any]
    siblings: Siblings
    listeners: list[int]
