"""The collections of garbage in a server that has started."""

import atexit
import gc
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Final

import pytest

from penstock.server.runtime.run_server import settle_garbage_collector

MOST: Final = 15_000
"""The most objects that one collection may free: more of them hold the event loop for long."""


@pytest.fixture
def settled() -> Iterator[None]:
    thresholds = gc.get_threshold()
    settle_garbage_collector()
    yield
    gc.unfreeze()
    gc.set_threshold(*thresholds)


@pytest.mark.usefixtures("settled")
def test_objects_in_circles_are_freed_few_at_a_time() -> None:
    freed: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "stop":
            freed.append(info["collected"])

    gc.callbacks.append(note)
    try:
        for _ in range(100_000):
            circle: list[object] = []
            circle.append(circle)
    finally:
        gc.callbacks.remove(note)

    assert sum(freed) > 80_000
    assert max(freed) < MOST


@pytest.mark.parametrize(("module", "at_end"), [("duckdb", [gc.unfreeze]), ("nobody", [])])
def test_what_was_excluded_is_collected_at_the_end_where_duckdb_would_tell_of_it(
    module: str,
    at_end: list[object],
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    last: list[object] = []
    monkeypatch.delitem(sys.modules, "duckdb", raising=False)
    monkeypatch.setitem(sys.modules, module, ModuleType(module))
    monkeypatch.setattr(atexit, "register", last.append)
    request.getfixturevalue("settled")
    assert last == at_end
