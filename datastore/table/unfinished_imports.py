"""The imports of archives that have begun in a table and not ended: it holds a part of a store."""

from typing import Final

from penstock.datastore.errors import Unavailable
from penstock.datastore.table.layout import IMPORT
from penstock.datastore.table.limits import WRITE_OPERATIONS
from penstock.datastore.table.port import Delete, Key, Query, Table, key_of

UNFINISHED_IMPORT: Final = "An import into the table has not ended."
REPEAT_IMPORT: Final = (
    "Repeat `penstock import`, which goes on, or choose another table. `penstock import abandon` "
    "lets servers use this one as it is."
)


class UnfinishedImport(Unavailable):
    """An import into the table was cut short, or is under way."""

    def __init__(self) -> None:
        super().__init__(f"{UNFINISHED_IMPORT} {REPEAT_IMPORT}")


async def find_unfinished_imports(table: Table) -> list[Key]:
    """Find the rows of imports: a consistent query of `pk = MI`."""
    imports = Query(partition=IMPORT.pk.fill({}), limit=WRITE_OPERATIONS, consistent=True)
    return [key_of(item) for item in (await table.query(imports)).items]


async def require_ended_imports(table: Table) -> None:
    """Raise UnfinishedImport if the table holds a part of a store."""
    if await find_unfinished_imports(table):
        raise UnfinishedImport


async def abandon_imports(table: Table) -> int:
    """Forget the imports that have not ended, and return their number.

    One that is under way writes no more rows to a file, and at DynamoDB soon none.
    """
    found = await find_unfinished_imports(table)
    if found:
        await table.write([*map(Delete, found)])
    return len(found)
