"""The set-up of a test run: its order, its caches, its marks and its temporary files."""

import atexit
import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Generator
from functools import partial
from math import inf
from pathlib import Path
from typing import Final

import pytest

from tests.support.warm_start import connect_warm_process
from tests.support.workers.shares import group_of

pytest_plugins = ["tests.support.slow_calls", "tests.support.workers.plugin"]

MEMORY: Final = Path("/dev/shm")
ROOM: Final = 2 * 1024**3

YOUNG: Final = 50_000
"""The number of new objects between two garbage collections, as in the server."""


def pytest_configure(config: pytest.Config) -> None:
    """Set up caches and memory once, so that thousands of tests do not pay for them."""
    compile_once()
    gc.set_threshold(YOUNG, 20, 50)
    write_to_memory()
    config.pluginmanager.import_plugin("tests.support.fixtures")


def pytest_collection_finish(session: pytest.Session) -> None:
    """Exclude the tests and their imports from garbage collection."""
    if session.config.getoption("workers") > 1:
        # Whatever workers there are, their programs are forks of one process.
        connect_warm_process()
    gc.collect()
    gc.freeze()
    atexit.register(gc.unfreeze)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Move tests with a shared, slow fixture to the front, next to each other."""
    groups: dict[str, int] = {}
    items.sort(key=partial(_place, groups))


def _place(groups: dict[str, int], item: pytest.Item) -> float:
    """Return the position of the test's group in the order of appearance; inf without a group."""
    group = group_of(item)
    return inf if group is None else groups.setdefault(group, len(groups))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Describe a test without garbage collections, since a failed one's source is parsed.

    A finalizer that runs amid parsing makes CPython 3.11 miscount its depth: that SystemError ends
    the whole run, and nobody learns which test failed.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def compile_once() -> None:
    """Keep compiled bytecode for tests and product: dozens of servers start, and each needs it.

    Container environments may disable that.
    """
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def write_to_memory() -> None:
    """Keep the files of tests in memory if there is room: thousands of stores wait for a disk.

    Tests kill processes but not machines; a killed process loses no file in memory either.
    """
    if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM:
        # These are for pytest, for Python, and for every process that tests start.
        tempfile.tempdir = os.environ["TMPDIR"] = str(MEMORY)
