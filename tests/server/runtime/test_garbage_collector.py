"""The collections of garbage in a server that has started."""

import gc
from collections.abc import Iterator
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
