"""Tags and covers of audio files: ID3 frames, Vorbis comments, and PNG squares of one colour."""

import zlib
from collections.abc import Iterator
from struct import pack

from penstock.datastore.audio.records import Tags


def png(red: int, green: int, blue: int, side: int = 64) -> bytes:
    """Return a square picture with `side` pixels on each side."""
    header = pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    rows = (b"\0" + bytes((red, green, blue)) * side) * side
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(map(_chunk, *zip(*chunks, strict=True)))


def _chunk(name: bytes, content: bytes) -> bytes:
    checksum = zlib.crc32(name + content)
    return pack(">I", len(content)) + name + content + pack(">I", checksum)


FRONT_COVER = 3


def id3(tags: Tags, cover: bytes | None = None) -> bytes:
    """Return an ID3 tag of version 2.4; zero bytes separate several values of a field."""
    frames = [_frame(name, b"\x03" + text.encode()) for name, text in _id3_texts(tags)]
    if cover is not None:
        frames.append(_frame("APIC", b"\x03image/png\0" + bytes([FRONT_COVER]) + b"\0" + cover))
    body = b"".join(frames)
    return b"ID3\x04\x00\x00" + _synchsafe(len(body)) + body


def comments(tags: Tags) -> bytes:
    """Return a block of Vorbis comments, without the framing of each format."""
    lines = [f"{name}={text}".encode() for name, text in _comment_texts(tags)]
    block = pack("<I", 0) + pack("<I", len(lines))
    return block + b"".join(pack("<I", len(line)) + line for line in lines)


def picture_block(cover: bytes) -> bytes:
    """Return a cover in FLAC's form."""
    kind = b"image/png"
    head = pack(">II", FRONT_COVER, len(kind)) + kind + bytes(4 * 5)
    return head + pack(">I", len(cover)) + cover


def _id3_texts(tags: Tags) -> Iterator[tuple[str, str]]:
    texts = {
        "TIT2": tags.title,
        "TPE1": "\0".join(tags.artists),
        "TALB": tags.album,
        "TPE2": tags.album_artist,
        "TCON": "\0".join(tags.genres),
        "TDRC": tags.year and str(tags.year),
        "TPOS": tags.disc and str(tags.disc),
        "TRCK": tags.track and f"{tags.track}/{tags.track_total or tags.track}",
        "TCMP": tags.compilation and "1",
        "TXXX": tags.album_mbid and f"MusicBrainz Album Id\0{tags.album_mbid}",
    }
    return ((name, text) for name, text in texts.items() if text)


def _comment_texts(tags: Tags) -> Iterator[tuple[str, str]]:
    yield "TITLE", tags.title
    yield from (("ARTIST", artist) for artist in tags.artists)
    yield from (("GENRE", genre) for genre in tags.genres)
    texts = {
        "ALBUM": tags.album,
        "ALBUMARTIST": tags.album_artist,
        "DATE": tags.year and f"{tags.year}-01-02",
        "DISCNUMBER": tags.disc and str(tags.disc),
        "TRACKNUMBER": tags.track and str(tags.track),
        "TRACKTOTAL": tags.track_total and str(tags.track_total),
        "COMPILATION": tags.compilation and "1",
        "MUSICBRAINZ_TRACKID": tags.recording_mbid,
        "MUSICBRAINZ_ALBUMID": tags.album_mbid,
    }
    yield from ((name, text) for name, text in texts.items() if text)


def _frame(name: str, content: bytes) -> bytes:
    return name.encode() + _synchsafe(len(content)) + b"\0\0" + content


def _synchsafe(size: int) -> bytes:
    """Encode a size with seven bits in each of four bytes."""
    return bytes(size >> shift & 0x7F for shift in (21, 14, 7, 0))
