"""The report of an import: the objects that it could not add or no longer finds, with reasons."""

from dataclasses import dataclass
from typing import Final

from penstock.datastore.access.access import Access
from penstock.datastore.audio.names import object_hash
from penstock.datastore.audio.records import ImportFailure, ImportFailureCode
from penstock.datastore.errors import (
    Invalid,
    LimitExceeded,
    NotFound,
    ObjectRefused,
    PenstockError,
    QuotaExceeded,
)
from penstock.datastore.jobs.rows import JOB_RETENTION
from penstock.datastore.objects.checks import is_key
from penstock.datastore.table.items import load
from penstock.datastore.table.layout import IMPORT_FAILURE
from penstock.datastore.table.pages import Slice, Window, read_records, slice_placed
from penstock.datastore.table.port import TTL, Attributes, Item, Key, Query, Range

REFUSED_MESSAGE: Final = "The bucket does not give out this object, though it lists it."
UNUSABLE_KEY_MESSAGE: Final = "The server cannot use this key of an object."
_CODES: Final = frozenset(code.value for code in ImportFailureCode)


@dataclass(frozen=True, slots=True)
class ImportReports:
    """The reports of the caller's imports."""

    access: Access

    async def page(self, job: str, window: Window) -> Slice[ImportFailure]:
        """List the failures of a caller's import: `sk` begins with `IJ:<job>:`."""
        prefix = IMPORT_FAILURE.sk.prefix({"job": job})
        pk = IMPORT_FAILURE.pk.fill({"user": self.access.caller.user_id})
        query = Query(
            partition=pk,
            range=Range(prefix),
            after=None if window.after is None else Key(pk, prefix + window.after),
            descending=window.backward,
            limit=window.size + 1,
        )

        def read_placed(item: Attributes) -> tuple[str, ImportFailure]:
            return str(item["sk"]).removeprefix(prefix), _read_failure(item)

        return slice_placed(await read_records(self.access.table, query, read_placed), window)


def failure_item(access: Access, job: str, failure: ImportFailure) -> Item:
    """The row of a failure about one object; it expires together with the job."""
    key = failure.object_key
    return {
        **IMPORT_FAILURE.item(user=access.caller.user_id, job=job, hash=object_hash(key)),
        "objectKey": key,
        "code": failure.code.value,
        "message": failure.message,
        TTL: int((access.clock.now() + JOB_RETENTION).timestamp()),
    }


def describe_failure(key: str, error: PenstockError) -> ImportFailure:
    """The report about an object that could not be added."""
    if isinstance(error, ObjectRefused):
        code = ImportFailureCode.REFUSED
        return ImportFailure(object_key=key, code=code, message=REFUSED_MESSAGE)
    code, message = _failure_code(key, error), error.message
    if code is ImportFailureCode.INVALID_KEY and isinstance(error, NotFound):
        message = UNUSABLE_KEY_MESSAGE
    return ImportFailure(object_key=key, code=code, message=message)


def _failure_code(key: str, error: PenstockError) -> ImportFailureCode:
    match error:
        case NotFound():
            return ImportFailureCode.VANISHED if is_key(key) else ImportFailureCode.INVALID_KEY
        case Invalid(problems=[problem]) if problem.code in _CODES:
            return ImportFailureCode(problem.code)
        case Invalid(problems=problems) if any(p.path == ["objectKey"] for p in problems):
            return ImportFailureCode.INVALID_KEY
        case Invalid():
            return ImportFailureCode.INVALID_TAGS
        case LimitExceeded() | QuotaExceeded():
            return ImportFailureCode(error.code.value)
        case _:
            return ImportFailureCode.OTHER


def _read_failure(item: Attributes) -> ImportFailure:
    """Read a row; one of an earlier version of Penstock has a code that says little."""
    known = item["code"] in _CODES
    return load(ImportFailure, item if known else {**item, "code": ImportFailureCode.OTHER.value})
