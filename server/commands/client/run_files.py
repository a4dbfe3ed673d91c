"""The files of a run: an input from a file, from `.gz` or standard input, and whole results."""

import gzip
import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO

from penstock.server.core.command_output import CommandFailed, ExitCode

STANDARD = Path("-")
"""What stands for standard input, and for standard output."""


@contextmanager
def open_input(path: Path) -> Iterator[Path]:
    """Give the path of the input as plain CSV; it is copied first if it is compressed or a pipe.

    An upload names its size before its content. Raises CommandFailed if the content is not gzip.
    """
    if path != STANDARD and path.suffix != ".gz":
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="penstock-run-") as folder:
        plain = Path(folder) / ("input.csv" if path == STANDARD else path.stem)
        with plain.open("wb") as copy:
            if path == STANDARD:
                shutil.copyfileobj(sys.stdin.buffer, copy)
            else:
                _decompress(path, copy)
        yield plain


def _decompress(path: Path, copy: IO[bytes]) -> None:
    try:
        with gzip.open(path) as packed:
            shutil.copyfileobj(packed, copy)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        words = f"{path} is not a whole gzip file: {error}."
        raise CommandFailed(words, code=ExitCode.USAGE) from None


@contextmanager
def open_result(path: Path) -> Iterator[BinaryIO | gzip.GzipFile]:
    """Open a file that takes its place when it is complete; a device is written directly.

    A path that ends in `.gz` is compressed.
    """
    if path == STANDARD:
        yield sys.stdout.buffer
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
