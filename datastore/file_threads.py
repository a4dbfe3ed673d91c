"""Blocking work on files, done off the event loop."""

import asyncio
import sqlite3
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from penstock.datastore.errors import Unavailable

P = ParamSpec("P")
R = TypeVar("R")


async def in_thread(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run blocking work off the loop, to its end even if cancelled; its failure is Unavailable."""
    work = asyncio.ensure_future(asyncio.to_thread(function, *args, **kwargs))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.wait([work])
        raise
    except (OSError, sqlite3.Error) as error:
        raise Unavailable("The file store could not read or write.") from error
