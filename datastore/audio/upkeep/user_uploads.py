"""Files that users upload for one use, such as a cover or a playlist; the sweep deletes them.

One that was used may be used again as long as it is there. It holds no place among the uploads of
its user: it goes when the place is needed.
"""

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from penstock.datastore.access.access import Access
from penstock.datastore.access.open_uploads import UploadKind
from penstock.datastore.access.upload_forms import FormTerms, open_form
from penstock.datastore.audio.names import object_hash
from penstock.datastore.audio.object_keys import check_file_name, is_owned
from penstock.datastore.audio.upkeep.loose_objects import LooseObjects, loose_key
from penstock.datastore.errors import NotFound, PenstockError
from penstock.datastore.objects.chunks import read_bounded
from penstock.datastore.objects.port import UNKNOWN_TYPE, UploadForm


class UploadTicket(NamedTuple):
    """A form for an upload, and the key with which the object is named afterwards."""

    object_key: str
    form: UploadForm


async def open_upload(access: Access, terms: FormTerms) -> UploadTicket:
    """Open a form for an upload; the sweep deletes what stays unused for a day after it."""
    note = partial(LooseObjects(access).note_upload, terms.key)
    return UploadTicket(terms.key, await open_form(access, terms, note=note))


@dataclass(frozen=True, slots=True)
class UserUploads:
    """The uploads of one kind of the caller, below a prefix; they stay for a day after their form.

    Each has at most `max_bytes` bytes.
    """

    access: Access
    kind: UploadKind
    prefix: str
    max_bytes: int

    async def form(self, file_name: str) -> UploadTicket:
        """Allow one upload."""
        check_file_name(file_name)
        key = f"{self.prefix}{self.access.clock.new_id()}/{file_name}"
        terms = FormTerms(
            self.kind,
            object_hash(key),
            key,
            self.max_bytes,
            UNKNOWN_TYPE,
            watched=loose_key(key),
        )
        return await open_upload(self.access, terms)

    async def size(self, object_key: str) -> int | None:
        """The bytes of an upload; None if the caller has none with this key."""
        if not self._is_own(object_key):
            return None
        stat = await self.access.files.stat(object_key)
        return None if stat is None else stat.size

    async def read(self, object_key: str) -> bytes | None:
        """The content of an upload; None if the caller has none with this key, or a larger one."""
        if not self._is_own(object_key):
            return None
        chunks = self.access.files.read(object_key, end=self.max_bytes + 1)
        try:
            return await read_bounded(chunks, self.max_bytes)
        except NotFound:
            return None

    async def try_note_use(self, object_key: str) -> None:
        """Give the place of an upload back; a failure leaves that to the sweep."""
        with suppress(PenstockError):
            await LooseObjects(self.access).note_use(object_key)

    def _is_own(self, object_key: str) -> bool:
        user = self.access.caller.user_id
        return is_owned(user, object_key) and object_key.startswith(self.prefix)
