"""The rows of a job: its own, which workers find, and those of the lists that users read."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from penstock.datastore.clock import iso_timestamp
from penstock.datastore.jobs.jobs import Job
from penstock.datastore.roles import ancestors
from penstock.datastore.table.commit import Write, already_done
from penstock.datastore.table.items import attributes_of
from penstock.datastore.table.layout import JOB, JOB_AT_GROUP, JOB_OF_GROUP, JOB_OF_USER
from penstock.datastore.table.port import INDEX_HASH, TTL, Key, Missing, Put, Update, Value

HOLD_ATTRIBUTES: Final = ("worker", "heldUntil")
JOB_RETENTION: Final = timedelta(days=7)
"""The time for which a job that is over can still be read."""


def creation_writes(job: Job) -> list[Write]:
    """The writes that create a job: its row, listed for the workers, and those of its lists."""
    attributes = attributes_of(job)
    made = Write(Put({**JOB.item(id=job.id), **attributes}, Missing()), already_done)
    return [made, *(Write(Put({"pk": key.pk, "sk": key.sk})) for key in _list_keys(job))]


def ending_updates(job: Job, update: Update, now: datetime) -> list[Update]:
    """The writes that end a job: the update of its row, which then expires as its lists do."""
    expires: dict[str, Value] = {TTL: int((now + JOB_RETENTION).timestamp())}
    ended = {**update.set, "finishedAt": iso_timestamp(now), **expires}
    removed = (*update.remove, INDEX_HASH, *HOLD_ATTRIBUTES)
    lists = [Update(key=key, set=expires) for key in _list_keys(job)]
    return [replace(update, set=ended, remove=removed), *lists]


def _list_keys(job: Job) -> list[Key]:
    """The rows that list a job: for its user, at its group, and of it and each group above that."""
    keys = [JOB_OF_USER.key(user=job.created_by, id=job.id)]
    if job.group is not None:
        keys.append(JOB_AT_GROUP.key(group=job.group, id=job.id))
        keys += [JOB_OF_GROUP.key(group=group, id=job.id) for group in ancestors(job.group)]
    return keys
