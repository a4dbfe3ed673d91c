"""Reading any number of rows by their keys."""

from asyncio import gather
from collections.abc import Iterable

from penstock.datastore.table import Attributes, Key, Table

MAX_KEYS = 100


async def read_rows(
    table: Table, keys: Iterable[Key], *, consistent: bool = False
) -> dict[Key, Attributes]:
    """The rows under the keys; more than one request holds are asked for side by side."""
    distinct = list(dict.fromkeys(keys))
    batches = await gather(
        *(
            table.get(distinct[start : start + MAX_KEYS], consistent=consistent)
            for start in range(0, len(distinct), MAX_KEYS)
        )
    )
    return {key: item for batch in batches for key, item in batch.items.items()}
