"""Pages of what the caller's partition lists under a prefix, latest first."""

from penstock.datastore.layout import LIBRARY
from penstock.datastore.resources.scope import Scope
from penstock.datastore.slices import Slice, Window, sliced
from penstock.datastore.table import Attributes, Key, Query, Range


async def latest_first(scope: Scope, prefix: str, window: Window) -> Slice[Attributes]:
    """One page of the rows whose sort key begins so; positions are what follows the prefix."""
    pk = LIBRARY.pk.fill({"user": scope.caller.user_id})
    query = Query(
        partition=pk,
        range=Range(prefix),
        after=None if window.after is None else Key(pk, prefix + window.after),
        descending=not window.backward,
        limit=window.size + 1,
    )
    page = await scope.table.query(query)
    return sliced(
        page.items,
        window,
        lambda item: str(item["sk"]).removeprefix(prefix),
        more=page.last is not None,
    )
