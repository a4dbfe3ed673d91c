"""The thread in which long notifications are read, and their previews made."""

from asyncio import get_running_loop
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

T = TypeVar("T")

# One thread: with more of them the event loop waits too long for the interpreter's lock.
_THREAD: Final = ThreadPoolExecutor(1, "notifications")


async def run_in_notification_thread(work: Callable[[], T]) -> T:
    """Do work on a notification in the thread, and return its result."""
    return await get_running_loop().run_in_executor(_THREAD, work)
