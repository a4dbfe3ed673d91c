"""Processes that a server starts for itself, and what they are told over standard input.

The first line says what to do. Further lines may follow, and the end tells them to stop, also when
the server was killed.
"""

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from penstock.server.settings.settings import Settings

T = TypeVar("T")


def told_of(settings: Settings, **changes: object) -> dict[str, Any]:
    """The settings that a process is to have, as its orders hold them."""
    return settings.model_dump(mode="json", exclude_unset=True) | changes


async def ordered(
    module: str, orders: object, *, answers: bool = False, files: Sequence[int] = ()
) -> Process:
    """Start a module as a process with its orders; it inherits the files.

    Its standard output is there to be read if it `answers`.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        module,
        stdin=PIPE,
        stdout=PIPE if answers else DEVNULL,
        # Ctrl-C is for the server, which tells its processes.
        start_new_session=True,
        pass_fds=files,
    )
    if process.stdin is not None:
        process.stdin.write(msgspec.json.encode(orders) + b"\n")
    return process


def first_line(kind: type[T]) -> T:
    """Read the orders of this process."""
    # Unbuffered: what follows the first line is for the event loop to read.
    with open(sys.stdin.fileno(), "rb", buffering=0, closefd=False) as first:
        return msgspec.json.decode(first.readline(), type=kind)


async def further_lines() -> asyncio.StreamReader:
    """Read what follows the orders."""
    lines = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    return lines
