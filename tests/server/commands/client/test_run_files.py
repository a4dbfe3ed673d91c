"""The files of a run: compressed input, standard streams, and compressed results."""

import gzip
import io
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from penstock.server.commands.client.run_files import STANDARD, open_input, open_result

ROWS = b"a,b\n1,2\n"


@pytest.mark.parametrize("name", ["rows.csv", "rows.csv.gz"])
def test_a_file_is_used_where_it_lies(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_bytes(ROWS)
    with open_input(file) as plain:
        assert plain == file


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


def test_a_reader_that_has_enough_of_the_output_is_no_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w") as closed:
        monkeypatch.setattr("sys.stdout", closed)
        with open_result(STANDARD) as output:
            output.write(b"time,co2e\n")
        closed.write("what follows goes nowhere")
