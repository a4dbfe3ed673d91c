"""A damaged file of text is refused in our words, whatever its library says of it."""

import gzip
from pathlib import Path

import pytest

from penstock.datastore.input_files.kinds import InputRefused
from penstock.datastore.input_files.text import decode_wide, unpack_gzip

PACKED = gzip.compress(b"month,kwh\n2025-01,1\n" * 100)
DAMAGED = {
    "cut": PACKED[:-9],
    "cut in the head": PACKED[:5],
    "garbage behind it": PACKED + b"garbage",
    "another checksum": PACKED[:-8] + b"\0" * 8,
    "another method": PACKED[:2] + b"\0" + PACKED[3:],
    "broken blocks": PACKED[:10] + b"\xff" * 20 + PACKED[30:],
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_gzip_file_is_refused_in_our_words(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(DAMAGED[damage])
    with pytest.raises(InputRefused) as refused:
        list(unpack_gzip(path))
    assert str(refused.value) == "the file cannot be read: it is no whole gzip file"


@pytest.mark.parametrize("content", [b"\xff\xfea\0b", b"\xff\xfe\0\xd8a\0", b"\xfe\xff\xdc\0\0a"])
def test_a_damaged_utf_16_file_is_refused_in_our_words(content: bytes) -> None:
    with pytest.raises(InputRefused) as refused:
        list(decode_wide([content]))
    assert str(refused.value) == "the file is not UTF-16 throughout"
