"""A process that writes to a table's file and prints each number once it was acknowledged."""

import asyncio
import sys
from pathlib import Path

from penstock.datastore.sqlite.table import SqliteTable
from penstock.datastore.table.port import Key, Put, Update
from tests.support.patience import HUNG_SECONDS


async def write(path: Path, names: str, count: int) -> None:
    """Write so many items at once under each of the names, which are one letter each."""
    table = SqliteTable.open(path, busy_seconds=HUNG_SECONDS)
    await table.create()
    await asyncio.gather(*(write_one(table, name, count) for name in names))
    await table.close()


async def write_one(table: SqliteTable, name: str, count: int) -> None:
    for number in range(count):
        await table.transact(
            [
                Put({"pk": name, "sk": f"{number:06}", "text": "x" * 100}),
                Update(key=Key("counter", "all"), add={"n": 1}),
            ]
        )
        sys.stdout.write(f"{name}{number}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(write(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
