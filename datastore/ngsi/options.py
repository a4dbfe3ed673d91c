"""How a sink stores what it is notified of: every documented parameter, with its default."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from penstock.datastore.ngsi.name_encoding import Encoding

INFINITE: Final = -1
"""A `batch_ttl` with which a batch is tried again until it is stored."""


class DataModel(StrEnum):
    """What has a table of its own: every entity, or every service path."""

    BY_ENTITY = "dm-by-entity"
    BY_SERVICE_PATH = "dm-by-service-path"


class Persistence(StrEnum):
    """What is an item: every attribute of an update, or the whole update."""

    ROW = "row"
    COLUMN = "column"


class ValueFormat(StrEnum):
    """Whether values are stored as documented, as text, or as DynamoDB's own types."""

    TEXT = "text"
    TYPED = "typed"


class Compat(StrEnum):
    """Whether items are as documented, or as the releases of Cygnus really write them."""

    DOCUMENTED = "documented"
    CYGNUS = "cygnus"


class LongNames(StrEnum):
    """What becomes of a table's name over 255 characters: cut and marked by a hash, or refused."""

    HASH = "hash"
    REJECT = "reject"


class Ack(StrEnum):
    """When a notification is answered: once it is on durable storage, or once it is in memory."""

    DURABLE = "durable"
    QUEUED = "queued"


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """What a table's name depends on besides what is stored in it."""

    data_model: DataModel = DataModel.BY_ENTITY
    enable_lowercase: bool = False
    encoding: Encoding = Encoding.CYGNUS
    long_names: LongNames = LongNames.HASH


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What the items of an update look like."""

    attr_persistence: Persistence = Persistence.ROW
    value_format: ValueFormat = ValueFormat.TEXT
    compat: Compat = Compat.DOCUMENTED


@dataclass(frozen=True, slots=True, kw_only=True)
class Batching:
    """When what was accepted is stored, and how often again; times are in seconds.

    A batch is stored when it holds `size` events or `timeout` after its first. What cannot be
    stored is tried `ttl` times more (INFINITE: for ever, 0: never), after each of `retry_intervals`
    in turn, the last of which repeats.
    """

    size: int = 1
    timeout: float = 30.0
    ttl: int = 10
    retry_intervals: tuple[float, ...] = (5.0,)

    def retry_after(self, attempts: int) -> float | None:
        """How long to wait after so many attempts have failed; None to give up."""
        if self.ttl != INFINITE and attempts > self.ttl:
            return None
        return self.retry_intervals[min(attempts, len(self.retry_intervals)) - 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkOptions:
    """Everything a sink is told; `max_pending` is how many events it may hold at a time."""

    naming: Naming = Naming()
    layout: Layout = Layout()
    batching: Batching = Batching()
    enable_grouping: bool = False
    enable_name_mappings: bool = False
    ack: Ack = Ack.DURABLE
    max_pending: int = 10_000
