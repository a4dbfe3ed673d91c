"""Bars that show the progress of long work, on a terminal only.

Commands without long work do not load this module, which takes as long as some of them run.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from penstock.server.core.command_output import logs_are_json


class Advance(Protocol):
    """A callback for pieces of work that are done."""

    def __call__(self, count: int = 1) -> None: ...


def _is_progress_shown(console: Console) -> bool:
    return console.is_terminal and not logs_are_json()


@contextmanager
def show_byte_progress(label: str) -> Iterator[Callable[[str, int, int | None], None]]:
    """Show a bar of bytes on standard error; the caller reports activity, bytes done and total."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not _is_progress_shown(console)) as progress:
        task = progress.add_task(label, total=None)

        def tell(words: str, done: int, total: int | None) -> None:
            text = f"{label}: {words.lower()}"
            # A bar of an unknown total moves; an empty one looks as if nothing happened.
            progress.update(task, description=text, completed=done, total=total if done else None)

        yield tell


@contextmanager
def show_progress(label: str, total: int | None) -> Iterator[Advance]:
    """Show a bar on standard error; the caller calls the yielded function for pieces done."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not _is_progress_shown(console)) as progress:
        task = progress.add_task(label, total=total)
        yield lambda count=1: progress.advance(task, count)
