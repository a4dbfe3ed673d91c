"""A progress bar for long work, on the terminal only."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

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


@contextmanager
def measured(label: str) -> Iterator[Callable[[str, int, int | None], None]]:
    """Show a bar of bytes on standard error; tell it what goes on, how many are done, of what."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task(label, total=None)

        def tell(words: str, done: int, total: int | None) -> None:
            text = f"{label}: {words.lower()}"
            progress.update(task, description=text, completed=done, total=total)

        yield tell


@contextmanager
def shown(label: str, total: int | None) -> Iterator[Callable[[], None]]:
    """Show a bar on standard error while work goes on; call what is given for each piece done."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task(label, total=total)
        yield lambda: progress.advance(task)
