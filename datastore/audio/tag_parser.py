"""How long an Ogg file of Vorbis or Opus lasts, from its first page and its last.

What the tags of a file say, read by tinytag and brought into the form of our records.
"""

import re
import struct
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite
from os import SEEK_END
from struct import unpack_from
from time import thread_time
from types import FrameType
from typing import BinaryIO, Final, NamedTuple, cast

from tinytag import TinyTag, TinyTagException

from penstock.datastore.audio import track_rules
from penstock.datastore.audio.file_type import HEAD_BYTES
from penstock.datastore.audio.partial_file import BLOCK, Excerpt
from penstock.datastore.audio.records import AudioFormat, Tags
from penstock.datastore.text import is_id, printable, unread_problem

_PAGE: Final = 27
_OPUS_RATE: Final = 48_000


class Sound(NamedTuple):
    """Its length in seconds and its samples a second."""

    duration: float
    sample_rate: int


def ogg_sound(excerpt: Excerpt) -> Sound | None:
    """Read both; None where the pages are not of the one stream that the file begins with."""
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
    return Sound(max(samples - skipped, 0) / rate, rate)


def _last_sample(excerpt: Excerpt, serial: bytes) -> int | None:
    """The position that the stream's last page names, of those that name any."""
    end = excerpt.seek(0, SEEK_END)
    # A page has less than 64 KB, so that the last two blocks hold one.
    start = excerpt.seek(max(0, ((end - 1) // BLOCK - 1) * BLOCK))
    tail = excerpt.read(end - start)
    at = len(tail)
    while (at := tail.rfind(b"OggS\x00", 0, at)) >= 0:
        if len(tail) - at >= _PAGE and tail[at + 14 : at + 18] == serial:
            position: int = unpack_from("<q", tail, at + 6)[0]
            if position >= 0:
                return position
    return None


CPU_SECONDS: Final = 2.0
MAX_PICTURE: Final = 4 * 1024 * 1024
_YES: Final = frozenset({"1", "true", "yes"})
_YEAR: Final = re.compile(r"(?<!\d)\d{4}(?!\d)", re.ASCII)


class Unreadable(Exception):
    """The parser could make nothing of the file; the message says why."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """Tags, the sound's properties, and the cover if there is one."""

    tags: Tags
    duration_ms: int
    bitrate: int | None
    sample_rate: int | None
    picture: bytes | None


def parse(excerpt: Excerpt, format: AudioFormat, title: str, *, picture: bool) -> Parsed:
    """Read the tags; `title` is what a track without one is called.

    Raises Unreadable, also in place of what the excerpt keeps as its failure. Blocks its thread,
    for CPU_SECONDS of work at most.
    """
    in_ogg = format in (AudioFormat.OGG, AudioFormat.OPUS)
    try:
        with _limited(CPU_SECONDS):
            # In an Ogg file tinytag would look at every page to find the last one.
            sound = ogg_sound(excerpt) if in_ogg else None
            excerpt.seek(0)
            file = cast("BinaryIO", excerpt)
            found = TinyTag.get(file_obj=file, duration=not in_ogg, image=picture)
            tags = _tags(found, title)
    except (TinyTagException, OSError, struct.error) as error:
        raise Unreadable(str(error) or type(error).__name__) from error
    duration, rate = sound or (found.duration, found.samplerate)
    cover = found.images.any
    return Parsed(
        tags=tags,
        duration_ms=_whole((duration or 0) * 1000) or 0,
        bitrate=_whole(found.bitrate),
        sample_rate=_whole(rate),
        picture=cover.data if cover is not None and len(cover.data) <= MAX_PICTURE else None,
    )


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Let this thread call functions for so many seconds of its own time, then raise TimeoutError.

    A file may be made so that its tags take hours; nobody can end a thread from outside.
    """
    until = thread_time() + seconds

    def on_call(_frame: FrameType, _event: str, _arg: object) -> None:
        if thread_time() > until:
            raise TimeoutError("its tags take too long to read")

    before = sys.gettrace()
    sys.settrace(on_call)
    try:
        yield
    finally:
        sys.settrace(before)


def _tags(found: TinyTag, title: str) -> Tags:
    other = found.other
    return Tags(
        title=_text(found.title, track_rules.MAX_TITLE)
        or _text(title, track_rules.MAX_TITLE)
        or "Untitled",
        artists=_names([found.artist, *other.get("artist", ())], track_rules.MAX_ARTISTS),
        album=_text(found.album, track_rules.MAX_NAME),
        album_artist=_text(found.albumartist, track_rules.MAX_NAME),
        compilation=_first(other, "compilation", "tcmp", "tcp", "cpil").lower() in _YES,
        disc=_number(found.disc, track_rules.HIGHEST["disc"]),
        track=_number(found.track, track_rules.HIGHEST["track"]),
        track_total=_number(found.track_total, track_rules.HIGHEST["track_total"]),
        year=_year(found.year),
        genres=_names([found.genre, *other.get("genre", ())], track_rules.MAX_GENRES),
        recording_mbid=_mbid(_first(other, "musicbrainz_trackid", "musicbrainz track id")),
        album_mbid=_mbid(_first(other, "musicbrainz_albumid", "musicbrainz album id")),
    )


def _text(text: str | None, maximum: int) -> str | None:
    """A tag's text as our rules want it: without what cannot be shown, and cut."""
    shown = " ".join(printable(text or "").split())[:maximum].strip()
    return None if not shown or unread_problem(shown, maximum) else shown


def _names(texts: Iterable[str | None], most: int) -> tuple[str, ...]:
    names = (_text(text, track_rules.MAX_NAME) for text in texts)
    return tuple(dict.fromkeys(name for name in names if name))[:most]


def _first(other: Mapping[str, Sequence[str]], *fields: str) -> str:
    return next((other[field][0] for field in fields if other.get(field)), "")


def _mbid(text: str) -> str | None:
    id = text.strip().lower()
    return id if is_id(id) else None


def _number(number: int | None, highest: int) -> int:
    return number if number is not None and 0 <= number <= highest else 0


def _year(text: str | None) -> int:
    found = _YEAR.search(text or "")
    return int(found[0]) if found else 0


def _whole(number: float | None) -> int | None:
    return round(number) if number and isfinite(number) else None
