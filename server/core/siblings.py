"""The resources that the processes of one server share, and the parameters each starts with."""

import mmap
import os
from functools import cached_property
from secrets import token_hex
from typing import Any, Self

import msgspec

from penstock.server.edge.rate_limit import SIZE, SharedBuckets


class Siblings(msgspec.Struct, frozen=True, dict=True):
    """One process among `count`, with its `index`; it inherits files by their numbers."""

    index: int
    count: int
    name: str
    """The prefix of the processes' socket names, in Linux's abstract namespace."""
    rates: int
    """The number of the shared file with the rate limit buckets."""

    @classmethod
    def first(cls, count: int) -> Self:
        """Create the shared resources of `count` processes, before they start."""
        rates = os.memfd_create("penstock-rates")
        os.ftruncate(rates, SIZE)
        return cls(0, count, f"penstock-{token_hex()}", rates)

    @cached_property
    def buckets(self) -> SharedBuckets:
        return SharedBuckets(mmap.mmap(self.rates, SIZE), self.rates)

    def address_of(self, index: int) -> str:
        return f"\0{self.name}-{index}"

    def share(self, whole: int) -> int:
        """Return this process's share of a number that is meant for the whole server."""
        return whole // self.count + (self.index < whole % self.count)


class Orders(msgspec.Struct, frozen=True):
    """The start parameters of a process; `listener` is the number of the inherited socket."""

    settings: dict[str, Any]
    siblings: Siblings
    listener: int
