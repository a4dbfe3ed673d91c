"""What the tags of a file say, read by tinytag and brought into the form of our records."""

import re
import struct
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite
from time import thread_time
from types import FrameType
from typing import BinaryIO, Final, cast

from tinytag import TinyTag, TinyTagException

from penstock.datastore.audio import rules
from penstock.datastore.audio.excerpt import Excerpt
from penstock.datastore.audio.ogg import ogg_sound
from penstock.datastore.audio.records import AudioFormat, Tags
from penstock.datastore.clock import is_id
from penstock.datastore.text import printable, unread_problem

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
        title=_text(found.title, rules.MAX_TITLE) or _text(title, rules.MAX_TITLE) or "Untitled",
        artists=_names([found.artist, *other.get("artist", ())], rules.MAX_ARTISTS),
        album=_text(found.album, rules.MAX_NAME),
        album_artist=_text(found.albumartist, rules.MAX_NAME),
        compilation=_first(other, "compilation", "tcmp", "tcp", "cpil").lower() in _YES,
        disc=_number(found.disc, rules.HIGHEST["disc"]),
        track=_number(found.track, rules.HIGHEST["track"]),
        track_total=_number(found.track_total, rules.HIGHEST["track_total"]),
        year=_year(found.year),
        genres=_names([found.genre, *other.get("genre", ())], rules.MAX_GENRES),
        recording_mbid=_mbid(_first(other, "musicbrainz_trackid", "musicbrainz track id")),
        album_mbid=_mbid(_first(other, "musicbrainz_albumid", "musicbrainz album id")),
    )


def _text(text: str | None, maximum: int) -> str | None:
    """A tag's text as our rules want it: without what cannot be shown, and cut."""
    shown = " ".join(printable(text or "").split())[:maximum].strip()
    return None if not shown or unread_problem(shown, maximum) else shown


def _names(texts: Iterable[str | None], most: int) -> tuple[str, ...]:
    names = (_text(text, rules.MAX_NAME) for text in texts)
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
