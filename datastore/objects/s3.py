"""Files in an S3 bucket, by the low-level client of aioboto3."""

import asyncio
from collections.abc import AsyncIterable, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, nullcontext, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final, NamedTuple, Self
from urllib.parse import parse_qs, urlsplit

from botocore.exceptions import BotoCoreError, ClientError, IncompleteReadError

from penstock.datastore.dynamodb.failures import LOST_ANSWER, STRANGE_ANSWER, own_credentials
from penstock.datastore.dynamodb.retry import Attempts
from penstock.datastore.errors import NotFound, RequestRefused, Unavailable
from penstock.datastore.logged_errors import describe_error
from penstock.datastore.objects import checks, port
from penstock.datastore.objects.chunks import regroup_blocks
from penstock.datastore.objects.port import (
    LISTING,
    Chunks,
    Credentials,
    Download,
    FileEntry,
    Sentences,
    SocketFactory,
    Stat,
    UploadForm,
    content_disposition,
)
from penstock.datastore.objects.s3_answers import (
    ENCODING,
    check_content,
    check_length,
    check_progress,
    check_refusal,
    read_fact,
    read_keys,
    unreadable_answer,
)
from penstock.datastore.objects.s3_client import (
    BucketLocation,
    Patience,
    choose_patience,
    open_client,
)
from penstock.datastore.objects.s3_multipart import PART_BYTES, MultipartUpload

COPY_SECONDS = 600.0
CHUNK_BYTES = 64 * 1024
LEAST_SPEED = 16 * 1024
"""The bytes of a second that a store has to send, beyond the seconds of a call."""

_REPLACED = {"412", "PreconditionFailed"}
_ABSENT = {"404", "NoSuchKey", "NoSuchUpload", "NotFound"}
_INTERRUPTED = (*LOST_ANSWER, IncompleteReadError)


class _Pace:
    """The time that a store may take for the content of a file, beyond what its readers take."""

    def __init__(self, seconds: float) -> None:
        self._left = seconds

    async def follow(self, body: Any) -> Chunks:
        """Pass on the content of an answer; raises Unavailable if it comes too slowly."""
        clock = asyncio.get_running_loop().time
        while True:
            began = clock()
            chunk = await body.read(CHUNK_BYTES)
            if not chunk:
                return
            self._left += len(chunk) / LEAST_SPEED - (clock() - began)
            if self._left < 0:
                raise Unavailable("The store of files sends too slowly.")
            yield chunk


class CorsRule(NamedTuple):
    """A CORS rule: origins, as `https://app.example.org` or with a `*`, and the allowed methods."""

    origins: tuple[str, ...]
    methods: tuple[str, ...]


class S3Files:
    """The files port over one bucket, which exists and belongs to the store alone."""

    ends_forms: Final = False

    def __init__(
        self,
        bucket: str,
        client: Any,
        held: AsyncExitStack,
        patience: Patience,
        *,
        own: bool = True,
    ) -> None:
        self.bucket = bucket
        self._patience = patience
        self._own = own
        self._client = client
        self._held = held

    @classmethod
    async def open(
        cls,
        bucket: str,
        *,
        region: str | None = None,
        endpoint_url: str | None = None,
        credentials: Credentials | None = None,
        sockets: SocketFactory | None = None,
    ) -> Self:
        """Make the client; nothing is sent. By default credentials come from AWS's ordinary chain.

        With `sockets` it makes every connection, none goes through a proxy, and calls have the
        patience for users' buckets. Signed URLs lead to
        `endpoint_url`, so clients must be able to reach it as well.
        """
        held = AsyncExitStack()
        place, own = BucketLocation(bucket, region, endpoint_url), credentials is None
        with own_credentials() if own else nullcontext():
            client = await open_client(held, place, credentials, sockets)
        return cls(bucket, client, held, choose_patience(sockets), own=own)

    async def presign_upload(
        self, key: str, *, max_bytes: int, content_type: str, expires_in: int
    ) -> UploadForm:
        checks.check_upload(key, max_bytes, content_type, expires_in)
        type_field = {"Content-Type": content_type}
        with own_credentials() if self._own else nullcontext():
            signed = await self._client.generate_presigned_post(
                self.bucket,
                key,
                Fields=type_field,
                Conditions=[type_field, ["content-length-range", 0, max_bytes]],
                ExpiresIn=expires_in,
            )
        fields = tuple(signed["fields"].items())
        expires_at = _parse_signature_time(signed["fields"]["x-amz-date"]) + timedelta(
            seconds=expires_in
        )
        return UploadForm(url=signed["url"], fields=fields, expires_at=expires_at)

    async def presign_download(
        self,
        key: str,
        *,
        expires_in: int,
        filename: str | None = None,
        content_type: str | None = None,
    ) -> Download:
        checks.check_download(key, expires_in, filename, content_type)
        arguments = {"Bucket": self.bucket, "Key": key}
        if filename is not None:
            arguments["ResponseContentDisposition"] = content_disposition(filename)
        if content_type is not None:
            arguments["ResponseContentType"] = content_type
        with own_credentials() if self._own else nullcontext():
            url = await self._client.generate_presigned_url(
                "get_object", Params=arguments, ExpiresIn=expires_in
            )
        signed_at = _parse_signature_time(parse_qs(urlsplit(url).query)["X-Amz-Date"][0])
        return Download(url, signed_at + timedelta(seconds=expires_in))

    async def stat(self, key: str) -> Stat | None:
        checks.check_key(key)
        try:
            head = await self._call("head_object", Key=key, **self._ask_for_checksum())
        except NotFound:
            return None
        names = ("ContentLength", "ContentType", "ETag", "LastModified")
        size, content_type, etag, modified = (read_fact(head, name) for name in names)
        return Stat(size, content_type, etag, modified, head.get("ChecksumSHA256", etag))

    def _ask_for_checksum(self) -> dict[str, str]:
        """The argument for a checksum, in the server's bucket only: others may not know it."""
        return {"ChecksumMode": "ENABLED"} if self._own else {}

    async def read(self, key: str, *, start: int = 0, end: int | None = None) -> Chunks:
        checks.check_key(key)
        checks.check_bounds(start, end)
        etag = None
        answer = await self._begin_read(key, start, end, etag)
        attempts, pace = self._new_attempts(), _Pace(self._patience.call_seconds)
        while answer is not None:
            before = start
            try:
                async with answer["Body"]:
                    etag = check_content(answer, etag)
                    until = start + check_length(answer, start, end)
                    async for chunk in pace.follow(answer["Body"]):
                        start += len(chunk)
                        if start > until:
                            raise unreadable_answer()
                        yield chunk
                return
            except _INTERRUPTED as error:
                if start > before:
                    attempts = self._new_attempts()
                await attempts.pause(error)
            answer = await self._begin_read(key, start, end, etag)

    async def write(self, key: str, chunks: AsyncIterable[bytes], *, content_type: str) -> str:
        checks.check_key(key)
        checks.check_content_type(content_type)
        parts = regroup_blocks(chunks, PART_BYTES)
        first = await anext(parts, b"")
        if len(first) == PART_BYTES:
            return await MultipartUpload(self._call, key).write(first, parts, content_type)
        done = await self._call("put_object", Key=key, Body=first, ContentType=content_type)
        etag: str = read_fact(done, "ETag")
        return etag

    async def drop_unfinished(self, key: str) -> None:
        checks.check_key(key)
        found = await self._call("list_multipart_uploads", Prefix=key)
        for upload in found.get("Uploads", ()):
            if upload["Key"] == key:
                with suppress(NotFound):
                    await self._call("abort_multipart_upload", Key=key, UploadId=upload["UploadId"])

    async def copy(self, source: str, target: str, etag: str | None = None) -> None:
        checks.check_copy(source, target)
        origin = {"Bucket": self.bucket, "Key": source}
        pinned = {} if etag is None else {"CopySourceIfMatch": etag}
        try:
            done = await self._call(
                "copy_object",
                COPY_SECONDS,
                Key=target,
                CopySource=origin,
                ChecksumAlgorithm="SHA256",
                **pinned,
            )
        except RequestRefused as refused:
            if refused.code in _REPLACED:
                raise port.FileReplaced("The file was replaced while it was copied.") from refused
            raise
        # A gateway may say 200 before the store has answered.
        read_fact(done, "CopyObjectResult", "ETag")

    async def refuse_uploads(self, key: str) -> None:
        """Do nothing: a form of S3 stays valid until it expires, whatever its conditions are."""
        checks.check_key(key)

    async def delete(self, key: str) -> None:
        checks.check_key(key)
        await self._call("delete_object", Key=key)

    async def verify(self) -> Sentences:
        try:
            await self._call("head_bucket")
        except NotFound:
            return [f"There is no bucket {self.bucket}."]
        except (RequestRefused, Unavailable) as error:
            return [f"The bucket {self.bucket} cannot be used: {error}"]
        except BotoCoreError as error:
            return [f"The bucket {self.bucket} cannot be used: {describe_error(error)}"]
        return []

    async def cors(self) -> Sequence[CorsRule]:
        """Read the CORS rules of the bucket; RequestRefused without the permission to read them."""
        try:
            answer = await self._call("get_bucket_cors")
        except RequestRefused as refused:
            if refused.code == "NoSuchCORSConfiguration":
                return ()
            raise
        return [
            CorsRule(tuple(rule["AllowedOrigins"]), tuple(rule["AllowedMethods"]))
            for rule in answer["CORSRules"]
        ]

    async def list(self, prefix: str, after: str = "", limit: int = LISTING) -> tuple[str, ...]:
        return tuple(entry.key for entry in await self.list_entries(prefix, after, limit))

    async def list_entries(
        self, prefix: str, after: str = "", limit: int = LISTING
    ) -> tuple[FileEntry, ...]:
        checks.check_listing(prefix, after, limit)
        entries: list[FileEntry] = []
        more = True
        while more and len(entries) < limit:
            last = entries[-1].key if entries else after
            most = limit - len(entries)
            page = await self._list_page(Prefix=prefix, StartAfter=last, MaxKeys=most)
            more, contents = read_fact(page, "IsTruncated"), page.get("Contents", ())
            if len(contents) > most:
                raise Unavailable("The bucket lists more than it was asked for.")
            found = [
                FileEntry(key, read_fact(each, "Size"), read_fact(each, "ETag"))
                for key, each in zip(await read_keys(page, contents, "Key"), contents, strict=True)
            ]
            check_progress(last, [entry.key for entry in found], more=more)
            entries += found
            if more:
                # A page takes the event loop some milliseconds, and the next one follows at once.
                await asyncio.sleep(self._patience.page_rest)
        return tuple(entries)

    async def list_folders(
        self, prefix: str, after: str = "", limit: int = LISTING
    ) -> tuple[str, ...]:
        checks.check_folder_listing(prefix, after, limit)
        folders: list[str] = []
        place = {"StartAfter": port.behind_folder(after)}
        while len(folders) < limit:
            # Files between the folders count in a page, so that one may hold no folder.
            page = await self._list_page(Prefix=prefix, Delimiter="/", **place)
            found = await read_keys(page, page.get("CommonPrefixes", ()), "Prefix")
            check_progress(folders[-1] if folders else after, found, more=False)
            folders += found
            if not read_fact(page, "IsTruncated"):
                break
            token = read_fact(page, "NextContinuationToken")
            if place.get("ContinuationToken") == token:
                raise Unavailable("The pages of the bucket's list do not follow one another.")
            place = {"ContinuationToken": token}
        return tuple(folders[:limit])

    async def _list_page(self, **arguments: object) -> Any:
        return await self._call("list_objects_v2", EncodingType=ENCODING, **arguments)

    async def close(self) -> None:
        await self._held.aclose()

    def _new_attempts(self, seconds: float | None = None) -> Attempts:
        patience = self._patience
        return Attempts(seconds or patience.call_seconds, patience.attempts, own=self._own)

    async def _call(self, name: str, seconds: float | None = None, /, **arguments: object) -> Any:
        """Send the request, again while that can help; NotFound if the key or bucket is missing."""
        operation = getattr(self._client, name)
        attempts = self._new_attempts(seconds)
        try:
            return await attempts.send(partial(_send, operation, Bucket=self.bucket, **arguments))
        except RequestRefused as refused:
            if refused.code in _ABSENT:
                raise NotFound("There is no such file.") from refused
            raise
        except STRANGE_ANSWER as error:
            # A time that is none, or an error without a code: the library says so in many ways.
            raise unreadable_answer() from error

    async def _begin_read(
        self, key: str, start: int, end: int | None, etag: str | None
    ) -> dict[str, Any] | None:
        """Begin to read; None where no byte of the file lies in the range.

        With an entity tag, raises FileReplaced if the store says that the file has another one.
        """
        pinned = {} if etag is None else {"IfMatch": etag}
        is_empty = start == end
        if not is_empty and (start or end is not None):
            last = "" if end is None else end - 1
            pinned = {**pinned, "Range": f"bytes={start}-{last}"}
        try:
            if is_empty:
                await self._call("head_object", Key=key, **pinned)
                return None
            answer: dict[str, Any] = await self._call("get_object", Key=key, **pinned)
        except RequestRefused as refused:
            if refused.code == "InvalidRange":
                return None
            if refused.code in _REPLACED:
                raise port.FileReplaced("The file was replaced while it was read.") from refused
            raise
        return answer


async def _send(operation: Callable[..., Awaitable[Any]], **arguments: object) -> Any:
    """Send a request; an answer that S3 never gives to it counts as lost."""
    try:
        return await operation(**arguments)
    except ClientError as error:
        check_refusal(error, arguments)
        raise


def _parse_signature_time(text: str) -> datetime:
    """Parse the time of a signature: `20220810T235520Z`."""
    return datetime.strptime(text, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
