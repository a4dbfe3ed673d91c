"""Removes files that nobody will use any more, for as long as the server runs."""

import logging
from contextlib import AbstractAsyncContextManager

from penstock.datastore.repeating import Chore, repeated
from penstock.datastore.store import Store

SWEEP_SECONDS = 3600.0

file_logger = logging.getLogger("penstock.files")


def sweeping(store: Store, seconds: float = SWEEP_SECONDS) -> AbstractAsyncContextManager[None]:
    """Sweep now and every so many seconds, until the end."""
    trouble = "files could not be swept"
    return repeated(Chore(store.sweep_files, seconds, file_logger, trouble, at_once=True))
