"""The rows of the log: each change of a pipeline or metric, each transition of an execution.

A row is written in the transaction of its change, so that none is missing. It expires.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from penstock.datastore.records import StoredRecord
from penstock.datastore.roles import GroupPath
from penstock.datastore.table.commit import Write
from penstock.datastore.table.items import attributes_of, load
from penstock.datastore.table.layout import CHANGE
from penstock.datastore.table.port import TTL, Attributes, Put

SHARDS: Final = 4
"""The partitions of the log of each kind, so that many writers do not wait for one of them."""

RETENTION: Final = timedelta(hours=1)
"""The time for which a subscription can be resumed."""


class ChangeKind(StrEnum):
    """The objects whose lists can be followed."""

    PIPELINE = "P"
    METRIC = "M"
    EXECUTION = "PE"


class Change(StoredRecord, frozen=True, kw_only=True):
    """A change of one object at a time of its writer's clock, in milliseconds since 1970.

    `step` counts the changes of the object. `groups` are the groups that list it before the change
    or after it. An execution has the id of its pipeline, and its `states` before and after.
    `grants` are the groups whose grants came or went, if nothing else changed.
    """

    id: str
    at: int
    step: int
    groups: tuple[GroupPath, ...]
    pipeline_id: str | None = None
    states: tuple[str, ...] = ()
    grants: tuple[GroupPath, ...] = ()

    @property
    def key(self) -> tuple[int, str, int]:
        """The place of the change in the log."""
        return self.at, self.id, self.step


def change_write(kind: ChangeKind, change: Change) -> Write:
    """Write into the log: `pk = CL:<kind>:<shard>, sk = CL:<changed>:<id>:<step>`; 2 units."""
    place = {"kind": kind.value, "shard": shard_of(change.id)}
    key = CHANGE.item(**place, changed=change.at, id=change.id, step=change.step)
    attributes = attributes_of(change)
    del attributes["at"], attributes["step"]
    return Write(Put({**key, **attributes, TTL: change.at // 1000 + _KEPT}))


_KEPT: Final = int(RETENTION.total_seconds())


def shard_of(id: str) -> int:
    """Choose the partition of an object: all its changes lie in one."""
    return int(id[-1], 16) % SHARDS


def change_of(row: Attributes) -> Change:
    """Read a row of the log."""
    parts = CHANGE.sk.parse(str(row["sk"]))
    return load(Change, row, id=parts["id"], at=int(parts["changed"]), step=int(parts["step"]))


def moment_of(time: datetime) -> int:
    """Return a time in milliseconds since 1970."""
    return round(time.timestamp() * 1000)


def groups_of(*groups: Iterable[GroupPath]) -> tuple[GroupPath, ...]:
    """Return all groups, each once."""
    return tuple(dict.fromkeys(group for some in groups for group in some))
