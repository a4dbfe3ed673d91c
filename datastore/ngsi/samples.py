"""The port of destinations: tables of samples, each made when it is first needed."""

from collections.abc import Sequence
from typing import Protocol

from datastore.table import Delete, Page, Put, Query


class Samples(Protocol):
    """One destination: of the table port as much as samples need, on the same terms."""

    async def write(self, operations: Sequence[Put | Delete]) -> float:
        """Do up to 25 unconditional, idempotent writes in one request, each by itself."""

    async def query(self, query: Query) -> Page:
        """Read one page of one series."""


class Destinations(Protocol):
    """The tables of samples that there are. Every method may raise `errors.Unavailable`."""

    async def create(self, name: str) -> None:
        """Make the table where it is missing, and wait until it can be used."""

    def table(self, name: str) -> Samples:
        """The table of this name, which need not exist: then it holds nothing, or refuses."""

    def is_missing(self, error: Exception) -> bool:
        """Whether a call failed because the table does not exist."""

    async def close(self) -> None:
        """Let go of connections and threads."""
