"""How the tests are run: in which order, with what kept, and where they write."""

import gc
import os
import shutil
import sys
import tempfile
from functools import partial
from math import inf
from pathlib import Path
from typing import Final

import pytest

MEMORY: Final = Path("/dev/shm")
ROOM: Final = 2 * 1024**3

YOUNG: Final = 50_000
"""As many objects as a server of ours lets be made before it looks for garbage."""


def pytest_configure(config: pytest.Config) -> None:
    """Let no work be done over and over that each of thousands of tests would pay for."""
    compile_once()
    gc.set_threshold(YOUNG, 20, 50)
    write_to_memory()
    # The process that deals tests out to others would load the product for nothing, and they wait.
    if config.getoption("dist", "no") == "no":
        config.pluginmanager.import_plugin("tests.support.fixtures")


def pytest_collection_finish() -> None:
    """Never look for garbage again in the tests themselves, and in what they import."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put first, and next to each other, the tests that share something that is long in the making.

    `--dist worksteal` gives the first half of the tests to one worker, and takes from its end what
    it does not come to: so the thing is made once, and what is left in the end are small tests.
    """
    groups: dict[str, int] = {}
    items.sort(key=partial(_place, groups))


def _place(groups: dict[str, int], item: pytest.Item) -> float:
    """The place of the test's group in the order in which groups were met; inf without one."""
    mark = item.get_closest_marker("xdist_group")
    return inf if mark is None else groups.setdefault(mark.args[0], len(groups))


def compile_once() -> None:
    """Keep what is compiled, tests and product: dozens of servers start, and each needs all of it.

    An environment that is made for containers says otherwise.
    """
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def write_to_memory() -> None:
    """Keep what tests write in memory, where there is room: thousands of stores wait for a disk.

    Processes are killed in tests, machines are not; the one loses as little there as on a disk.
    """
    if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM:
        # For pytest, for Python, and for every process that tests start.
        tempfile.tempdir = os.environ["TMPDIR"] = str(MEMORY)
