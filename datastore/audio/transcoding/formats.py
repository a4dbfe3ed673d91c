"""The formats and bit rates to which audio is converted, and what a request for one means."""

from bisect import bisect_right
from enum import StrEnum
from typing import Final, NamedTuple

from penstock.datastore.audio.records import Audio, AudioFormat
from penstock.datastore.errors import BadArgument


class StreamFormat(StrEnum):
    """The formats to which audio is converted."""

    MP3 = "mp3"
    OPUS = "opus"
    AAC = "aac"


class Encoding(NamedTuple):
    """The encoder and the container by which FFmpeg makes a format, and what players see of it."""

    encoder: str
    container: str
    suffix: str
    media_type: str


ENCODINGS: Final = {
    StreamFormat.MP3: Encoding("libmp3lame", "mp3", "mp3", "audio/mpeg"),
    StreamFormat.OPUS: Encoding("libopus", "ogg", "opus", "audio/ogg"),
    StreamFormat.AAC: Encoding("aac", "ipod", "m4a", "audio/mp4"),
}
BIT_RATES: Final = (32, 48, 64, 96, 128, 160, 192, 256, 320)
"""The bit rates in kbit/s; few of them, so that what was converted is used again."""

DEFAULT_BIT_RATE: Final = 192
_LOSSLESS_FROM: Final = 400
"""The bit rate above which the sound of an M4A file counts as lossless, which few players know."""

_NATIVE: Final = {
    AudioFormat.MP3: StreamFormat.MP3,
    AudioFormat.OPUS: StreamFormat.OPUS,
    AudioFormat.M4A: StreamFormat.AAC,
}


class Conversion(NamedTuple):
    """A format and a bit rate in kbit/s, to which a track is converted."""

    format: StreamFormat
    bit_rate: int

    @property
    def encoding(self) -> Encoding:
        return ENCODINGS[self.format]


def choose_conversion(
    track: Audio, format: StreamFormat | None, bit_rate: int | None
) -> Conversion | None:
    """Choose how a track is converted to be in a format, and of no more than a bit rate.

    None if the track is so already. Raises BadArgument for a bit rate below all there are.
    """
    if bit_rate is not None and bit_rate < BIT_RATES[0]:
        raise BadArgument(f"The bit rate is at least {BIT_RATES[0]} kbit/s.", ("bitRate",))
    own = track.bitrate or _LOSSLESS_FROM
    native = _NATIVE.get(track.format) if own < _LOSSLESS_FROM else None
    fits = bit_rate is None or own <= bit_rate
    if fits and format in (None, native):
        return None
    most = min(own, DEFAULT_BIT_RATE if bit_rate is None else bit_rate)
    return Conversion(format or native or StreamFormat.MP3, _round_down(most))


def _round_down(bit_rate: int) -> int:
    return BIT_RATES[max(bisect_right(BIT_RATES, bit_rate) - 1, 0)]
