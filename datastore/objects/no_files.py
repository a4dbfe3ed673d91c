"""The file store of a server without a bucket."""

from collections.abc import AsyncIterable
from typing import Final

from penstock.datastore.objects.port import (
    LISTING,
    Chunks,
    Download,
    FileEntry,
    Files,
    Sentences,
    Stat,
    UploadForm,
    files_unavailable,
)


class NoFiles:
    """The file store of a server with a table on DynamoDB and no bucket: every call is refused."""

    bucket: Final = ""
    ends_forms: Final = True

    async def presign_upload(
        self, key: str, *, max_bytes: int, content_type: str, expires_in: int
    ) -> UploadForm:
        raise files_unavailable()

    async def presign_download(
        self,
        key: str,
        *,
        expires_in: int,
        filename: str | None = None,
        content_type: str | None = None,
    ) -> Download:
        raise files_unavailable()

    async def stat(self, key: str) -> Stat | None:
        raise files_unavailable()

    def read(self, key: str, *, start: int = 0, end: int | None = None) -> Chunks:
        raise files_unavailable()

    async def write(self, key: str, chunks: AsyncIterable[bytes], *, content_type: str) -> str:
        raise files_unavailable()

    async def drop_unfinished(self, key: str) -> None:
        raise files_unavailable()

    async def copy(self, source: str, target: str, etag: str | None = None) -> None:
        raise files_unavailable()

    async def refuse_uploads(self, key: str) -> None:
        raise files_unavailable()

    async def delete(self, key: str) -> None:
        raise files_unavailable()

    async def verify(self) -> Sentences:
        return []

    async def list(self, prefix: str, after: str = "", limit: int = LISTING) -> tuple[str, ...]:
        raise files_unavailable()

    async def list_entries(
        self, prefix: str, after: str = "", limit: int = LISTING
    ) -> tuple[FileEntry, ...]:
        raise files_unavailable()

    async def list_folders(
        self, prefix: str, after: str = "", limit: int = LISTING
    ) -> tuple[str, ...]:
        raise files_unavailable()

    async def close(self) -> None:
        """Do nothing: there are no connections."""


NO_FILES: Final[Files] = NoFiles()
