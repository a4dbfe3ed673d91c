"""The files of a run: an input from a file or from standard input, and whole results."""

import gzip
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from penstock.datastore.scratch_folders import scratch_folder
from penstock.server.core.command_output import CommandFailed, ExitCode, stop_at_closed_pipe

STANDARD = Path("-")
"""What stands for standard input, and for standard output."""


_TABLES = (".xlsx", ".parquet")
"""How the names of files end whose content is a table, but not CSV."""


def is_parquet(output: Path) -> bool:
    """Tell whether output of this name is to be Parquet; all other output is CSV."""
    return output.suffix.lower() == ".parquet"


def check_results(file: Path, output: Path | None, errors: Path | None) -> None:
    """Check where the results of an input are to be saved; raises CommandFailed."""
    results = [path for path in (output, errors) if path is not None]
    for path in results:
        if not path.parent.is_dir():
            raise _misuse(f"{path.parent} is not a directory.")
        if path.is_dir():
            raise _misuse(f"{path} is a directory.")
    inputs = [] if file == STANDARD else [file]
    places = [path.resolve() for path in (*inputs, *results)]
    if len({*places}) < len(places):
        raise _misuse("The file, its output and its errors must be three files.")
    if errors is not None and errors.suffix.lower() in _TABLES:
        raise _misuse(f"--errors {errors}: rejected rows are CSV, as .csv or .csv.gz.")
    if output is not None and output.suffix.lower() in _TABLES and not is_parquet(output):
        raise _misuse(f"--output {output}: output is CSV, as .csv or .csv.gz, or .parquet.")


def _misuse(words: str) -> CommandFailed:
    return CommandFailed(words, code=ExitCode.USAGE)


@contextmanager
def open_input(path: Path) -> Iterator[Path]:
    """Give the path of the input; a pipe is copied first.

    An upload names its size before its content.
    """
    if path != STANDARD:
        yield path
        return
    with scratch_folder("run") as folder:
        plain = folder / "input.csv"
        with plain.open("wb") as copy:
            shutil.copyfileobj(sys.stdin.buffer, copy)
        yield plain


@contextmanager
def open_result(path: Path) -> Iterator[BinaryIO | gzip.GzipFile]:
    """Open a file that takes its place when it is complete; a device is written directly.

    A path that ends in `.gz` is compressed.
    """
    if path == STANDARD:
        with stop_at_closed_pipe():
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        return
    if path.exists() and not path.is_file():
        with path.open("wb") as device:
            yield device
        return
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with draft.open("wb") as file:
            if path.suffix == ".gz":
                with gzip.GzipFile(path.stem, "wb", fileobj=file) as packed:
                    yield packed
            else:
                yield file
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
