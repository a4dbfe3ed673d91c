"""The bounds of the XML and of the times in an answer of S3 or STS.

The library parses them in one piece in the event loop, so what takes it long is counted before.
"""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

MAX_MARKUP: Final = 24_000
"""The most `<` of an answer: those of a page of 1,000 keys are some 16,000."""

MAX_ERROR_MARKUP: Final = 500

MAX_LISTED: Final = 1_000
"""The most keys, or folders, of a page."""

MAX_PIECES: Final = 30_000
"""The most ends of lines and references, each of which ends a piece of text: a key has two."""

MAX_ATTRIBUTE_BYTES: Final = 512
"""The most bytes of tags with attributes, with the text behind: an answer of AWS has 200.

The parser writes a namespace before each name.
"""

_MAX_TIME: Final = 40
_NEVER_SENT: Final = (
    # The parser would write the text of an entity, of any size, at each reference to it.
    (b"<!DOCTYPE", "declarations"),
    # In UTF-16, names would look otherwise than those that are counted.
    (b"\0", "bytes of a letter"),
)
_PIECE_ENDS: Final = (b"&", b"\n", b"\r")
_TAG_WITH_ATTRIBUTES: Final = re.compile(rb"<[^<>=]*=[^<]*")
_LISTED: Final = tuple(
    # Begins with what is rare, so that other text is passed over quickly.
    re.compile(rb"%b(?<=[<:]%b)[\s/>]" % (name, name))
    for name in (b"Contents", b"CommonPrefixes")
)


def find_excess(body: bytes, most_markup: int = MAX_MARKUP) -> str | None:
    """Name what an answer has too much of; None if it can be parsed in some milliseconds."""
    for what, excess in _NEVER_SENT:
        if what in body:
            return excess
    if body.count(b"<") > most_markup:
        return "elements"
    if sum(map(body.count, _PIECE_ENDS)) > MAX_PIECES:
        return "pieces of text"
    if sum(len(listed.findall(body)) for listed in _LISTED) > MAX_LISTED:
        return "keys"
    attributes = 0
    for tag in _TAG_WITH_ATTRIBUTES.finditer(body):
        attributes += tag.end() - tag.start()
        if attributes > MAX_ATTRIBUTE_BYTES:
            return "attributes"
    return None


def parse_time(value: str | float) -> datetime:
    """Parse a time of ISO 8601 or of a head of HTTP, or seconds; ValueError for anything else.

    The library's own parser takes 60 µs for each key of a page, and any length.
    """
    try:
        if isinstance(value, int | float):
            return datetime.fromtimestamp(value, UTC)
        if len(value) > _MAX_TIME:
            raise ValueError
        is_iso = value[:1].isdigit()
        found = datetime.fromisoformat(value) if is_iso else parsedate_to_datetime(value)
    except (ValueError, TypeError, OverflowError, OSError):
        raise ValueError("This is no time.") from None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
