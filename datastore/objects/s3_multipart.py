"""A large file on its way into an S3 bucket, part by part."""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from typing import Any, Protocol

from penstock.datastore.background_tasks import retrieve_failure
from penstock.datastore.errors import NotFound, Unavailable
from penstock.datastore.objects.port import Chunks
from penstock.datastore.objects.s3_answers import read_fact

PART_BYTES = 8 * 1024 * 1024


class SendRequest(Protocol):
    """Sends a request about the bucket by the name of its operation."""

    async def __call__(self, name: str, /, **arguments: object) -> Any: ...


class MultipartUpload:
    """The upload of one file: its parts become the file together, or none of them stays."""

    def __init__(self, send: SendRequest, key: str) -> None:
        self._send = send
        self._key = key

    async def write(self, first: bytes, rest: Chunks, content_type: str) -> str:
        """Send the parts, of which only the last may be small; returns the ETag of the file."""
        begin = self._send("create_multipart_upload", Key=self._key, ContentType=content_type)
        beginning = asyncio.ensure_future(begin)
        beginning.add_done_callback(retrieve_failure)
        try:
            started = await asyncio.shield(beginning)
            upload = {"Key": self._key, "UploadId": read_fact(started, "UploadId")}
            parts = [await self._send_part(upload, 1, first)]
            async for block in rest:
                parts.append(await self._send_part(upload, len(parts) + 1, block))
            done = await self._continue(
                "complete_multipart_upload", **upload, MultipartUpload={"Parts": parts}
            )
        except BaseException:
            # The caller must receive the first error, not that of the clean-up.
            with suppress(Exception):
                await asyncio.shield(self._abort(beginning))
            raise
        etag: str = read_fact(done, "ETag")
        return etag

    async def _abort(self, beginning: Awaitable[dict[str, str]]) -> None:
        """Abort the upload, even if the call that began it was cancelled."""
        upload = (await beginning)["UploadId"]
        await self._send("abort_multipart_upload", Key=self._key, UploadId=upload)

    async def _send_part(self, upload: dict[str, str], number: int, block: bytes) -> dict[str, Any]:
        part = await self._continue("upload_part", **upload, PartNumber=number, Body=block)
        return {"ETag": read_fact(part, "ETag"), "PartNumber": number}

    async def _continue(self, name: str, /, **arguments: object) -> Any:
        """Send a call about the upload; Unavailable if the store knows it no more.

        So it is after an answer that told of its end and was lost, and where others removed it.
        """
        try:
            return await self._send(name, **arguments)
        except NotFound as unknown:
            words = "The store of files does not know the upload of a file any more."
            raise Unavailable(words) from unknown
