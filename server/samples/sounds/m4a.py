"""MP4 files of AAC: frames of silence, and the boxes that index them."""

from collections.abc import Iterator
from struct import pack
from typing import Final

from penstock.datastore.audio.records import Tags

FRAME_SECONDS: Final = 1024 / 44_100
_RATE: Final = 44_100
_SILENCE: Final = b"\x21\x10\x04\x60\x8c\x1c"  # AAC-LC, two channels
_MATRIX: Final = pack(">9I", 0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)
_PNG: Final = 14


def m4a(seconds: float, tags: Tags, cover: bytes | None = None) -> bytes:
    """Return a file of silence, with its index at the end as most writers place it."""
    frames = max(round(seconds / FRAME_SECONDS), 1)
    brand = _box(b"ftyp", b"M4A \0\0\0\0M4A mp42isom")
    sound = _box(b"mdat", _SILENCE * frames)
    return brand + sound + _movie(frames, len(brand) + 8, _items(tags, cover))


def _movie(frames: int, offset: int, items: bytes) -> bytes:
    length = frames * 1024
    header = _full_box(
        b"mvhd",
        pack(">IIIIIH", 0, 0, _RATE, length, 0x10000, 0x100) + bytes(10),
        _MATRIX + bytes(24) + pack(">I", 2),
    )
    track = _full_box(
        b"tkhd",
        pack(">IIIII", 0, 0, 1, 0, length) + bytes(8) + pack(">HHHH", 0, 0, 0x100, 0),
        _MATRIX + bytes(8),
        flags=7,
    )
    media = _box(
        b"mdia",
        _full_box(b"mdhd", pack(">IIIIHH", 0, 0, _RATE, length, 0x55C4, 0))
        + _full_box(b"hdlr", bytes(4) + b"soun" + bytes(12) + b"\0")
        + _information(frames, offset),
    )
    metadata = _full_box(b"meta", _full_box(b"hdlr", bytes(4) + b"mdirappl" + bytes(9)) + items)
    return _box(b"moov", header + _box(b"trak", track + media) + _box(b"udta", metadata))


def _information(frames: int, offset: int) -> bytes:
    reference = _box(b"dinf", _full_box(b"dref", pack(">I", 1) + _full_box(b"url ", b"", flags=1)))
    table = _box(
        b"stbl",
        _full_box(b"stsd", pack(">I", 1) + _sample_entry())
        + _full_box(b"stts", pack(">III", 1, frames, 1024))
        + _full_box(b"stsc", pack(">IIII", 1, 1, frames, 1))
        + _full_box(b"stsz", pack(">II", len(_SILENCE), frames))
        + _full_box(b"stco", pack(">II", 1, offset)),
    )
    return _box(b"minf", _full_box(b"smhd", bytes(4)) + reference + table)


def _sample_entry() -> bytes:
    specific = b"\x05\x02\x12\x10"
    config = b"\x04" + bytes([13 + len(specific)]) + b"\x40\x15" + bytes(3) + bytes(8) + specific
    stream = b"\x03" + bytes([3 + len(config) + 3]) + b"\0\1\0" + config + b"\x06\x01\x02"
    entry = bytes(6) + pack(">H", 1) + bytes(8) + pack(">HHHHI", 2, 16, 0, 0, _RATE << 16)
    return _box(b"mp4a", entry + _full_box(b"esds", stream))


def _items(tags: Tags, cover: bytes | None) -> bytes:
    found = [_box(name, _data(1, text.encode())) for name, text in _texts(tags)]
    if tags.track:
        found.append(_box(b"trkn", _data(0, pack(">4H", 0, tags.track, tags.track_total, 0))))
    if tags.disc:
        found.append(_box(b"disk", _data(0, pack(">3H", 0, tags.disc, 0))))
    if tags.compilation:
        found.append(_box(b"cpil", _data(21, b"\1")))
    if cover is not None:
        found.append(_box(b"covr", _data(_PNG, cover)))
    return _box(b"ilst", b"".join(found))


def _texts(tags: Tags) -> Iterator[tuple[bytes, str]]:
    yield b"\xa9nam", tags.title
    yield from ((b"\xa9ART", artist) for artist in tags.artists)
    yield from ((b"\xa9gen", genre) for genre in tags.genres)
    for name, text in ((b"\xa9alb", tags.album), (b"aART", tags.album_artist)):
        if text is not None:
            yield name, text
    if tags.year:
        yield b"\xa9day", str(tags.year)


def _data(kind: int, content: bytes) -> bytes:
    return _box(b"data", pack(">II", kind, 0) + content)


def _full_box(name: bytes, *contents: bytes, flags: int = 0) -> bytes:
    return _box(name, pack(">I", flags), *contents)


def _box(name: bytes, *contents: bytes) -> bytes:
    content = b"".join(contents)
    return pack(">I", 8 + len(content)) + name + content
