"""Files as clients meet them: forms to upload with, and URLs to download from."""

from typing import Annotated

import strawberry

from penstock.datastore.clock import canonical
from penstock.datastore.objects import port
from penstock.datastore.objects.port import FileStatus
from penstock.schema.core.scalars import DateTime, Long

DOWNLOAD_SECONDS = 900

strawberry.enum(
    FileStatus,
    name="DownloadStatus",
    description="Whether a file can be downloaded: it is there, it may come yet, or it will not.",
)

ExpiresIn = Annotated[
    int | None,
    strawberry.argument(
        description=f"For how many seconds the URL can be used, 1 to {port.EXPIRY_SECONDS}."
    ),
]


@strawberry.type(description="A name and its value, to be sent verbatim.")
class UploadField:
    name: str = strawberry.field(description="The name.")
    value: str = strawberry.field(description="The value.")


@strawberry.type(
    description="A form that uploads one file: send the fields as they are and in this order, and "
    "the content last, in a field named `file`, as multipart/form-data."
)
class UploadForm:
    method: str = strawberry.field(description="The HTTP method.")
    url: str = strawberry.field(description="Where to send the form.")
    fields: list[UploadField] = strawberry.field(description="The fields before the file.")
    headers: list[UploadField] = strawberry.field(description="Headers besides the form's own.")
    expires_at: DateTime = strawberry.field(description="Until when an upload may begin.")

    @classmethod
    def of(cls, form: port.UploadForm) -> "UploadForm":
        return cls(
            method=form.method,
            url=form.url,
            fields=[UploadField(name=name, value=value) for name, value in form.fields],
            headers=[UploadField(name=name, value=value) for name, value in form.headers],
            expires_at=DateTime(canonical(form.expires_at)),
        )


@strawberry.type(description="Where a file can be downloaded, if it can.")
class FileDownload:
    status: FileStatus = strawberry.field(description="Whether it can.")
    url: str | None = strawberry.field(description="Answers GET, with ranges.")
    expires_at: DateTime | None = strawberry.field(description="Until when the URL can be used.")
    size_bytes: Long | None = strawberry.field(description="How large the file is.")
