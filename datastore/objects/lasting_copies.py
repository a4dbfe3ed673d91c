"""Work on files that outlasts the calls that wait for it, as it may take longer than a request.

A call that is cut off leaves its work running; the next call for the same target waits for it.
"""

from asyncio import Task, create_task, shield
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeAlias

from penstock.datastore.background_tasks import retrieve_failure
from penstock.datastore.objects.metered_files import on_credit, shared_store
from penstock.datastore.objects.port import Files

_Place: TypeAlias = tuple[int, str]
"""The identity of a store, which its running work keeps alive, and a target in it."""

_running: dict[_Place, Task[None]] = {}


async def copy_lasting(files: Files, source: str, target: str, etag: str) -> None:
    """Copy the content with this entity tag; NotFound, FileReplaced if it is not there any more."""
    await run_lasting(files, target, partial(on_credit(files).copy, source, target, etag))


async def run_lasting(
    files: Files, target: str, work: Callable[[], Coroutine[Any, Any, None]]
) -> None:
    """Do the work that makes a target, or wait for a call that does; raises what it raises."""
    place = (id(shared_store(files)), target)
    running = _running.get(place)
    if running is None:
        running = _running[place] = create_task(work())
        running.add_done_callback(lambda _: _running.pop(place))
        running.add_done_callback(retrieve_failure)
    await shield(running)
