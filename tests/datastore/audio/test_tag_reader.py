"""Reading tags by ranges is exact for every format, needs few blocks, and accepts any bytes."""

import struct
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tinytag import TinyTag

from penstock.datastore.audio.records import AudioFormat, Tags
from penstock.datastore.audio.tags.partial_file import (
    BLOCK,
    MAX_CALLS,
    BlockLimitExceeded,
    MissingBlocks,
    PartialFile,
)
from penstock.datastore.audio.tags.tag_parser import (
    DAMAGED,
    MAX_INT,
    MAX_PICTURE,
    UnreadableTags,
    parse_tags,
    round_number,
    try_parse,
)
from penstock.datastore.audio.tags.tag_reader import (
    MAX_BLOCKS,
    MAX_BLOCKS_WITH_PICTURE,
    ScanResult,
    TagScan,
)
from penstock.datastore.errors import Invalid
from penstock.server.samples.sounds.tags import id3
from penstock.server.samples.sounds.wav_flac_mp3 import mp3
from tests.datastore.audio.sample_uploads import COVER, FORMATS, TAGS, sound


@dataclass(slots=True)
class OneFile:
    """A store with one file, which records the ranges that are read."""

    content: bytes
    ranges: list[tuple[int, int | None]] = field(default_factory=list)

    async def read(
        self, key: str, *, start: int = 0, end: int | None = None
    ) -> AsyncIterator[bytes]:
        assert key == "key"
        self.ranges.append((start, end))
        yield self.content[start:end]


async def scan_content(content: bytes, title: str = "file") -> tuple[ScanResult, OneFile]:
    files: Any = OneFile(content)
    return await TagScan(files, "key", len(content), {}).run(title), files


@pytest.mark.parametrize("name", ["wav", "flac", "mp3", "opus", "m4a"])
async def test_every_field_is_read_from_every_format(name: str) -> None:
    content = sound(name, 2, TAGS, COVER)
    found, files = await scan_content(content)
    assert found.format is AudioFormat(name)
    assert found.parsed.tags == TAGS
    assert found.parsed.picture == COVER
    assert found.parsed.duration_ms == pytest.approx(2000, abs=20)
    assert found.parsed.sample_rate in (8000, 44_100, 48_000)
    assert files.ranges == [(0, len(content))]


@pytest.mark.parametrize("bits", [8, 4_000])
@pytest.mark.parametrize("rate", [8_000, MAX_INT - 1, MAX_INT, 2**32 - 1])
async def test_numbers_that_no_sound_has_are_unknown(rate: int, bits: int) -> None:
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, rate, rate, 1, bits)
    # The header speaks of 4 GB, which nobody needs to send.
    chunks = b"WAVE" + form + struct.pack("<4sI", b"data", 2**32 - 100) + bytes(1_000)
    found, _ = await scan_content(struct.pack("<4sI", b"RIFF", 2**32 - 1) + chunks)
    assert found.parsed.sample_rate == (rate if rate < MAX_INT else None)
    assert found.parsed.bitrate is None or 0 < found.parsed.bitrate < MAX_INT
    assert found.parsed.duration_ms >= 1
    assert round_number(5 * 2**40 * 8 / 1) is None


def test_a_rate_of_any_size_is_read_or_unknown() -> None:
    """AIFF has rates of 80 bits, some of which are far too large for a float."""
    for exponent in range(0, 2**16, 127):
        for mantissa, channels in product((0, 1, 2**63, 2**64 - 1), (0, 2)):
            form = struct.pack(">4sIHIHHQ", b"COMM", 18, channels, 9, 16, exponent, mantissa)
            chunks = b"AIFF" + form + struct.pack(">4sI", b"SSND", 8) + bytes(8)
            content = struct.pack(">4sI", b"FORM", len(chunks)) + chunks
            excerpt = PartialFile(len(content), {0: content}, 1)
            tried = try_parse(excerpt, AudioFormat.AIFF, "t", picture=True, seconds=60)
            assert tried.parsed is not None
            rate = tried.parsed.sample_rate
            assert rate is None or rate == mantissa * 2.0 ** (exponent - 0x3FFF - 63) // 1


@pytest.mark.parametrize("error", [IndexError, OverflowError, RecursionError, AttributeError])
def test_whatever_the_parser_raises_means_that_a_file_is_damaged(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def fail(**_: object) -> None:
        raise error

    monkeypatch.setattr(TinyTag, "get", fail)
    content = SOUNDS["wav"]
    excerpt = PartialFile(len(content), {0: content}, 1)
    tried = try_parse(excerpt, AudioFormat.WAV, "t", picture=True, seconds=60)
    assert (tried.parsed, tried.reason) == (None, DAMAGED)


@pytest.mark.parametrize("name", ["wav", "flac", "mp3", "opus", "m4a"])
async def test_a_file_without_tags_has_the_title_it_is_given(name: str) -> None:
    found, _ = await scan_content(sound(name, 1, Tags(title="")), "01 Intro")
    assert found.parsed.tags == Tags(title="01 Intro")
    assert found.parsed.picture is None


@pytest.mark.parametrize(
    ("name", "seconds", "blocks"),
    [("mp3", 3600, 2), ("opus", 1800, 3), ("m4a", 3600, 3), ("flac", 60, 1), ("wav", 60, 2)],
)
async def test_of_a_long_file_few_blocks_are_read(name: str, seconds: int, blocks: int) -> None:
    content = sound(name, seconds, TAGS, COVER)
    found, files = await scan_content(content)
    assert found.parsed.tags == TAGS
    assert sum(((end or 0) - start) // BLOCK for start, end in files.ranges) <= blocks
    assert len(content) > 3 * BLOCK


async def test_a_file_with_a_cover_too_large_to_keep_is_read_without_it() -> None:
    tag = id3(TAGS, bytes(MAX_PICTURE * 2))
    content = tag + mp3(10, Tags(title="x"))[len(id3(Tags(title="x"))) :]
    found, files = await scan_content(content)
    assert found.parsed.tags == TAGS
    assert found.parsed.picture is None
    read = sum(min(end or 0, len(content)) - start for start, end in files.ranges)
    assert read <= MAX_BLOCKS_WITH_PICTURE * BLOCK


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "UNKNOWN_FORMAT"),
        (b"plain words", "UNKNOWN_FORMAT"),
        (bytes(1000), "UNKNOWN_FORMAT"),
        (b"%PDF-1.7" + bytes(5000), "UNKNOWN_FORMAT"),
        (b"fLaC" + bytes(5000), "UNREADABLE"),
        (b"ID3\x04\0\0\x7f\x7f\x7f\x7f" + b"\xff" * 5000, "UNREADABLE"),
        (b"\xff\xfb" + bytes(300_000), "UNREADABLE"),
        (b"RIFF\xff\xff\xff\xffWAVEdata\xff\xff\xff\xff", "UNREADABLE"),
        (b"\0\0\0\x20ftypM4A " + bytes(5000), "UNREADABLE"),
        (b"OggS\0\x02" + bytes(20) + b"\x01\x1e\x01vorbis" + bytes(5000), "UNREADABLE"),
        (b"OggS\0\x02" + bytes(20) + b"\x01\x13OpusHead", "UNREADABLE"),
    ],
)
async def test_garbage_is_refused_with_a_reason(content: bytes, code: str) -> None:
    with pytest.raises(Invalid) as refused:
        await scan_content(content)
    (problem,) = refused.value.problems
    assert (problem.path, problem.code) == (["objectKey"], code)


SOUNDS = {name: sound(name, 0.3, TAGS, COVER) for name in FORMATS}


CHANGES = st.tuples(st.integers(0, 2**16), st.binary(min_size=1, max_size=4))


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(sorted(SOUNDS)), st.lists(CHANGES, max_size=8), st.integers(0, 2**16))
def test_no_file_however_broken_does_more_than_fail(
    name: str, changes: list[tuple[int, bytes]], cut: int
) -> None:
    content = bytearray(SOUNDS[name])
    for place, written in changes:
        at = place % len(content)
        content[at : at + len(written)] = written
    whole = bytes(content[: max(cut % (2 * len(content)), 40)])
    excerpt = PartialFile(len(whole), {0: whole}, 1)
    tried = try_parse(excerpt, AudioFormat(name), "t", picture=True, seconds=60)
    if tried.parsed is None:
        assert tried.reason == DAMAGED or excerpt.missing or excerpt.is_exhausted
        return
    assert tried.parsed.tags.title
    assert tried.parsed.duration_ms >= 0


def test_tags_that_would_take_hours_are_given_up() -> None:
    """The parser compares each of many distinct values with all earlier ones."""
    values = "\0".join(f"{n:x}" for n in range(200_000))
    content = id3(Tags(title="t", artists=(values,)))
    excerpt = PartialFile(len(content), {0: content[:BLOCK]} | _rest(content), 1000)
    with pytest.raises(UnreadableTags, match="too long"):
        parse_tags(excerpt, AudioFormat.MP3, "t", picture=False, seconds=0.2)


DAMAGES = {
    "a number of 5,000 digits": lambda: _mp3_with(b"TRCK", b"\3" + b"9" * 5000),
    "more comments than there are": lambda: _flac_with(struct.pack("<II", 0, 2**32 - 1)),
    "a vendor beyond the end": lambda: _flac_with(struct.pack("<I", 2**32 - 1)),
    "a track number of one byte": lambda: SOUNDS["m4a"].replace(
        b"trkn\0\0\0\x18data", b"trkn\0\0\0\x11data"
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
async def test_what_the_parser_says_of_a_damaged_file_is_not_repeated(damage: str) -> None:
    with pytest.raises(Invalid) as refused:
        await scan_content(DAMAGES[damage]())
    assert str(refused.value) == f"objectKey: cannot be read: {DAMAGED}"


def _mp3_with(frame: bytes, value: bytes) -> bytes:
    size = len(value) + 10
    sizes = [
        bytes([n >> 21 & 127, n >> 14 & 127, n >> 7 & 127, n & 127]) for n in (size, size - 10)
    ]
    return b"ID3\4\0\0" + sizes[0] + frame + sizes[1] + b"\0\0" + value + b"\0" * 500


def _flac_with(comments: bytes) -> bytes:
    comment = b"\x84" + len(comments).to_bytes(3) + comments
    return b"fLaC\0\0\0\x22" + b"\x10" * 34 + comment + b"\0" * 500


def _rest(content: bytes) -> dict[int, bytes]:
    return {n: content[n * BLOCK :][:BLOCK] for n in range(1, len(content) // BLOCK + 1)}


def test_an_excerpt_asks_for_what_it_lacks_and_for_no_more_than_it_may() -> None:
    content = bytes(range(256)) * 1024
    excerpt = PartialFile(len(content), {0: content[:BLOCK]}, 2)
    assert excerpt.read(4) == content[:4]
    assert excerpt.seek(BLOCK - 2) == BLOCK - 2
    with pytest.raises(MissingBlocks) as missing:
        excerpt.read(4)
    assert missing.value.blocks == [1]
    assert (excerpt.missing, excerpt.is_exhausted) == ([1], False)
    assert excerpt.tell() == BLOCK - 2
    assert excerpt.seek(-3, 2) == len(content) - 3
    with pytest.raises(MissingBlocks):
        excerpt.read(100)
    excerpt.seek(0)
    with pytest.raises(BlockLimitExceeded):
        excerpt.read(len(content))
    assert excerpt.is_exhausted
    assert excerpt.seek(len(content) + 5) == len(content) + 5
    assert excerpt.read(1) == b""
    with pytest.raises(OSError, match="beginning"):
        excerpt.seek(-1)


def test_a_parser_in_a_loop_is_ended() -> None:
    excerpt = PartialFile(10, {0: bytes(10)}, 1)
    for _ in range(MAX_CALLS):
        excerpt.seek(0)
    with pytest.raises(BlockLimitExceeded):
        excerpt.seek(0)


async def test_text_that_no_record_may_hold_is_made_fit() -> None:
    odd = Tags(
        title="a\x01b" + "x" * 600,
        artists=("  spaced   out ", "spaced out", "z" + "\u0301" * 200, *map(str, range(40))),
        album="\x02",
        year=1980,
        genres=("",),
    )
    found, _ = await scan_content(mp3(1, odd))
    tags = found.parsed.tags
    assert tags.title == ("a b" + "x" * 600)[:512]
    assert tags.artists[:2] == ("spaced out", "0")
    assert len(tags.artists) == 16
    assert (tags.album, tags.genres) == (None, ())


async def test_an_id_of_musicbrainz_is_taken_only_where_it_is_one() -> None:
    mbid = "018f3b6e-0000-7000-8000-000000000001"
    for said, taken in ((mbid, mbid), (mbid.upper(), mbid), ("nonsense", None)):
        found, _ = await scan_content(sound("flac", 0.2, replace(TAGS, album_mbid=said)))
        assert found.parsed.tags.album_mbid == taken


def test_the_bounds_are_those_that_the_documents_name() -> None:
    assert MAX_BLOCKS * BLOCK == 2 * 1024 * 1024
    assert MAX_BLOCKS_WITH_PICTURE * BLOCK == 6 * 1024 * 1024
