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
from penstock.server.core.command_output import stop_at_closed_pipe

STANDARD = Path("-")
"""What stands for standard input, and for standard output."""


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
