"""The table port: a store of items, as values and one protocol.

A table has the base key `pk`, `sk`, one index named `siKey1-pk-index` (hash `siKey1`, range `pk`,
all attributes) and the TTL attribute `expiresAt` (epoch seconds). Two implementations fulfil it:
`sqlite` and `dynamodb`; both enforce DynamoDB's limits before the call.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal, NamedTuple, Protocol, TypeAlias

Value: TypeAlias = "None | bool | int | Decimal | str | list[Value] | dict[str, Value]"
Item: TypeAlias = dict[str, Value]
Attributes: TypeAlias = Mapping[str, Value]

INDEX = "siKey1-pk-index"
INDEX_HASH = "siKey1"
TTL = "expiresAt"


class Key(NamedTuple):
    """The base-table key of an item."""

    pk: str
    sk: str


PING = Key("ping", "ping")
"""The key that is read to see whether the table answers."""


@dataclass(frozen=True, slots=True)
class Range:
    """Sort keys that begin with `prefix` and lie between `low` and `high`, both inclusive.

    Order is that of the UTF-8 bytes. `low` and `high`, where given, themselves begin with `prefix`.
    """

    prefix: str = ""
    low: str | None = None
    high: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """The request for one page of one partition, in sort-key order.

    On the index, `partition` is a `siKey1` and the sort key is `pk`. The page starts behind the
    base-table key `after`, in the direction of reading; an item with that key need not exist, but
    it must lie within the range. `limit` bounds the items examined. Index reads are eventually
    consistent, whatever `consistent` says.
    """

    partition: str
    index: bool = False
    range: Range = Range()
    after: Key | None = None
    descending: bool = False
    limit: int | None = None
    consistent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """The request for one page of a whole table, in the order of the store.

    The store divides the items among `segments`, which can be read at once; some may be empty. The
    page starts behind the base-table key `after`, and has only items whose `pk` begins with
    `prefix`. Reads are consistent, but the pages of one scan are not of one moment.
    """

    segment: int = 0
    segments: int = 1
    prefix: str = ""
    after: Key | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Exists:
    """The item has the attribute; with the default, the item exists."""

    attribute: str = "pk"


@dataclass(frozen=True, slots=True)
class Missing:
    """The item has no such attribute; with the default, there is no item."""

    attribute: str = "pk"


@dataclass(frozen=True, slots=True)
class Compare:
    """The item has the attribute, it has the value's type, and the comparison holds."""

    attribute: str
    operator: Literal["=", "<>", "<", "<=", ">", ">="]
    value: int | Decimal | str | bool


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every one of the conditions holds."""

    conditions: "tuple[Condition, ...]"


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one of the conditions holds."""

    conditions: "tuple[Condition, ...]"


Condition: TypeAlias = Exists | Missing | Compare | AllOf | AnyOf


@dataclass(frozen=True, slots=True)
class Put:
    """Write the whole item in place of the one under its key."""

    item: Item
    condition: Condition | None = None

    @property
    def key(self) -> Key:
        return key_of(self.item)


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove the item under the key, if there is one."""

    key: Key
    condition: Condition | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """Change attributes of the item under the key; without a condition it creates a missing item.

    `set` assigns, `default` assigns where the attribute is missing, `add` adds to a number (missing
    counts as 0), `remove` removes attributes. No attribute is named twice.
    """

    key: Key
    set: Mapping[str, Value] = field(default_factory=dict)
    default: Mapping[str, Value] = field(default_factory=dict)
    add: Mapping[str, int | Decimal] = field(default_factory=dict)
    remove: tuple[str, ...] = ()
    condition: Condition | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """Let the transaction happen only if the condition holds for the item under the key."""

    key: Key
    condition: Condition


Operation: TypeAlias = Put | Delete | Update | Check


@dataclass(frozen=True, slots=True)
class Batch:
    """The items that exist, by key. `units` are read units."""

    items: Mapping[Key, Attributes]
    units: float


@dataclass(frozen=True, slots=True)
class Page:
    """Items in the order of the query. `last` is the last key examined, None at the range's end.

    As on AWS, `last` is set whenever `limit` was reached, also when nothing follows.
    """

    items: tuple[Attributes, ...]
    last: Key | None
    units: float


class FailedCheck(NamedTuple):
    """The position of an operation whose condition failed, and the item under its key, if any."""

    position: int
    item: Item | None


class ConditionFailed(Exception):
    """A transaction changed nothing, because some of its conditions did not hold."""

    def __init__(self, failed: Sequence[FailedCheck], units: float) -> None:
        super().__init__(f"{len(failed)} condition(s) failed")
        self.failed = tuple(failed)
        self.units = units


class Table(Protocol):
    """A store of items. Every method may raise `errors.LimitExceeded` and `errors.Unavailable`."""

    async def get(self, keys: Sequence[Key], *, consistent: bool = False) -> Batch:
        """Read up to 100 distinct keys in one request (one key: GetItem; more: BatchGetItem).

        Keys that the store left unprocessed are requested again; the answer is complete.
        """

    async def query(self, query: Query) -> Page:
        """Read one page: at most `limit` items and at most 1 MB."""

    async def scan(self, scan: Scan) -> Page:
        """Read one page of a whole table, also items that expired: at most 1 MB.

        Servers need no permission to scan on AWS: only commands that move or check a whole table
        call this.
        """

    async def transact(self, operations: Sequence[Operation]) -> float:
        """Do all of up to 100 operations, on as many distinct items, or none; return write units.

        Raises ConditionFailed with every failed condition. The store recognises a retry after a
        lost answer, so the operations do not happen twice.
        """

    async def write(self, operations: Sequence[Put | Delete]) -> float:
        """Do up to 25 unconditional, idempotent writes in one request, each by itself.

        Writes that the store left unprocessed are sent again; on return all are done. Returns write
        units.
        """

    async def ping(self) -> None:
        """Read one key, and where the last write failed, write; raises `errors.Unavailable`."""

    async def create(self) -> None:
        """Create the table, its index and its TTL where they are missing."""

    async def verify(self) -> list[str]:
        """Describe in sentences how the table differs from its definition; empty if it does not."""

    async def close(self) -> None:
        """Close connections and threads; the table must not be used afterwards."""


def key_of(item: Mapping[str, Value]) -> Key:
    """The base-table key of an item."""
    pk, sk = item["pk"], item["sk"]
    if not isinstance(pk, str) or not isinstance(sk, str):
        raise TypeError("pk and sk are strings")
    return Key(pk, sk)
