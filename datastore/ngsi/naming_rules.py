"""Name mappings and grouping rules as they are kept: put by an admin, read by every sink."""

from dataclasses import dataclass
from typing import Final

import msgspec

from penstock.datastore.access import Role
from penstock.datastore.errors import NotFound, NotPermitted
from penstock.datastore.layout import NAMING_RULES
from penstock.datastore.ngsi.grouping import Grouper, GroupingRules, Renaming, read_rules
from penstock.datastore.ngsi.mappings import Mapper, NameMappings, read_mappings
from penstock.datastore.ngsi.options import SinkOptions
from penstock.datastore.paths import ROOT
from penstock.datastore.resources.scope import Scope
from penstock.datastore.table import Item, Put, Table

MAPPINGS: Final = "mappings"
GROUPING: Final = "grouping"


class Documents(msgspec.Struct, frozen=True):
    """What was put, None where nothing was."""

    mappings: str | None = None
    grouping: str | None = None


@dataclass(frozen=True, slots=True)
class NamingRules:
    """The documents, for admins of everything: what they say holds for every service."""

    scope: Scope

    async def put_mappings(self, document: bytes) -> NameMappings:
        """Replace the name mappings; those that stand stay where Invalid is raised."""
        self._require(Role.ADMIN)
        mapper = Mapper.over(read_mappings(document))
        await self._put(MAPPINGS, document)
        return mapper.mappings

    async def put_rules(self, document: bytes) -> GroupingRules:
        """Replace the grouping rules, likewise."""
        self._require(Role.ADMIN)
        grouper = Grouper.over(read_rules(document))
        await self._put(GROUPING, document)
        return grouper.rules

    async def documents(self) -> Documents:
        """The documents as they were put, for readers of everything."""
        self._require(Role.READER)
        return await read_documents(self.scope.table)

    def _require(self, role: Role) -> None:
        """Refuse who has no role at the root as one who may not know that there are rules."""
        caller = self.scope.caller
        if not caller.has(Role.READER, ROOT):
            raise NotFound("There are no naming rules.")
        if not caller.has(role, ROOT):
            raise NotPermitted(f"This needs the role {role.name} at {ROOT}.")

    async def _put(self, kind: str, document: bytes) -> None:
        item: Item = {
            **NAMING_RULES.item(kind=kind),
            "document": document.decode(),
            "updatedAt": self.scope.clock.timestamp(),
            "updatedBy": self.scope.caller.user_id,
        }
        await self.scope.table.write([Put(item)])


async def read_documents(table: Table) -> Documents:
    """Read both: consistent gets of `pk = NM:<kind>, sk = NM`."""
    keys = [NAMING_RULES.key(kind=kind) for kind in (MAPPINGS, GROUPING)]
    found = (await table.get(keys, consistent=True)).items
    texts = (str(found[key]["document"]) if key in found else None for key in keys)
    return Documents(*texts)


async def renaming_of(table: Table, options: SinkOptions) -> Renaming:
    """What the documents say, as far as the options have them count."""
    if not options.enable_name_mappings and not options.enable_grouping:
        return Renaming()
    documents = await read_documents(table)
    mapper, grouper = None, None
    if options.enable_name_mappings and documents.mappings is not None:
        mapper = Mapper.over(read_mappings(documents.mappings.encode()))
    if options.enable_grouping and documents.grouping is not None:
        grouper = Grouper.over(read_rules(documents.grouping.encode()))
    return Renaming(mapper, grouper)
