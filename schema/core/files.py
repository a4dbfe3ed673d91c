"""Forms to upload files with, and URLs to download them from."""

from typing import Annotated

import strawberry

from penstock.datastore.clock import iso_timestamp
from penstock.datastore.objects import port
from penstock.datastore.objects.port import FileStatus
from penstock.schema.core.descriptions import describe_values
from penstock.schema.core.scalars import DateTime, Long

DOWNLOAD_SECONDS = 900

strawberry.enum(
    FileStatus, name="DownloadStatus", description="The status of a file that can be downloaded."
)
describe_values(
    FileStatus,
    {
        FileStatus.READY: "The file can be downloaded now.",
        FileStatus.NOT_READY: "The file cannot be downloaded yet; it may exist later.",
        FileStatus.GONE: "The file no longer exists or never will.",
    },
)

ExpiryArgument = Annotated[
    int | None,
    strawberry.argument(
        description=(
            f"The time for which the URL can be used, 1 to {port.EXPIRY_SECONDS} seconds. "
            "The default is 900 seconds."
        )
    ),
]


@strawberry.type(description="A name and a value that the client sends without changing them.")
class UploadField:
    name: str = strawberry.field(description="The name of the form field or of the header.")
    value: str = strawberry.field(description="The value of the form field or of the header.")


@strawberry.type(
    description=(
        "A form that uploads one file as multipart/form-data. Send the fields unchanged "
        "and in this order, and then the content of the file in a field named `file`."
    )
)
class UploadForm:
    method: str = strawberry.field(description="The HTTP method with which to send the form.")
    url: str = strawberry.field(description="The URL to which to send the form.")
    fields: list[UploadField] = strawberry.field(
        description="The form fields to send before the file, in this order."
    )
    headers: list[UploadField] = strawberry.field(
        description="The HTTP headers to send besides those of the form itself."
    )
    expires_at: DateTime = strawberry.field(
        description="The time until which an upload can begin, in UTC."
    )

    @classmethod
    def from_port(cls, form: port.UploadForm) -> "UploadForm":
        return cls(
            method=form.method,
            url=form.url,
            fields=[UploadField(name=name, value=value) for name, value in form.fields],
            headers=[UploadField(name=name, value=value) for name, value in form.headers],
            expires_at=DateTime(iso_timestamp(form.expires_at)),
        )


@strawberry.type(description="A file and, if it can be downloaded, the URL for that.")
class FileDownload:
    status: FileStatus = strawberry.field(description="The status of the file.")
    url: str | None = strawberry.field(
        description=(
            "The URL that answers GET requests, also for byte ranges; null unless the "
            "status is `READY`."
        )
    )
    expires_at: DateTime | None = strawberry.field(
        description="The time until which the URL can be used, in UTC; null if there is no URL."
    )
    size_bytes: Long | None = strawberry.field(
        description="The size of the file in bytes; null if it is not known."
    )
