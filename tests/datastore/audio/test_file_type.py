"""The type of a file is detected from its first bytes alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastore.audio.records import AudioFormat, Tags
from penstock.datastore.audio.tags.file_type import HEAD_BYTES, audio_format, picture_type
from tests.datastore.audio.sample_uploads import COVER, sound


@pytest.mark.parametrize("name", ["wav", "flac", "mp3", "opus", "m4a"])
def test_every_format_is_told_by_its_head(name: str) -> None:
    head = sound(name, 0.1, Tags(title="t"))[:HEAD_BYTES]
    assert audio_format(head) is AudioFormat(name)


@pytest.mark.parametrize(
    ("head", "format"),
    [
        (b"\xff\xfb\x90\x00", AudioFormat.MP3),
        (b"\xff\xf1\x50\x80", None),  # AAC without a container
        (b"OggS" + bytes(22) + b"\x01\x1e\x01vorbis", AudioFormat.OGG),
        (b"OggS" + bytes(22) + b"\x01\x2a\x80theora", None),
        (b"OggS", None),
        (b"\0\0\0\x20ftypqt  ", None),
        (b"RIFF\0\0\0\0AVI ", None),
        (b"FORM\0\0\0\0AIFC", AudioFormat.AIFF),
        (b"PK\x03\x04", None),
        (b"<html>", None),
        (b"", None),
        (b"\xff", None),
    ],
)
def test_what_is_no_audio_is_told_too(head: bytes, format: AudioFormat | None) -> None:
    assert audio_format(head) is format


@given(st.binary(max_size=HEAD_BYTES))
def test_no_head_is_too_odd_to_look_at(head: bytes) -> None:
    audio_format(head)
    picture_type(head)


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (COVER, "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\0\0\0\0WEBP", "image/webp"),
        (b"<svg xmlns=", None),
        (b"BM", None),
    ],
)
def test_a_cover_is_a_picture_that_browsers_show_and_never_a_page(
    head: bytes, kind: str | None
) -> None:
    assert picture_type(head) == kind
