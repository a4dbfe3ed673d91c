"""The rows that an answer leaves out, named to callers who administer them."""

from collections.abc import Awaitable

from penstock.datastore.roles import Caller
from penstock.datastore.table.unreadable_rows import collect_unreadable
from penstock.schema.engine.engine import OperationResult

EXTENSION = "unreadable"


async def name_unreadable(answer: Awaitable[OperationResult], caller: Caller) -> OperationResult:
    """Await an answer, and name in it the rows that could not be read for it.

    `extensions.unreadable` has the keys of at most 100 rows that the caller administers.
    """
    with collect_unreadable() as found:
        result = await answer
    named = [
        {"pk": row.key.pk, "sk": row.key.sk, "problem": row.problem}
        for row in found.values()
        if row.is_administered_by(caller)
    ]
    if named:
        result.body.setdefault("extensions", {})[EXTENSION] = named
    return result
