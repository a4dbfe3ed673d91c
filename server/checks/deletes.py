"""The check for deletes that were cut short."""

from datastore.store import Store
from server.checks.finding import Finding, ok, warn

CHECK = "deletes"


async def pending_deletes(store: Store) -> Finding:
    """Count the tombstones; datastore.errors.Unavailable where the store does not answer."""
    count = await store.pending_deletes()
    if count == 0:
        return ok(CHECK, "No delete was cut short.")
    advice = "A server finishes them when it starts, unless one is at it right now."
    return warn(CHECK, f"{count} deletes are not finished.", advice)
