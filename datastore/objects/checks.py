"""Checks of what a store of files is asked for, which all stores apply."""

import re

from penstock.datastore.errors import BadArgument
from penstock.datastore.objects.port import (
    EXPIRY_SECONDS,
    FILE_NAME_BYTES,
    KEY_BYTES,
    LISTING,
    OBJECT_BYTES,
)

_CONTENT_TYPE = re.compile(
    r"[a-z0-9!#$&^_.+-]+/[a-z0-9!#$&^_.+-]+(; ?[a-z0-9-]+=[a-z0-9_.+-]+)*", re.IGNORECASE
)

_CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters and halves of characters."""

_HALVES = re.compile(r"[\ud800-\udfff]")


def check_key(key: str) -> None:
    """Refuse a key that a URL, a browser or S3 would mistake for another one."""
    # A name of a megabyte is refused before its letters are looked at.
    if len(key) > KEY_BYTES:
        raise _too_long_key()
    segments = key.split("/")
    if any(segment in {"", ".", ".."} for segment in segments):
        raise BadArgument("A file key has no empty, `.` or `..` segment.")
    if _CONTROL_CHARACTERS.search(key):
        raise BadArgument("A file key has no control characters.")
    if "${filename}" in key:
        raise BadArgument("A file key has no `${filename}`, which S3 replaces in an upload.")
    if len(key.encode()) > KEY_BYTES:
        raise _too_long_key()


def is_key(key: str) -> bool:
    """Whether a file of ours can have this key; a bucket may list objects of others beside them."""
    try:
        check_key(key)
    except BadArgument:
        return False
    return True


def _too_long_key() -> BadArgument:
    return BadArgument(f"A file key has at most {KEY_BYTES} bytes.")


def check_upload(key: str, max_bytes: int, content_type: str, expires_in: int) -> None:
    check_key(key)
    check_content_type(content_type)
    check_expiry(expires_in)
    if not 1 <= max_bytes <= OBJECT_BYTES:
        raise BadArgument(f"An upload has 1 to {OBJECT_BYTES} bytes.")


def check_download(
    key: str, expires_in: int, filename: str | None, content_type: str | None
) -> None:
    check_key(key)
    check_expiry(expires_in)
    if content_type is not None:
        check_content_type(content_type)
    if filename is not None:
        check_key(filename)
        if "/" in filename or "\\" in filename or len(filename.encode()) > FILE_NAME_BYTES:
            raise BadArgument(f"A file name has no slashes and at most {FILE_NAME_BYTES} bytes.")


def check_copy(source: str, target: str) -> None:
    check_key(source)
    check_key(target)
    if source == target:
        raise BadArgument("A file is not copied onto itself.")


def check_content_type(content_type: str) -> None:
    if len(content_type) > 255 or not _CONTENT_TYPE.fullmatch(content_type):
        raise BadArgument("A content type is `type/subtype`, with parameters if need be.")


def check_expiry(expires_in: int) -> None:
    if not 1 <= expires_in <= EXPIRY_SECONDS:
        raise BadArgument(f"A URL is valid for 1 to {EXPIRY_SECONDS} seconds.")


def check_bounds(start: int, end: int | None) -> None:
    if start < 0 or (end is not None and end < start):
        raise BadArgument("A range begins at 0 or later and does not end before it begins.")


def check_listing(prefix: str, after: str, limit: int) -> None:
    """Refuse a prefix that no key of ours has; a list goes on behind any key of a bucket."""
    if _CONTROL_CHARACTERS.search(prefix):
        raise BadArgument("A file key has no control characters.")
    if _HALVES.search(after):
        raise BadArgument("A file key has no halves of characters.")
    if not 1 <= limit <= LISTING:
        raise BadArgument(f"A listing has 1 to {LISTING} keys.")


def check_folder_listing(prefix: str, after: str, limit: int) -> None:
    check_listing(prefix, after, limit)
    if any(part and not part.endswith("/") for part in (prefix, after)):
        raise BadArgument("A folder ends with a slash.")
