"""A damaged file of text is refused in our words, whatever its library says of it."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.datastore.input_files.text import decode_wide, unpack_gzip
from penstock.transform.problems import InputRefused

DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda packed: packed[:-9],
    "cut in the head": lambda packed: packed[:5],
    "garbage behind it": lambda packed: packed + b"garbage",
    "another checksum": lambda packed: packed[:-8] + b"\0" * 8,
    "another method": lambda packed: packed[:2] + b"\0" + packed[3:],
    "broken blocks": lambda packed: packed[:10] + b"\xff" * 20 + packed[30:],
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_gzip_file_is_refused_in_our_words(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(DAMAGES[damage](gzip.compress(b"month,kwh\n2025-01,1\n" * 100)))
    with pytest.raises(InputRefused) as refused:
        list(unpack_gzip(path))
    assert str(refused.value) == "the file cannot be read: it is no whole gzip file"


@pytest.mark.parametrize("content", [b"\xff\xfea\0b", b"\xff\xfe\0\xd8a\0", b"\xfe\xff\xdc\0\0a"])
def test_a_damaged_utf_16_file_is_refused_in_our_words(content: bytes) -> None:
    with pytest.raises(InputRefused) as refused:
        list(decode_wide([content]))
    assert str(refused.value) == "the file is not UTF-16 throughout"
