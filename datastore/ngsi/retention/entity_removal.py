"""The removal of an entity without samples from the directory, unless something arrives meanwhile.

Servers remember which rows of the directory they wrote. So every process first learns of the
removal: a commit requires that it knows all removals of its service path. What was committed before
is in a segment that is not settled; the caller waits for those. Whoever writes a row again takes
off its mark, and a row without the mark stays.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass

from penstock.datastore.access.access import Access
from penstock.datastore.ngsi.catalog import LEAVING
from penstock.datastore.ngsi.counts import removal_updates
from penstock.datastore.ngsi.directory import Directory, Entity
from penstock.datastore.table.layout import ATTRIBUTE, ENTITY, LATEST_SAMPLES
from penstock.datastore.table.port import Compare, ConditionFailed, Delete, Exists, Key, Update


@dataclass(frozen=True, slots=True)
class EntityRemoval:
    """The removal of one entity; `mark` is unique to the call that removes it."""

    access: Access
    entity: Entity
    mark: str

    async def announce(self) -> None:
        """Mark the rows of the entity, and let every process learn that they may go."""
        table = self.access.table
        async for key in self._keys():
            marked = Update(key=key, set={LEAVING: self.mark}, condition=Exists())
            await self._change_if(marked)
        await table.transact(removal_updates((self.entity.service, self.entity.path)))

    async def remove(self) -> bool:
        """Remove the rows that still have the mark; False if the entity was written again."""
        async for key in self._keys():
            marked = Compare(LEAVING, "=", self.mark)
            if not await self._change_if(Delete(key, marked)) and key == self._entity_key:
                found = await self.access.table.get([key], consistent=True)
                if key in found.items:
                    return False
        return True

    async def _change_if(self, operation: Update | Delete) -> bool:
        """Make a change; False if its condition does not hold."""
        try:
            await self.access.table.transact([operation])
        except ConditionFailed:
            return False
        return True

    @property
    def _entity_key(self) -> Key:
        return ENTITY.key(**self.entity.key_values)

    async def _keys(self) -> AsyncIterator[Key]:
        """The rows of the entity: its own first, so that those of a returning one stay.

        The last one names its latest samples.
        """
        yield self._entity_key
        async for attribute in Directory(self.access).walk_attributes(self.entity):
            yield ATTRIBUTE.key(**attribute.key_values)
        yield LATEST_SAMPLES.key(**self.entity.key_values)
