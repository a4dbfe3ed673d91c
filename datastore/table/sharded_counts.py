"""Counts of one thing: in its own row, which is shard 0, and in rows of shards.

A shard's row exists only if the thing does, and carries the mark of its deletion. The thing's own
row notes in `shards` how many there are, so that both can be deleted without losing an addition.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from penstock.datastore.table.commit import Preparation, StaleRead, Write, already_done
from penstock.datastore.table.keys import KeyPart
from penstock.datastore.table.layout import Row
from penstock.datastore.table.port import (
    AllOf,
    AnyOf,
    Attributes,
    Compare,
    Condition,
    ConditionFailed,
    Delete,
    Exists,
    Item,
    Key,
    Missing,
    Put,
    Query,
    Table,
    Update,
    key_of,
)

DELETING: Final = "deletingAt"
"""The attribute that marks the rows of a thing that is being deleted with all its contents."""

SHARDS: Final = "shards"

_OPEN: Final = AllOf((Exists(), Missing(DELETING)))


@dataclass(frozen=True, slots=True)
class ShardedCounts:
    """The counts of the thing whose own row has the key `own`.

    `values` are those of the variables of the shards' row. `refuse` describes why nothing can be
    added: the row is missing, or marked.
    """

    own: Key
    row: Row
    values: Mapping[str, KeyPart]
    refuse: Callable[[Item | None], Exception]

    def change(self, shard: int, attribute: str, step: int) -> Write:
        """Add a step to the count of a shard, whose row is made if need be.

        Nothing is added to a thing that is missing or being deleted.
        """

        def describe_refusal(standing: Item | None) -> Preparation | Exception:
            if standing is None and shard and step > 0:
                return self._open_shard(shard)
            return self.refuse(standing)

        condition = _OPEN if step > 0 else Exists()
        update = Update(key=self.key(shard), add={attribute: step}, condition=condition)
        return Write(update, describe_refusal)

    def key(self, shard: int) -> Key:
        return self.row.key(**self.values, shard=shard) if shard else self.own

    def new_shard(self, shard: int) -> Item:
        """The row of a new shard, which counts nothing yet."""
        return self.row.item(**self.values, shard=shard)

    async def read_shards(self, table: Table, *, consistent: bool = True) -> Sequence[Attributes]:
        """Read the rows of the shards, which is one query of their partition."""
        partition = self.row.pk.fill(self.values)
        return (await table.query(Query(partition=partition, consistent=consistent))).items

    async def close_shards(self, table: Table, mark: Item) -> None:
        """Close the shards of a thing whose row is marked, so that nothing can be added to it.

        No shard is opened any more. A thing that is gone stays so, and a new one of its name open.
        """
        shards = await self.read_shards(table)
        if open_keys := [key_of(row) for row in shards if DELETING not in row]:
            closed = [Update(key=key, default=mark, condition=Exists()) for key in open_keys]
            # This update changes nothing. A condition check would need one more IAM permission.
            still = Update(key=self.own, default=mark, condition=Exists(DELETING))
            with suppress(ConditionFailed):
                await table.transact([*closed, still])

    async def removal_writes(
        self,
        table: Table,
        counted: Sequence[str],
        refuse: Callable[[Item | None], Exception | None],
        not_empty: Exception,
        *,
        marked: bool = False,
    ) -> list[Write]:
        """The writes that remove all rows, on condition that they count nothing.

        Raises StaleRead if a shard was opened since they were read. `refuse` describes why
        a thing can not be removed for another reason. With `marked`, it must be being deleted.
        """
        shards = [key_of(row) for row in await self.read_shards(table)]

        def describe_refusal(standing: Item | None) -> Exception:
            refused = refuse(standing)
            if refused is not None:
                return refused
            changed = standing is not None and standing.get(SHARDS, 0) != len(shards)
            return StaleRead() if changed else not_empty

        def describe_shard(standing: Item | None) -> Exception:
            return StaleRead() if standing is None else not_empty

        known = Compare(SHARDS, "=", len(shards)) if shards else _is_zero(SHARDS)
        empty: tuple[Condition, ...] = (Exists(), *map(_is_zero, counted), known)
        gone = Delete(self.own, AllOf((*empty, Exists(DELETING)) if marked else empty))
        drained = AllOf((Exists(), *map(_is_zero, counted)))
        return [
            Write(gone, describe_refusal),
            *(Write(Delete(key, drained), describe_shard) for key in shards),
        ]

    def _open_shard(self, shard: int) -> Preparation:
        """Make the row of a shard, and note in the thing's own row that there is one more."""
        noted = Update(key=self.own, add={SHARDS: 1}, condition=_OPEN)
        return Preparation(
            (Write(Put(self.new_shard(shard), Missing()), already_done), Write(noted, self.refuse))
        )


def _is_zero(attribute: str) -> Condition:
    return AnyOf((Missing(attribute), Compare(attribute, "=", 0)))
