"""Starts processes of the server, which read their parameters from standard input.

The first line holds the parameters, further lines may follow. The end of input stops the process,
also after the server was killed.
"""

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec
from pydantic import SecretStr

from penstock.server.settings.settings import Settings

T = TypeVar("T")


def settings_for_process(settings: Settings, **changes: object) -> dict[str, Any]:
    """Return the settings for a process, in the form of its parameters, with their secrets."""
    # The form that pydantic makes has stars for each secret.
    secrets = {
        name: value.get_secret_value()
        for name in settings.model_fields_set
        if isinstance(value := getattr(settings, name), SecretStr)
    }
    return settings.model_dump(mode="json", exclude_unset=True) | secrets | changes


async def start_process(
    module: str, orders: bytes, *, answers: bool = False, files: Sequence[int] = ()
) -> Process:
    """Start a module as a process, and write its parameters; it inherits the files.

    With `answers` its standard output is a pipe for the caller to read.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        module,
        stdin=PIPE,
        stdout=PIPE if answers else DEVNULL,
        # Ctrl-C reaches the server only, which stops its processes itself.
        start_new_session=True,
        pass_fds=files,
    )
    if process.stdin is not None:
        process.stdin.write(orders)
    return process


def as_first_line(orders: object) -> bytes:
    """Return parameters as `read_first_line` reads them."""
    return msgspec.json.encode(orders) + b"\n"


def read_first_line(kind: type[T]) -> T:
    """Read the parameters of this process, which ends if the one that started it is gone."""
    # Unbuffered, because the event loop reads the lines after the first one.
    with open(sys.stdin.fileno(), "rb", buffering=0, closefd=False) as first:
        line = first.readline()
    if not line:
        sys.exit()
    return msgspec.json.decode(line, type=kind)


async def open_further_lines() -> asyncio.StreamReader:
    """Return a reader of the lines after the parameters."""
    lines = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    return lines
