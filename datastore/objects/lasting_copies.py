"""Copies that outlast the calls that wait for them, since a large one takes longer than a request.

A call that is cut off leaves its copy running; the next call for the same target waits for it.
"""

from asyncio import Task, create_task, shield
from functools import partial
from typing import TypeAlias

from penstock.datastore.objects.port import Files

_Place: TypeAlias = tuple[int, str]
"""The identity of a store, which its running copies keep alive, and a target in it."""

_running: dict[_Place, Task[None]] = {}


async def copy_lasting(files: Files, source: str, target: str, etag: str) -> None:
    """Copy the content with this entity tag; NotFound, FileReplaced if it is not there any more."""
    place = (id(files), target)
    copying = _running.get(place)
    if copying is None:
        copying = _running[place] = create_task(files.copy(source, target, etag))
        copying.add_done_callback(partial(_forget, place))
    await shield(copying)


def _forget(place: _Place, ended: Task[None]) -> None:
    del _running[place]
    if not ended.cancelled():
        ended.exception()  # it counts as seen, also if no call waits for it any more
