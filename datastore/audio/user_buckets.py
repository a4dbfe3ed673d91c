"""Buckets of users over AWS's library, which is imported when the first of them is opened."""

from asyncio import get_running_loop
from collections.abc import Callable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from typing import Final

from botocore.exceptions import BotoCoreError, ClientError

from penstock.datastore.audio.endpoint_rules import unusable_endpoint
from penstock.datastore.audio.records import BucketConnection
from penstock.datastore.aws.session import warm_up
from penstock.datastore.dynamodb.failures import LOST_ANSWER, STRANGE_ANSWER
from penstock.datastore.errors import IllegalState, ObjectRefused, RequestRefused, Unavailable
from penstock.datastore.objects.port import (
    KEY_BYTES,
    LISTING,
    Chunks,
    Credentials,
    Download,
    FileEntry,
    SocketFactory,
    Stat,
)
from penstock.datastore.objects.s3 import S3Files

READ_SECONDS: Final = 8.0
LEAST_SPEED: Final = 64 * 1024
"""The bytes of a second that a bucket has to send; READ_SECONDS are given beyond that."""

MAX_ETAG: Final = 256

DENIALS: Final = frozenset(
    (
        "403",
        "AccessDenied",
        "AllAccessDisabled",
        "ExpiredToken",
        "InvalidAccessKeyId",
        "InvalidToken",
        "NoSuchBucket",
        "RequestTimeTooSkewed",
        "SignatureDoesNotMatch",
    )
)
"""The codes with which S3 denies access; any other text of an answer is not passed on."""


_DENIED: Final = "The bucket does not let the server in."
_OF_OBJECT: Final = frozenset(("403", "AccessDenied"))
"""The denials that may concern one object alone."""

_UNANSWERED: Final[tuple[type[Exception], ...]] = (RuntimeError, Unavailable, *LOST_ANSWER)


@dataclass(frozen=True, slots=True)
class UserBucket:
    """A user's bucket; its errors become IllegalState, without the words of the bucket."""

    files: S3Files
    until: float | None
    clock: Callable[[], float]

    @property
    def bucket(self) -> str:
        return self.files.bucket

    async def presign_download(
        self,
        key: str,
        *,
        expires_in: int,
        filename: str | None = None,
        content_type: str | None = None,
    ) -> Download:
        """Sign a URL that expires no later than the credentials."""
        if self.until is not None:
            expires_in = max(1, min(expires_in, int(self.until - self.clock())))
        return await self.files.presign_download(
            key, expires_in=expires_in, filename=filename, content_type=content_type
        )

    async def stat(self, key: str) -> Stat | None:
        with _translate_errors(), _translate_refusals():
            stat = await self.files.stat(key)
            if stat is not None:
                _require_short(stat.etag, MAX_ETAG)
            return stat

    async def read(self, key: str, *, start: int = 0, end: int | None = None) -> Chunks:
        """Read at a least speed: a bucket that sends byte by byte holds up what it is read for."""
        clock = get_running_loop().time
        last = clock() + READ_SECONDS
        with _translate_errors(), _translate_refusals():
            async with aclosing(self.files.read(key, start=start, end=end)) as chunks:
                async for chunk in chunks:
                    yield chunk
                    last += len(chunk) / LEAST_SPEED
                    if clock() > last:
                        raise Unavailable("The bucket sends too slowly.")

    async def list_entries(
        self, prefix: str, after: str = "", limit: int = LISTING
    ) -> tuple[FileEntry, ...]:
        with _translate_errors():
            entries = await self.files.list_entries(prefix, after, limit)
            for entry in entries:
                _require_short(entry.key, KEY_BYTES)
                _require_short(entry.etag, MAX_ETAG)
            return entries

    async def close(self) -> None:
        await self.files.close()


async def open_bucket(
    connection: BucketConnection,
    credentials: Credentials,
    sockets: SocketFactory,
    until: float | None,
    clock: Callable[[], float],
) -> UserBucket:
    """Make the client of a bucket without sending a request."""
    await warm_up("s3")
    files = await S3Files.open(
        connection.bucket,
        region=connection.region,
        endpoint_url=connection.endpoint,
        credentials=credentials,
        sockets=sockets,
    )
    return UserBucket(files, until, clock)


def _require_short(text: str, most: int) -> None:
    """Raise ValueError for more bytes than S3 ever sends, or for what is no text."""
    if len(text.encode()) > most:
        raise ValueError(f"a text of the bucket has more than {most} bytes")


@contextmanager
def _translate_refusals() -> Iterator[None]:
    """Raise ObjectRefused for an answer that may concern the requested object alone."""
    try:
        yield
    except RequestRefused as refused:
        if refused.code in _OF_OBJECT:
            raise ObjectRefused(_DENIED, refused.code) from refused
        if refused.code not in DENIALS:
            raise _refused_object() from refused
        raise
    except Unavailable as error:
        if isinstance(error.__cause__, ClientError):
            raise _refused_object() from error
        raise


def _refused_object() -> ObjectRefused:
    failure = unusable_endpoint()
    return ObjectRefused(failure.message, failure.state)


@contextmanager
def _translate_errors() -> Iterator[None]:
    try:
        yield
    except RequestRefused as refused:
        if refused.code in DENIALS:
            raise IllegalState(_DENIED, refused.code) from refused
        raise unusable_endpoint() from refused
    except (BotoCoreError, *STRANGE_ANSWER) as error:
        raise unusable_endpoint() from error
    except _UNANSWERED as error:
        # A retry might help. But a user's bucket may never answer again, so nobody waits for it.
        raise unusable_endpoint() from error
