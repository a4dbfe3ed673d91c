"""The entries of all audit trails, for commands that read the whole table."""

from collections.abc import AsyncIterator

from penstock.datastore.history.rows import OF_GROUP, HistoryEntry, entry_from
from penstock.datastore.table.layout import HISTORY
from penstock.datastore.table.port import Key, Scan, Table
from penstock.datastore.text import unescape


async def read_all_entries(table: Table, group: str | None = None) -> AsyncIterator[HistoryEntry]:
    """Yield each entry once: those of all groups, or those in the trail of one group.

    Scans the table. An entry lies in several trails; it is taken from that of its home.
    """
    prefix = HISTORY.pk.prefix({"kind": OF_GROUP})
    after: Key | None = None
    while True:
        page = await table.scan(Scan(after=after))
        for row in page.items:
            pk = str(row["pk"])
            if pk.startswith(prefix):
                entry, of = entry_from(row), unescape(pk.removeprefix(prefix))
                if of == (entry.home if group is None else group):
                    yield entry
        after = page.last
        if after is None:
            return
