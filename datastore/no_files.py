"""The files port where there is no place for files: every call is refused, none is pretended."""

from collections.abc import AsyncIterable
from typing import Final

from datastore.errors import Unavailable
from datastore.files import LISTING, Chunks, Download, Files, Sentences, Stat, UploadForm


class NoFiles:
    """What a server has that was given a table on DynamoDB and no bucket."""

    async def presign_upload(
        self, key: str, *, max_bytes: int, content_type: str, expires_in: int
    ) -> UploadForm:
        raise _none()

    async def presign_download(
        self,
        key: str,
        *,
        expires_in: int,
        filename: str | None = None,
        content_type: str | None = None,
    ) -> Download:
        raise _none()

    async def stat(self, key: str) -> Stat | None:
        raise _none()

    def read(self, key: str, *, start: int = 0, end: int | None = None) -> Chunks:
        raise _none()

    async def write(self, key: str, chunks: AsyncIterable[bytes], *, content_type: str) -> str:
        raise _none()

    async def copy(self, source: str, target: str) -> None:
        raise _none()

    async def delete(self, key: str) -> None:
        raise _none()

    async def verify(self) -> Sentences:
        return []

    async def list(self, prefix: str, after: str = "", limit: int = LISTING) -> tuple[str, ...]:
        raise _none()

    async def close(self) -> None:
        """Let go of nothing."""


NO_FILES: Final[Files] = NoFiles()


def _none() -> Unavailable:
    return Unavailable("This server has no place for files: PENSTOCK_BUCKET is not set.")
