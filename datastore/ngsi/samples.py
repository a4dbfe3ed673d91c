"""The port of destinations: tables of samples, each made when it is first needed."""

from collections.abc import Sequence
from enum import Enum
from typing import Final, NamedTuple, Protocol

from penstock.datastore.errors import Unavailable
from penstock.datastore.table import Item, Page, Query


class Placed(NamedTuple):
    """An item, and the table it belongs to."""

    table: str
    item: Item


class Trouble(Enum):
    """Why a call failed."""

    PASSING = "it may succeed later"
    MISSING = "the table does not exist"
    INVALID = "something in the request is what no table takes"
    SET_UP = "the credentials or permissions are wrong"


class Samples(Protocol):
    """One destination, for reading."""

    async def query(self, query: Query) -> Page:
        """Read one page of one series, on the terms of the table port."""


class Destinations(Protocol):
    """The tables of samples that there are. Every method may raise `errors.Unavailable`."""

    async def create(self, name: str) -> None:
        """Make the table where it is missing, and wait until it can be used."""

    async def write(self, items: Sequence[Placed]) -> None:
        """Write up to 25 items in one request, each by itself, in place of what has their keys.

        Items that the store left unprocessed are sent again; on return all are written.
        """

    def table(self, name: str) -> Samples:
        """The table of this name, which need not exist."""

    def trouble(self, error: Exception) -> Trouble:
        """What a failure of a call means."""

    async def close(self) -> None:
        """Let go of connections and threads."""


class NoDestinations:
    """What a store has that was opened without any: whatever is asked of them is refused."""

    async def create(self, name: str) -> None:
        raise _none()

    async def write(self, items: Sequence[Placed]) -> None:
        raise _none()

    def table(self, name: str) -> Samples:
        raise _none()

    def trouble(self, error: Exception) -> Trouble:
        return Trouble.PASSING

    async def close(self) -> None:
        """Let go of nothing."""


NO_DESTINATIONS: Final[Destinations] = NoDestinations()


def _none() -> Unavailable:
    return Unavailable("This process has no destinations open.")
