"""A process that writes to a file's table and prints each number once it was acknowledged."""

import asyncio
import sys
from pathlib import Path

from datastore.sqlite import SqliteTable
from datastore.table import Key, Put, Update


async def write(path: Path, name: str, count: int) -> None:
    table = SqliteTable.open(path, busy_seconds=30)
    await table.create()
    for number in range(count):
        await table.transact(
            [
                Put({"pk": name, "sk": f"{number:06}", "text": "x" * 100}),
                Update(key=Key("counter", "all"), add={"n": 1}),
            ]
        )
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()
    await table.close()


if __name__ == "__main__":
    asyncio.run(write(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
