"""The parser of tags: tinytag's result in the form of our records.

Also the length of an Ogg file of Vorbis or Opus, computed from its first page and its last.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import SEEK_END
from struct import unpack_from
from time import thread_time
from typing import BinaryIO, Final, NamedTuple, cast

from tinytag import TinyTag

from penstock.datastore.audio import track_rules
from penstock.datastore.audio.records import AudioFormat, Tags
from penstock.datastore.audio.tags.file_type import HEAD_BYTES
from penstock.datastore.audio.tags.partial_file import (
    BLOCK,
    BlockLimitExceeded,
    MissingBlocks,
    PartialFile,
)
from penstock.datastore.interruptible_work import limit_cpu_time
from penstock.datastore.text import (
    growth_problem,
    is_id,
    normalisation_problem,
    replace_unprintable,
)

_PAGE: Final = 27
_OPUS_RATE: Final = 48_000


class SoundProperties(NamedTuple):
    """The length in seconds, and the samples per second."""

    duration: float
    sample_rate: int


def read_ogg_sound(excerpt: PartialFile) -> SoundProperties | None:
    """Read length and rate; None if the last page belongs to a different stream."""
    excerpt.seek(0)
    head = excerpt.read(HEAD_BYTES)
    serial, packet = head[14:18], head[_PAGE + head[26] :]
    if packet.startswith(b"OpusHead"):
        rate, skipped = _OPUS_RATE, unpack_from("<H", packet, 10)[0]
    else:
        rate, skipped = unpack_from("<I", packet, 12)[0], 0
    samples = _last_sample(excerpt, serial)
    if samples is None or not rate:
        return None
    return SoundProperties(max(samples - skipped, 0) / rate, rate)


def _last_sample(excerpt: PartialFile, serial: bytes) -> int | None:
    """The position in the stream's last page that has a position."""
    end = excerpt.seek(0, SEEK_END)
    # A page has less than 64 KB, so the last two blocks contain the beginning of one.
    start = excerpt.seek(max(0, ((end - 1) // BLOCK - 1) * BLOCK))
    tail = excerpt.read(end - start)
    at = len(tail)
    while (at := tail.rfind(b"OggS\x00", 0, at)) >= 0:
        if len(tail) - at >= _PAGE and tail[at + 14 : at + 18] == serial:
            position: int = unpack_from("<q", tail, at + 6)[0]
            if position >= 0:
                return position
    return None


MAX_INT: Final = 2**31 - 1

CPU_SECONDS: Final = 2.0
"""The most CPU time of all parsing of one object."""

MAX_PICTURE: Final = 4 * 1024 * 1024
DAMAGED: Final = "its tags are damaged"
TOO_LONG: Final = "its tags take too long to read"
_YES: Final = frozenset({"1", "true", "yes"})
_YEAR: Final = re.compile(r"(?<!\d)\d{4}(?!\d)", re.ASCII)


class UnreadableTags(Exception):
    """The parser cannot read the file; the message is DAMAGED or TOO_LONG."""


@dataclass(frozen=True, slots=True)
class ParsedTags:
    """Tags, properties of the sound, and the cover if there is one."""

    tags: Tags
    duration_ms: int
    bitrate: int | None
    sample_rate: int | None
    picture: bytes | None


class Attempt(NamedTuple):
    """The result of an attempt to parse: tags or the reason of a failure, and its CPU time."""

    parsed: ParsedTags | None
    reason: str
    seconds: float


def try_parse(
    excerpt: PartialFile, format: AudioFormat, title: str, *, picture: bool, seconds: float
) -> Attempt:
    """Read the tags in at most so many seconds of CPU time; no failure leaves the thread.

    An exception would keep the parser's frames, and all that they hold, beyond the attempt.
    """
    began = thread_time()
    parsed, reason = None, ""
    try:
        parsed = parse_tags(excerpt, format, title, picture=picture, seconds=seconds)
    except (UnreadableTags, MissingBlocks, BlockLimitExceeded) as error:
        reason = str(error)
    return Attempt(parsed, reason, thread_time() - began)


def parse_tags(
    excerpt: PartialFile,
    format: AudioFormat,
    title: str,
    *,
    picture: bool,
    seconds: float = CPU_SECONDS,
) -> ParsedTags:
    """Read the tags; `title` is used for a track without one.

    Raises UnreadableTags, also if the excerpt lacks something. Blocks its thread, for at most so
    many seconds of CPU time.
    """
    in_ogg = format in (AudioFormat.OGG, AudioFormat.OPUS)
    until = thread_time() + seconds
    try:
        with limit_cpu_time(until):
            # tinytag would read every page of an Ogg file to find the last one.
            sound = read_ogg_sound(excerpt) if in_ogg else None
            excerpt.seek(0)
            file = cast("BinaryIO", excerpt)
            found = TinyTag.get(file_obj=file, duration=not in_ogg, image=picture)
            tags, cover = _read_tags(found, title), found.images.any
    except (MissingBlocks, BlockLimitExceeded):
        raise
    except Exception as error:  # the library may raise anything for a damaged file
        # Its words may be about this program, and it hides a TimeoutError.
        raise UnreadableTags(TOO_LONG if thread_time() > until else DAMAGED) from error
    duration, rate = sound or (found.duration, found.samplerate)
    return ParsedTags(
        tags=tags,
        duration_ms=round_number((duration or 0) * 1000) or 0,
        bitrate=round_number(found.bitrate),
        sample_rate=round_number(rate),
        picture=cover.data if cover is not None and len(cover.data) <= MAX_PICTURE else None,
    )


def _read_tags(found: TinyTag, title: str) -> Tags:
    other = found.other
    return Tags(
        title=_clean_text(found.title, track_rules.MAX_TITLE)
        or _clean_text(title, track_rules.MAX_TITLE)
        or "Untitled",
        artists=_clean_names([found.artist, *other.get("artist", ())], track_rules.MAX_ARTISTS),
        album=_clean_text(found.album, track_rules.MAX_NAME),
        album_artist=_clean_text(found.albumartist, track_rules.MAX_NAME),
        compilation=_first_value(other, "compilation", "tcmp", "tcp", "cpil").lower() in _YES,
        disc=_number_in_range(found.disc, track_rules.HIGHEST["disc"]),
        track=_number_in_range(found.track, track_rules.HIGHEST["track"]),
        track_total=_number_in_range(found.track_total, track_rules.HIGHEST["track_total"]),
        year=_read_year(found.year),
        genres=_clean_names([found.genre, *other.get("genre", ())], track_rules.MAX_GENRES),
        recording_mbid=_read_mbid(
            _first_value(other, "musicbrainz_trackid", "musicbrainz track id")
        ),
        album_mbid=_read_mbid(_first_value(other, "musicbrainz_albumid", "musicbrainz album id")),
    )


def _clean_text(text: str | None, maximum: int) -> str | None:
    """A tag's text without unprintable characters, cut to the maximum; None if nothing is left."""
    shown = " ".join(replace_unprintable(text or "").split())[:maximum].strip()
    is_unfit = not shown or normalisation_problem(shown, maximum) or growth_problem(shown)
    return None if is_unfit else shown


def _clean_names(texts: Iterable[str | None], most: int) -> tuple[str, ...]:
    names = (_clean_text(text, track_rules.MAX_NAME) for text in texts)
    return tuple(dict.fromkeys(name for name in names if name))[:most]


def _first_value(other: Mapping[str, Sequence[str]], *fields: str) -> str:
    return next((other[field][0] for field in fields if other.get(field)), "")


def _read_mbid(text: str) -> str | None:
    id = text.strip().lower()
    return id if is_id(id) else None


def _number_in_range(number: int | None, highest: int) -> int:
    return number if number is not None and 0 <= number <= highest else 0


def _read_year(text: str | None) -> int:
    found = _YEAR.search(text or "")
    return int(found[0]) if found else 0


def round_number(number: float | None) -> int | None:
    """Round a number of a header; None for one that no sound has, nor GraphQL can send."""
    # A whole number may be too large for a float, and is compared as it is.
    return round(number) if number is not None and 0 < number < MAX_INT else None
