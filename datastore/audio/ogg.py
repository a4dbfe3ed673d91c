"""How long an Ogg file of Vorbis or Opus lasts, from its first page and its last."""

from os import SEEK_END
from struct import unpack_from
from typing import Final, NamedTuple

from penstock.datastore.audio.excerpt import BLOCK, Excerpt
from penstock.datastore.audio.sniffing import HEAD_BYTES

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
