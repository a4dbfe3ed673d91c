"""WAV, FLAC and MP3 files, of tones with 16-bit samples at 8 kHz and one channel."""

from array import array
from collections.abc import Iterator, Sequence
from hashlib import md5
from math import pi, sin
from struct import pack

from penstock.datastore.audio.records import Tags
from penstock.server.samples.sounds.tags import comments, id3, picture_block

RATE = 8000


def tone(hertz: int, seconds: float) -> Sequence[int]:
    """Return a quiet sine wave, which repeats after a second."""
    second = array("h", (round(3000 * sin(2 * pi * hertz * n / RATE)) for n in range(RATE)))
    whole, rest = divmod(round(seconds * RATE), RATE)
    return second * whole + second[:rest]


BLOCK_SAMPLES = 4096
MP3_FRAME_SECONDS = 576 / RATE
_MP3_HEADER = b"\xff\xe3\x18\xc4"  # MPEG 2.5, layer III, 8 kbit/s, 8 kHz, one channel
_MP3_FRAME_BYTES = 72


def wav(samples: Sequence[int], tags: Tags, cover: bytes | None = None) -> bytes:
    """Return a WAV file with an ID3 chunk after its sound."""
    form = pack("<HHIIHH", 1, 1, RATE, 2 * RATE, 2, 16)
    chunks = ((b"fmt ", form), (b"data", _little_endian(samples)), (b"id3 ", id3(tags, cover)))
    body = b"".join(name + pack("<I", len(it)) + it + bytes(len(it) % 2) for name, it in chunks)
    return b"RIFF" + pack("<I", len(body) + 4) + b"WAVE" + body


def flac(samples: Sequence[int], tags: Tags, cover: bytes | None = None) -> bytes:
    """Return a FLAC file of uncompressed frames."""
    digest = md5(_little_endian(samples), usedforsecurity=False).digest()
    sizes = pack(">HH", BLOCK_SAMPLES, BLOCK_SAMPLES) + bytes(6)
    # 20 bits of rate, 3 of channels less one, 5 of bits less one, 36 of samples.
    facts = (RATE << 44 | 0 << 41 | 15 << 36 | len(samples)).to_bytes(8, "big")
    blocks = [(0, sizes + facts + digest), (4, comments(tags))]
    if cover is not None:
        blocks.append((6, picture_block(cover)))
    head = b"".join(
        bytes([kind | (0x80 if n == len(blocks) else 0)]) + len(block).to_bytes(3, "big") + block
        for n, (kind, block) in enumerate(blocks, start=1)
    )
    return b"fLaC" + head + b"".join(_flac_frames(samples))


def mp3(seconds: float, tags: Tags, cover: bytes | None = None) -> bytes:
    """Return an MP3 file of silence: frames whose side information declares them empty."""
    frames = max(round(seconds / MP3_FRAME_SECONDS), 1)
    frame = _MP3_HEADER + bytes(_MP3_FRAME_BYTES - len(_MP3_HEADER))
    return id3(tags, cover) + frame * frames


def _flac_frames(samples: Sequence[int]) -> Iterator[bytes]:
    for number, start in enumerate(range(0, len(samples), BLOCK_SAMPLES)):
        block = samples[start : start + BLOCK_SAMPLES]
        # Size of the block in 16 bits behind the number, 8 kHz, one channel, 16 bits, no gaps.
        head = b"\xff\xf8\x74\x08" + chr(number).encode() + pack(">H", len(block) - 1)
        head += bytes([_crc(head, 0x07, 8)])
        frame = head + b"\x02" + _big_endian(block)
        yield frame + pack(">H", _crc(frame, 0x8005, 16))


def _crc(content: bytes, polynomial: int, bits: int) -> int:
    table = _table(polynomial, bits)
    remainder, mask = 0, (1 << bits) - 1
    for byte in content:
        remainder = (remainder << 8 & mask) ^ table[(remainder >> bits - 8) ^ byte]
    return remainder


def _table(polynomial: int, bits: int) -> list[int]:
    top, mask = 1 << bits - 1, (1 << bits) - 1
    table = []
    for byte in range(256):
        remainder = byte << bits - 8
        for _ in range(8):
            remainder = (remainder << 1 ^ (polynomial if remainder & top else 0)) & mask
        table.append(remainder)
    return table


def _little_endian(samples: Sequence[int]) -> bytes:
    return pack(f"<{len(samples)}h", *samples)


def _big_endian(samples: Sequence[int]) -> bytes:
    return pack(f">{len(samples)}h", *samples)
