"""The options of a sink: every documented parameter, with its default."""

import re
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final

from penstock.datastore.errors import BadArgument
from penstock.datastore.ngsi.name_encoding import Encoding
from penstock.datastore.ngsi.notification import group_of
from penstock.datastore.roles import ROOT, GroupPath, covers, parse_group_path

MAX_DAYS: Final = 36_500
"""The longest time for which something is kept that is not kept for ever, in days."""

_DAYS = re.compile(r"[0-9]{1,6}", re.ASCII)
_DAY_SECONDS = 86_400

RETRY_FOREVER: Final = -1
"""The `batch_ttl` that retries a batch until it is stored."""


class DataModel(StrEnum):
    """The scope of a table: one table for every entity, or one for every service path."""

    BY_ENTITY = "dm-by-entity"
    BY_SERVICE_PATH = "dm-by-service-path"


class Persistence(StrEnum):
    """The content of an item: one attribute of an update, or the whole update."""

    ROW = "row"
    COLUMN = "column"


class ValueFormat(StrEnum):
    """The form of stored values: text as documented, or DynamoDB's own types."""

    TEXT = "text"
    TYPED = "typed"


class Compat(StrEnum):
    """The form of items: as documented, or as the releases of Cygnus really write them."""

    DOCUMENTED = "documented"
    CYGNUS = "cygnus"


class LongNames(StrEnum):
    """The handling of a table's name over 255 characters: cut it and add a hash, or reject it."""

    HASH = "hash"
    REJECT = "reject"


class Ack(StrEnum):
    """The moment of the answer to a notification: once it is durable, or once it is in memory."""

    DURABLE = "durable"
    QUEUED = "queued"


@dataclass(frozen=True, slots=True, kw_only=True)
class NamingOptions:
    """The options that decide the name of a table."""

    data_model: DataModel = DataModel.BY_ENTITY
    enable_lowercase: bool = False
    encoding: Encoding = Encoding.CYGNUS
    long_names: LongNames = LongNames.HASH


@dataclass(frozen=True, slots=True)
class SampleLifetimes:
    """The days for which samples are kept, by group; 0 is for ever.

    The entry of the group of a service path counts, or that of the nearest group above it.
    """

    days: tuple[tuple[GroupPath, int], ...] = ()

    def expiry(self, service: str, path: str, at: int) -> int | None:
        """The second at which a sample of a time `at` in milliseconds expires; None for never."""
        if not self.days:
            return None
        group = group_of(service, path)
        above = [(len(each), days) for each, days in self.days if covers(each, group)]
        _, days = max(above, default=(0, 0))
        return at // 1000 + days * _DAY_SECONDS if days else None


def parse_lifetimes(text: str) -> SampleLifetimes:
    """Parse `30,/vehicles=90,/vehicles/4wheels=0`: the days of all groups, and of some.

    Raises BadArgument.
    """
    found: dict[GroupPath, int] = {}
    for entry in text.split(","):
        group, _, days = entry.strip().rpartition("=")
        place = parse_group_path(group) if group else ROOT
        if not _DAYS.fullmatch(days) or int(days) > MAX_DAYS:
            raise BadArgument(f"{entry.strip()!r} does not end in a number of days to {MAX_DAYS}.")
        if place in found:
            raise BadArgument(f"The group {place} is there twice.")
        found[place] = int(days)
    return SampleLifetimes(tuple(found.items()) if any(found.values()) else ())


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemLayout:
    """The options that decide the form of an update's items, and how long they are kept."""

    attr_persistence: Persistence = Persistence.ROW
    value_format: ValueFormat = ValueFormat.TEXT
    compat: Compat = Compat.DOCUMENTED
    lifetimes: SampleLifetimes = SampleLifetimes()


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchingOptions:
    """The options of storing and retrying; times are in seconds.

    A batch is stored when it holds `size` events, or `timeout` after its first event. A failed
    batch is retried `ttl` times (INFINITE: for ever, 0: never), after each of `retry_intervals`
    in turn; the last interval repeats.
    """

    size: int = 1
    timeout: float = 30.0
    ttl: int = 10
    retry_intervals: tuple[float, ...] = (5.0,)

    def retry_delay(self, attempts: int) -> float | None:
        """The seconds to wait after so many failed attempts; None to give up."""
        if self.ttl != RETRY_FOREVER and attempts > self.ttl:
            return None
        return self.retry_intervals[min(attempts, len(self.retry_intervals)) - 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkOptions:
    """All options of a sink.

    `max_pending` is the largest number of events that it may hold. A notification that repeats
    another within `retry_window` seconds is a retry of its sender. Stored events are counted with
    the next notification of their service path, or after `settlement_seconds`. With `keep_hours`
    the hours of entities that send much are kept without a reader.
    """

    naming: NamingOptions = NamingOptions()
    layout: ItemLayout = ItemLayout()
    batching: BatchingOptions = BatchingOptions()
    enable_grouping: bool = False
    enable_name_mappings: bool = False
    ack: Ack = Ack.DURABLE
    max_pending: int = 10_000
    retry_window: int = 300
    settlement_seconds: float = 5.0
    keep_hours: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionTimes:
    """How long the sink keeps what it wrote; None is for ever.

    A run stays at least as long as the file of its segment.
    """

    segments: timedelta = timedelta(days=7)
    runs: timedelta | None = None
    letters: timedelta | None = None


FOR_EVER: Final = RetentionTimes()
"""Nothing but the files of segments goes."""
