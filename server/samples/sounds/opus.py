"""Ogg files of Opus: packets of silence, in pages with checksums."""

from base64 import b64encode
from struct import pack
from typing import Final

from penstock.datastore.audio.records import Tags
from penstock.server.samples.sounds.tags import comments, picture_block

PACKET_SECONDS: Final = 0.02
_SAMPLES: Final = 960
_SKIPPED: Final = 312
_SILENCE: Final = b"\xf8\xff\xfe"  # one channel, 20 ms
_SERIAL: Final = 1
_PACKETS_A_PAGE: Final = 50
_POLYNOMIAL: Final = 0x04C11DB7


def opus(seconds: float, tags: Tags, cover: bytes | None = None) -> bytes:
    """Return a file of silence."""
    packets = max(round(seconds / PACKET_SECONDS), 1)
    head = b"OpusHead" + pack("<BBHIhB", 1, 1, _SKIPPED, 48_000, 0, 0)
    pages = [_page(0, 0, [head], 2), _page(1, 0, [b"OpusTags" + _comments(tags, cover)], 0)]
    for number, start in enumerate(range(0, packets, _PACKETS_A_PAGE), start=2):
        held = min(_PACKETS_A_PAGE, packets - start)
        last = start + held == packets
        position = (start + held) * _SAMPLES + (_SKIPPED if last else 0)
        pages.append(_page(number, position, [_SILENCE] * held, 4 if last else 0))
    return b"".join(pages)


def _comments(tags: Tags, cover: bytes | None) -> bytes:
    block = comments(tags)
    if cover is None:
        return block
    line = b"METADATA_BLOCK_PICTURE=" + b64encode(picture_block(cover))
    count = int.from_bytes(block[4:8], "little") + 1
    return block[:4] + pack("<I", count) + block[8:] + pack("<I", len(line)) + line


def _page(number: int, position: int, packets: list[bytes], flags: int) -> bytes:
    sizes = b"".join(b"\xff" * (len(each) // 255) + bytes([len(each) % 255]) for each in packets)
    head = b"OggS\0" + bytes([flags]) + pack("<qII", position, _SERIAL, number)
    rest = bytes([len(sizes)]) + sizes + b"".join(packets)
    return head + pack("<I", _checksum(head + bytes(4) + rest)) + rest


def _checksum(content: bytes) -> int:
    remainder = 0
    for byte in content:
        remainder ^= byte << 24
        for _ in range(8):
            top = remainder & 0x80000000
            remainder = (remainder << 1 ^ (_POLYNOMIAL if top else 0)) & 0xFFFFFFFF
    return remainder
