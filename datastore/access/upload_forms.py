"""Forms for uploads: each takes a place of its caller, as long as it is open and not used."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final, NamedTuple

from penstock.datastore.access.access import Access, group_not_found_error, key_of_group
from penstock.datastore.access.open_uploads import OpenedUpload, UploadKind
from penstock.datastore.objects.no_files import NO_FILES
from penstock.datastore.objects.port import UploadForm, files_unavailable
from penstock.datastore.roles import ROOT, GroupPath
from penstock.datastore.table.commit import Write
from penstock.datastore.table.port import AllOf, Check, Exists, Key, Missing
from penstock.datastore.table.sharded_counts import DELETING

FORM_TIME: Final = timedelta(hours=1)


class FormTerms(NamedTuple):
    """The file that a form allows, and the row by which its use shows, if there is one.

    `id` names the upload among those of its kind.
    """

    kind: UploadKind
    id: str
    key: str
    max_bytes: int
    content_type: str
    watched: Key | None = None


async def open_form(
    access: Access,
    terms: FormTerms,
    *,
    group: GroupPath | None = None,
    note: Callable[[], Awaitable[None]] | None = None,
) -> UploadForm:
    """Sign a form, take a place for its time, and note the upload; a failure leaves no place.

    Raises LimitExceeded if the caller or the group has no place left.
    """
    if access.files is NO_FILES:
        raise files_unavailable()
    # What cannot be signed takes no place, and no form writes longer than its place is its own.
    form = await access.files.presign_upload(
        terms.key,
        max_bytes=terms.max_bytes,
        content_type=terms.content_type,
        expires_in=int(FORM_TIME.total_seconds()),
    )
    expires_at = access.clock.now() + FORM_TIME
    opened = OpenedUpload(terms.kind, terms.id, expires_at, terms.watched, key=terms.key)
    # Otherwise the place could be one of the next group of its path.
    standing = [] if group is None or group == ROOT else [_open_group_check(group)]
    await access.open_uploads.open(opened, group, standing)
    if note is not None:
        async with access.open_uploads.closed_on_failure(terms.kind, terms.id):
            await note()
    return form


def _open_group_check(group: GroupPath) -> Write:
    check = Check(key_of_group(group), AllOf((Exists(), Missing(DELETING))))
    return Write(check, lambda _: group_not_found_error(group))
