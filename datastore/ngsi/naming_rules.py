"""Name mappings and grouping rules as they are kept: put by an admin, read by every sink."""

from dataclasses import dataclass
from typing import Final

from datastore.access import Role
from datastore.layout import NAMING_RULES
from datastore.ngsi.grouping import Grouper, GroupingRules, Renaming, read_rules
from datastore.ngsi.mappings import Mapper, NameMappings, read_mappings
from datastore.ngsi.options import SinkOptions
from datastore.paths import ROOT
from datastore.resources.scope import Scope
from datastore.table import Item, Key, Put, Table

MAPPINGS: Final = "mappings"
GROUPING: Final = "grouping"


@dataclass(frozen=True, slots=True)
class NamingRules:
    """The documents, for admins of everything: what they say holds for every service."""

    scope: Scope

    async def put_mappings(self, document: bytes) -> NameMappings:
        """Replace the name mappings; those that stand stay where Invalid is raised."""
        self.scope.require_at(Role.ADMIN, ROOT)
        mapper = Mapper.over(read_mappings(document))
        await self._put(MAPPINGS, document)
        return mapper.mappings

    async def put_rules(self, document: bytes) -> GroupingRules:
        """Replace the grouping rules, likewise."""
        self.scope.require_at(Role.ADMIN, ROOT)
        grouper = Grouper.over(read_rules(document))
        await self._put(GROUPING, document)
        return grouper.rules

    async def documents(self) -> dict[str, str]:
        """The documents by their kind, `mappings` and `grouping`; of those that were put."""
        self.scope.require_at(Role.ADMIN, ROOT)
        return await read_documents(self.scope.table)

    async def _put(self, kind: str, document: bytes) -> None:
        item: Item = {
            **NAMING_RULES.item(kind=kind),
            "document": document.decode(),
            "updatedAt": self.scope.clock.timestamp(),
            "updatedBy": self.scope.caller.user_id,
        }
        await self.scope.table.write([Put(item)])


async def read_documents(table: Table) -> dict[str, str]:
    """Read both: consistent gets of `pk = NM:<kind>, sk = NM`."""
    keys: dict[str, Key] = {kind: NAMING_RULES.key(kind=kind) for kind in (MAPPINGS, GROUPING)}
    found = (await table.get(list(keys.values()), consistent=True)).items
    return {kind: str(found[key]["document"]) for kind, key in keys.items() if key in found}


async def renaming_of(table: Table, options: SinkOptions) -> Renaming:
    """What the documents say, as far as the options have them count."""
    if not options.enable_name_mappings and not options.enable_grouping:
        return Renaming()
    documents = await read_documents(table)
    mapper, grouper = None, None
    if options.enable_name_mappings and MAPPINGS in documents:
        mapper = Mapper.over(read_mappings(documents[MAPPINGS].encode()))
    if options.enable_grouping and GROUPING in documents:
        grouper = Grouper.over(read_rules(documents[GROUPING].encode()))
    return Renaming(mapper, grouper)
