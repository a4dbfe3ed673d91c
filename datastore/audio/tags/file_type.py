"""The type of a file, detected from its first bytes."""

from typing import Final

from penstock.datastore.audio.records import AudioFormat

HEAD_BYTES: Final = 262
_MP4_BRANDS: Final = (b"M4A ", b"M4B ", b"mp41", b"mp42", b"isom", b"iso2", b"dash")
_CONTAINERS: Final = (
    (b"fLaC", b"", AudioFormat.FLAC),
    (b"RIFF", b"WAVE", AudioFormat.WAV),
    (b"FORM", b"AIFF", AudioFormat.AIFF),
    (b"FORM", b"AIFC", AudioFormat.AIFF),
)
_PICTURES: Final = {
    b"\xff\xd8\xff": "image/jpeg",
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}


def audio_format(head: bytes) -> AudioFormat | None:
    """The format of an audio file with this beginning; None if its tags cannot be read."""
    if head.startswith(b"OggS"):
        return _ogg_format(head)
    if head[4:8] == b"ftyp":
        return AudioFormat.M4A if head[8:12] in _MP4_BRANDS else None
    for magic, kind, format in _CONTAINERS:
        if head.startswith(magic) and head.startswith(kind, 8):
            return format
    return AudioFormat.MP3 if head.startswith(b"ID3") or _is_mpeg_frame(head) else None


def picture_type(head: bytes) -> str | None:
    """The media type of a picture with this beginning; None if browsers may not show it."""
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for magic, kind in _PICTURES.items() if head.startswith(magic)), None)


def _ogg_format(head: bytes) -> AudioFormat | None:
    """Detect the codec from the first packet, which follows the segment table of the first page."""
    packet = head[27 + head[26] :] if len(head) > 26 else b""
    if packet.startswith(b"OpusHead"):
        return AudioFormat.OPUS
    return AudioFormat.OGG if packet.startswith(b"\x01vorbis") else None


def _is_mpeg_frame(head: bytes) -> bool:
    """Check eleven bits of synchronisation, and the layer: without a layer it would be AAC."""
    return len(head) > 1 and head[0] == 0xFF and head[1] & 0xE0 == 0xE0 and head[1] & 0x06 != 0
