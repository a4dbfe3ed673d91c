"""The imports of a user that have not ended, in one row, so that no two begin by the same look."""

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.datastore.access.access import Access
from penstock.datastore.errors import FieldProblem, Invalid
from penstock.datastore.jobs.jobs import Job, find_jobs
from penstock.datastore.table.commit import Write
from penstock.datastore.table.layout import OPEN_IMPORTS
from penstock.datastore.table.port import Compare, Item, Key, Missing, Put


@dataclass(frozen=True, slots=True)
class OpenImports:
    """The imports of a user that have not ended, as they were read at a revision of the row."""

    key: Key
    revision: int
    jobs: Mapping[str, Job]

    def find_equal(self, connection: str | None, prefix: str) -> Job | None:
        """Find the import of these objects; None without one."""
        target = (connection, prefix)
        return next(
            (job for job in self.jobs.values() if (job.connection, job.prefix) == target), None
        )

    def require_room(self, most: int) -> None:
        """Raise Invalid if so many have not ended."""
        if len(self.jobs) >= most:
            words = f"waits: {most} imports of yours have not ended"
            raise Invalid([FieldProblem(["prefix"], words, "TOO_MANY_IMPORTS")])

    def adding_write(self, job: Job) -> Write:
        """The write that adds an import; it raises StaleRead after any other change of the row."""
        unchanged = Compare("revision", "=", self.revision) if self.revision else Missing()
        row: Item = {"revision": self.revision + 1, "jobs": [*self.jobs, job.id]}
        return Write(Put({"pk": self.key.pk, "sk": self.key.sk, **row}, unchanged))


async def read_open_imports(access: Access) -> OpenImports:
    """Read the caller's imports that have not ended: `pk = UI:<user>, sk = UI`, then their jobs."""
    key = OPEN_IMPORTS.key(user=access.caller.user_id)
    row = (await access.table.get([key], consistent=True)).items.get(key, {})
    listed = row.get("jobs", [])
    ids = [str(id) for id in listed] if isinstance(listed, list | tuple) else []
    found = {job.id: job for job in await find_jobs(access.table, ids) if job is not None}
    going = {id: job for id, job in found.items() if not job.is_over}
    return OpenImports(key, int(str(row.get("revision", 0))), going)
