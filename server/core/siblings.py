"""What the processes of one server have in common, and how each is told of it."""

import mmap
import os
from functools import cached_property
from secrets import token_hex
from typing import Any, Self

import msgspec

from penstock.server.edge.rate_limit import SIZE, SharedBuckets


class Siblings(msgspec.Struct, frozen=True, dict=True):
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
        os.ftruncate(rates, SIZE)
        return cls(0, count, f"penstock-{token_hex()}", rates)

    @cached_property
    def buckets(self) -> SharedBuckets:
        return SharedBuckets(mmap.mmap(self.rates, SIZE), self.rates)

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
