"""Bringing all that lies below a prefix into a library: a job, and what it could not take in."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from penstock.datastore.audio.names import object_hash
from penstock.datastore.audio.objects import uploads_prefix
from penstock.datastore.audio.records import ImportFailure
from penstock.datastore.audio.sources import Sources
from penstock.datastore.commit import Write, commit, done
from penstock.datastore.errors import FieldProblem, Invalid, NotFound, PenstockError
from penstock.datastore.items import load
from penstock.datastore.jobs import Job, JobKind, item_of, new_job
from penstock.datastore.layout import IMPORT_FAILURE
from penstock.datastore.leases import KEPT
from penstock.datastore.resources.scope import Scope
from penstock.datastore.slices import Slice, Window, sliced
from penstock.datastore.table import TTL, Item, Key, Missing, Put, Query, Range
from penstock.datastore.text import character_problem

MAX_PREFIX: Final = 1024


@dataclass(frozen=True, slots=True)
class Importing:
    """The imports of the caller; `begun` is called for each."""

    scope: Scope
    sources: Sources
    begun: Callable[[], None]

    async def begin(self, connection_id: str | None, prefix: str) -> Job:
        """Begin the job that takes in every object below the prefix, and report each that is none.

        Without a connection it looks among the caller's own uploads. Raises NotFound for a
        connection that the caller does not have.
        """
        prefix = prefix or (uploads_prefix(self._user) if connection_id is None else "")
        self._check(prefix, own=connection_id is None)
        if connection_id is not None:
            (found,) = await self.sources.connections.many([connection_id])
            if isinstance(found, NotFound):
                raise NotFound(found.message, ("storageId",))
        job = new_job(self.scope, JobKind.IMPORT_AUDIO, connection=connection_id, prefix=prefix)
        await commit(self.scope.table, [Write(Put(item_of(job), Missing()), done)])
        self.begun()
        return job

    async def failures(self, job: str, window: Window) -> Slice[ImportFailure]:
        """List what an import of the caller's did not take in: `sk` begins with `IJ:<job>:`."""
        prefix = IMPORT_FAILURE.sk.prefix({"job": job})
        pk = IMPORT_FAILURE.pk.fill({"user": self._user})
        query = Query(
            partition=pk,
            range=Range(prefix),
            after=None if window.after is None else Key(pk, prefix + window.after),
            descending=window.backward,
            limit=window.size + 1,
        )
        page = await self.scope.table.query(query)
        found = [(str(item["sk"]).removeprefix(prefix), item) for item in page.items]
        part = sliced(found, window, lambda each: each[0], more=page.last is not None)
        return part.map([load(ImportFailure, item) for _, (_, item) in part.entries])

    def _check(self, prefix: str, *, own: bool) -> None:
        if len(prefix.encode()) > MAX_PREFIX or character_problem(prefix):
            raise Invalid([FieldProblem(["prefix"], "is no beginning of a key")])
        if own and not prefix.startswith(uploads_prefix(self._user)):
            words = f"must begin with {uploads_prefix(self._user)}"
            raise Invalid([FieldProblem(["prefix"], words)])

    @property
    def _user(self) -> str:
        return self.scope.caller.user_id


def failure_item(scope: Scope, job: str, key: str, error: PenstockError) -> Item:
    """The row that tells of one object; it goes when the job does."""
    return {
        **IMPORT_FAILURE.item(user=scope.caller.user_id, job=job, hash=object_hash(key)),
        "objectKey": key,
        "code": error.code.value,
        "message": error.message,
        TTL: int((scope.clock.now() + KEPT).timestamp()),
    }
