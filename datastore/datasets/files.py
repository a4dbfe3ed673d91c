"""The files of reference datasets: uploads, and the content of each version."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from hashlib import sha256
from typing import NamedTuple

from msgspec.structs import replace

from penstock.datastore.access.access import Access
from penstock.datastore.access.upload_forms import FormTerms, open_form
from penstock.datastore.access.work import dataset_units
from penstock.datastore.datasets.csv import (
    MAX_INLINE,
    CsvCode,
    UnreadableCsv,
    dataset_problems,
    read_table,
)
from penstock.datastore.datasets.limits import IN_MEMORY, MAX_BYTES, CsvLimits
from penstock.datastore.datasets.staged_files import Attachment, StagedFile
from penstock.datastore.errors import BadArgument, FieldProblem, LimitExceeded, PenstockError
from penstock.datastore.formulas.threads import run_in_formula_thread
from penstock.datastore.formulas.transformers import prefix_paths
from penstock.datastore.objects.chunks import single_chunk
from penstock.datastore.objects.own_keys import walk_keys
from penstock.datastore.objects.port import Download, UploadForm, file_name_for
from penstock.datastore.periodic import finish_all
from penstock.datastore.records import DatasetColumn, DatasetContent, ReferenceDataset
from penstock.datastore.roles import GroupPath, Role
from penstock.datastore.table.commit import Write
from penstock.datastore.table.layout import REFERENCE_DATASET
from penstock.datastore.text import is_id

CONTENT_TYPE = "text/csv"
UPLOADS = "datasets/uploads/"
UPLOAD_RETENTION = timedelta(days=2)
"""The time for which an upload can be used, longer than a create's idempotency key is kept."""


def key_of_file(dataset: ReferenceDataset) -> str:
    """The object key of the content of a version."""
    return file_key(dataset.id, dataset.content.file)


def key_of_index(dataset: ReferenceDataset) -> str:
    """The object key of the index of a version with many rows."""
    return index_key(dataset.id, dataset.content.file)


def file_key(id: str, file: str) -> str:
    """The object key of a file of a dataset."""
    return f"{REFERENCE_DATASET.folder}{{file}}.csv".format(id=id, file=file)


def index_key(id: str, file: str) -> str:
    """The object key of the index of a file."""
    return f"{REFERENCE_DATASET.folder}{{file}}.rows".format(id=id, file=file)


class UsedUpload(NamedTuple):
    """The id of an upload, and the entity tag of the file that was used."""

    id: str
    etag: str


@dataclass(slots=True)
class DatasetFile:
    """The file of a dataset's new content, which is stored before the version is.

    `upload` is the upload that it came with, if there was one.
    """

    access: Access
    data: bytes
    upload: UsedUpload | None = None
    staged: StagedFile | None = field(default=None, init=False)

    async def place(self, resource: ReferenceDataset) -> tuple[ReferenceDataset, Sequence[Write]]:
        if self.staged is None:
            file = self.access.clock.new_id()
            self.staged = StagedFile(self.access, file, file_key(resource.id, file))
            await self.staged.put(single_chunk(self.data), CONTENT_TYPE)
        content = replace(resource.content, file=self.staged.id)
        return replace(resource, content=content), [self.staged.adoption_write()]

    async def settle(self) -> None:
        if self.staged is not None and self.upload is not None:
            with suppress(PenstockError):
                await end_upload(self.access, *self.upload)

    async def discard(self) -> None:
        if self.staged is not None:
            await self.staged.try_drop()


async def end_upload(access: Access, id: str, kept: str | None = None) -> None:
    """Let the form of an upload that was used write nothing any more.

    Its file goes unless it is `kept`, by its entity tag, for a repetition of the call: another one
    came since.
    """
    key = upload_key(access, id)
    await access.files.refuse_uploads(key)
    stored = await access.files.stat(key)
    if stored is not None and stored.etag != kept:
        await access.files.delete(key)
    await access.open_uploads.close("dataset", id)


class UploadTicket(NamedTuple):
    """An upload form for one file, and the id by which the uploader later names the file."""

    id: str
    form: UploadForm


class CheckedContent(NamedTuple):
    """The content from the input, the problems of its file, and the file if there are none."""

    content: DatasetContent
    problems: Sequence[FieldProblem]
    file: Attachment[ReferenceDataset] | None


@dataclass(frozen=True, slots=True)
class DatasetFiles:
    """The contents of datasets for the caller; only its uploader can use an upload.

    `limits` are those of files with an index.
    """

    access: Access
    limits: CsvLimits = IN_MEMORY

    async def upload(self, group: GroupPath | None, most: int = MAX_BYTES) -> UploadTicket:
        """Make a form for a file of at most so many bytes.

        The caller must be contributor at a group, as for a create. Raises LimitExceeded.
        """
        if most < 1:
            raise BadArgument("A file has at least one byte.", ("maxBytes",))
        if most > max(self.limits.size, MAX_BYTES):
            raise LimitExceeded("bytes of a dataset", self.limits.size, most, ["maxBytes"])
        chosen = self.access.group_or_default(group)
        self.access.require_role(Role.CONTRIBUTOR, chosen)
        # Otherwise the places of its uploads would be those of the next group of its path.
        await self.access.require_open_group(chosen)
        id = self.access.clock.new_id()
        terms = FormTerms("dataset", id, upload_key(self.access, id), most, CONTENT_TYPE)
        return UploadTicket(id, await open_form(self.access, terms, group=chosen))

    async def check_upload(
        self, columns: Sequence[DatasetColumn], key_columns: Sequence[str] | None, id: str
    ) -> CheckedContent:
        """Check the content of a file that the caller uploaded."""
        key = upload_key(self.access, id)
        stat = await self.access.files.stat(key) if is_id(id) else None
        if stat is None:
            problem = FieldProblem(["content", "upload"], "there is no such file", "NO_FILE")
            return CheckedContent(draft_content(columns, key_columns), [problem], None)
        if stat.size > MAX_BYTES:
            message = f"is larger than {MAX_BYTES} bytes: use `loadReferenceDataset`"
            problem = FieldProblem(["content", "upload"], message, CsvCode.TOO_LARGE.value)
            return CheckedContent(draft_content(columns, key_columns), [problem], None)
        chunks = self.access.files.read(key, end=MAX_BYTES + 1)
        data = b"".join([chunk async for chunk in chunks])
        used = UsedUpload(id, stat.etag)
        return await self.check_data(columns, key_columns, data, "upload", used)

    async def check_text(
        self, columns: Sequence[DatasetColumn], key_columns: Sequence[str] | None, csv: str
    ) -> CheckedContent:
        """Check the content of a text in the request."""
        if len(csv) > MAX_INLINE:
            message = f"is longer than {MAX_INLINE} characters: upload it"
            problem = FieldProblem(["content", "csv"], message, CsvCode.TOO_LARGE.value)
            return CheckedContent(draft_content(columns, key_columns), [problem], None)
        try:
            data = csv.encode()
        except UnicodeEncodeError as error:
            message = f"holds the character U+{ord(csv[error.start]):04X}"
            problem = FieldProblem(["content", "csv"], message, CsvCode.NOT_UTF_8.value)
            return CheckedContent(draft_content(columns, key_columns), [problem], None)
        return await self.check_data(columns, key_columns, data, "csv")

    def reject_content(
        self, columns: Sequence[DatasetColumn], key_columns: Sequence[str] | None
    ) -> CheckedContent:
        """Refuse an input that has no file, or two."""
        problem = FieldProblem(["content"], "must have either `csv` or `upload`")
        return CheckedContent(draft_content(columns, key_columns), [problem], None)

    async def download(self, dataset: ReferenceDataset, seconds: int) -> Download | None:
        """Make a download URL for the file of a version; None if the file is gone.

        The URL is valid for `seconds`.
        """
        key = key_of_file(dataset)
        if await self.access.files.stat(key) is None:
            return None
        name = file_name_for(dataset.name, f"-{dataset.version}.csv")
        return await self.access.files.presign_download(key, expires_in=seconds, filename=name)

    async def check_data(
        self,
        columns: Sequence[DatasetColumn],
        key_columns: Sequence[str] | None,
        data: bytes,
        source: str,
        upload: UsedUpload | None = None,
    ) -> CheckedContent:
        """Check the content of a file; `source` is the field of the input that it came in."""
        content = draft_content(columns, key_columns, data)
        if dataset_problems(content):  # The caller reports these with those of all other fields.
            return CheckedContent(content, [], None)
        self.access.work.spend_more(dataset_units(len(data)))
        try:
            table = await run_in_formula_thread(partial(read_table, data, content))
        except UnreadableCsv as error:
            return CheckedContent(content, prefix_paths(["content", source], error.problems), None)
        file = DatasetFile(self.access, data, upload)
        return CheckedContent(replace(content, row_count=table.count), [], file)


def upload_key(access: Access, id: str) -> str:
    """The key under which the caller uploads a file."""
    user = sha256(access.caller.user_id.encode()).hexdigest()[:32]
    return f"{UPLOADS}{user}/{id}.csv"


async def sweep_uploads(access: Access) -> int:
    """Remove the uploads that are too old to be used; return their number."""
    uploads = [key async for keys in walk_keys(access.files, UPLOADS) for key in keys]
    return await finish_all(partial(_delete_expired, access, key) for key in uploads)


async def _delete_expired(access: Access, key: str) -> int:
    stat = await access.files.stat(key)
    if stat is None or stat.modified >= access.clock.now() - UPLOAD_RETENTION:
        return 0
    await access.files.delete(key)
    return 1


def draft_content(
    columns: Sequence[DatasetColumn], key_columns: Sequence[str] | None, data: bytes = b""
) -> DatasetContent:
    """The content as the input describes it, before its file has a name and a row count."""
    keys = key_columns or [columns[0].name if columns else ""]
    return DatasetContent(
        columns=tuple(columns),
        key_column=keys[0],
        key_columns=tuple(keys) if len(keys) > 1 else (),
        file="",
        checksum=sha256(data).hexdigest(),
        size_bytes=len(data),
        row_count=0,
    )
