"""The facts in an answer of S3, or of a store in its place, which may leave them out."""

import re
from asyncio import sleep
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final
from urllib.parse import unquote_plus

from botocore.exceptions import ClientError
from botocore.parsers import ResponseParserError

from penstock.datastore.dynamodb.failures import error_code
from penstock.datastore.errors import Unavailable
from penstock.datastore.objects.port import KEY_BYTES, OBJECT_BYTES, FileReplaced

ENCODING: Final = "url"
"""How a store is asked to encode keys, some of which no XML can hold.

The library would decode them all in one piece, and other texts of the page with them.
"""

_MAX_ENCODED: Final = 3 * KEY_BYTES
_KEYS_AT_ONCE: Final = 50
_CONDITIONS: Final[Mapping[int, frozenset[str]]] = {
    **dict.fromkeys((*range(302, 309), 300), frozenset()),
    412: frozenset(("IfMatch", "CopySourceIfMatch")),
    416: frozenset(("Range",)),
}
"""Statuses that S3 gives only to requests with one of these arguments."""

_RANGE: Final = re.compile(r"bytes ([0-9]+)-([0-9]+)/([0-9]+)", re.ASCII)


def unreadable_answer() -> Unavailable:
    return Unavailable("The store of files gives answers that are none of S3.")


def read_fact(answer: Mapping[str, Any], *names: str) -> Any:
    """Read a value, in the values before; raises Unavailable if the answer lacks it."""
    found: Any = answer
    for name in names:
        if not isinstance(found, Mapping) or name not in found:
            raise unreadable_answer()
        found = found[name]
    return found


async def read_keys(page: Mapping[str, Any], found: Sequence[Any], name: str) -> list[str]:
    """Read the keys of a page, decoded where the store has encoded them; gives way to others.

    Raises Unavailable for one that is longer than any. A letter beyond ASCII takes half a
    microsecond, and a page may have a million.
    """
    keys, is_encoded = list[str](), page.get("EncodingType") == ENCODING
    for number, each in enumerate(found, 1):
        key = str(read_fact(each, name))
        if len(key) > _MAX_ENCODED:
            raise unreadable_answer()
        keys.append(unquote_plus(key) if is_encoded else key)
        if not number % _KEYS_AT_ONCE:
            await sleep(0)
    return keys


def check_progress(after: str, keys: Sequence[str], *, more: bool) -> None:
    """Raise Unavailable for a page that does not get further; such a list would never end."""
    if (more and not keys) or any(key <= before for before, key in pairwise((after, *keys))):
        raise Unavailable("The pages of the bucket's list do not follow one another.")


def check_refusal(error: ClientError, asked: Mapping[str, object]) -> None:
    """Raise ResponseParserError for a refusal that S3 does not give to a request.

    It has no code, or a status that does not belong to the arguments `asked`. A redirect for good
    is one of S3: it says where the bucket really is.
    """
    status = error.response["ResponseMetadata"]["HTTPStatusCode"]
    if not error_code(error):
        raise ResponseParserError("a refusal has no code") from error
    conditions = _CONDITIONS.get(status)
    if conditions is not None and not conditions & asked.keys():
        raise ResponseParserError(f"an answer has the status {status}") from error


def check_length(answer: Mapping[str, Any], start: int, end: int | None) -> int:
    """Return the bytes of an answer with those of a file from `start` to `end`.

    Raises Unavailable if it does not say how many they are, or if they are others. A store that
    ignores what it does not know sends the whole file.
    """
    length: int = read_fact(answer, "ContentLength")
    if length > OBJECT_BYTES or length != _range_length(answer, start, end, length):
        raise unreadable_answer()
    return length


def _range_length(answer: Mapping[str, Any], start: int, end: int | None, whole: int) -> int:
    if not start and end is None:
        return whole
    found = _RANGE.fullmatch(str(read_fact(answer, "ContentRange")))
    if found is None:
        raise unreadable_answer()
    first, last, size = map(int, found.groups())
    if (first, last + 1) != (start, size if end is None else min(end, size)):
        raise unreadable_answer()
    return last + 1 - first


def check_content(answer: Mapping[str, Any], etag: str | None) -> str:
    """Return the entity tag; raises FileReplaced if it is not the one that was asked for."""
    found = str(read_fact(answer, "ETag"))
    if etag is not None and found != etag:
        raise FileReplaced("The file was replaced while it was read.")
    return found
