"""The checks for work that was begun and is left: deletes that were cut short, and jobs."""

from datastore.store import Store
from server.checks.finding import Finding, Findings, ok, warn


async def unfinished(store: Store) -> Findings:
    """Judge what is left; datastore.errors.Unavailable where the store does not answer."""
    yield deletes(await store.pending_deletes())
    yield jobs(await store.idle_jobs())


def deletes(count: int) -> Finding:
    if count == 0:
        return ok("deletes", "No delete was cut short.")
    advice = "A server finishes them when it starts, unless one is at it right now."
    return warn("deletes", f"{count} deletes are not finished.", advice)


def jobs(count: int) -> Finding:
    if count == 0:
        return ok("jobs", "No job waits for a server.")
    advice = "A server takes them up within seconds; if one runs, its log says what keeps it."
    return warn("jobs", f"{count} jobs wait for a server.", advice)
