"""The files port where there is no place for files: every call is refused, none is pretended."""

from collections.abc import AsyncIterable
from typing import Final

from penstock.datastore.errors import Unavailable
from penstock.datastore.files import LISTING, Chunks, Download, Files, Sentences, Stat, UploadForm


class NoFiles:
    """What a server has that was given a table on DynamoDB and no bucket."""

    bucket: Final = ""

    async def presign_upload(
        self, key: str, *, max_bytes: int, content_type: str, expires_in: int
    ) -> UploadForm:
        raise no_place()

    async def presign_download(
        self,
        key: str,
        *,
        expires_in: int,
        filename: str | None = None,
        content_type: str | None = None,
    ) -> Download:
        raise no_place()

    async def stat(self, key: str) -> Stat | None:
        raise no_place()

    def read(self, key: str, *, start: int = 0, end: int | None = None) -> Chunks:
        raise no_place()

    async def write(self, key: str, chunks: AsyncIterable[bytes], *, content_type: str) -> str:
        raise no_place()

    async def drop_unfinished(self, key: str) -> None:
        raise no_place()

    async def copy(self, source: str, target: str) -> None:
        raise no_place()

    async def delete(self, key: str) -> None:
        raise no_place()

    async def verify(self) -> Sentences:
        return []

    async def list(self, prefix: str, after: str = "", limit: int = LISTING) -> tuple[str, ...]:
        raise no_place()

    async def close(self) -> None:
        """Let go of nothing."""


NO_FILES: Final[Files] = NoFiles()


def no_place() -> Unavailable:
    """The refusal of everything that needs a place for files."""
    return Unavailable("This server has no place for files: PENSTOCK_BUCKET is not set.")
