"""The files of a run: compressed input, standard streams, and compressed results."""

import gzip
import io
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from penstock.server.commands.client.run_files import STANDARD, open_input, open_result
from penstock.server.core.command_output import CommandFailed

ROWS = b"a,b\n1,2\n"


def test_a_plain_file_is_used_where_it_lies(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_bytes(ROWS)
    with open_input(file) as plain:
        assert plain == file


def test_a_compressed_file_is_decompressed_and_the_copy_removed(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv.gz"
    file.write_bytes(gzip.compress(ROWS, mtime=0))
    with open_input(file) as plain:
        assert (plain.name, plain.read_bytes()) == ("rows.csv", ROWS)
    assert not plain.exists()


@pytest.mark.parametrize("content", [b"a,b\n", gzip.compress(ROWS, mtime=0)[:-4], b""])
def test_a_file_that_is_no_whole_gzip_is_refused(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "rows.csv.gz"
    file.write_bytes(content)
    if not content:
        with open_input(file) as plain:
            assert plain.read_bytes() == b""
        return
    with pytest.raises(CommandFailed, match="is not a whole gzip file"), open_input(file):
        pass


def test_standard_input_is_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(ROWS)))
    with open_input(STANDARD) as plain:
        assert plain.read_bytes() == ROWS
    assert not plain.exists()


def test_a_result_goes_to_standard_output(monkeypatch: pytest.MonkeyPatch) -> None:
    buffer = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=buffer))
    with open_result(STANDARD) as output:
        output.write(ROWS)
    assert buffer.getvalue() == ROWS


def test_a_result_whose_name_ends_in_gz_is_compressed(tmp_path: Path) -> None:
    with open_result(tmp_path / "out.csv.gz") as output:
        output.write(ROWS)
    assert gzip.decompress((tmp_path / "out.csv.gz").read_bytes()) == ROWS
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv.gz"]
