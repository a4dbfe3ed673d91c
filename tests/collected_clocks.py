"""Finds the tests that read the clock while they are imported: `python -m tests.collected_clocks`.

A time that is read at import is old when the test runs: by minutes on a slow machine. Prints the
places, one in each line. Another root of the folder `tests` may be given.
"""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Final

from _pytest.outcomes import Skipped

HERE: Final = Path(__file__).parents[1]
CLOCKS: Final = {
    *("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter"),
    *("datetime.now", "datetime.utcnow", "date.today"),
}


def modules(root: Path) -> Iterator[str]:
    """Yield every module of the tests that pytest imports to collect them."""
    for pattern in ("test_*.py", "conftest.py"):
        for path in sorted((root / "tests").rglob(pattern)):
            yield ".".join(path.relative_to(root).with_suffix("").parts)


def places_read(root: Path) -> list[str]:
    """Import all modules; return the places in tests from which a clock was read meanwhile."""
    found: dict[str, None] = {}

    def note_call(frame: FrameType, event: str, called: object) -> None:
        if event == "c_call" and getattr(called, "__qualname__", "") in CLOCKS:
            place = _place_in_tests(frame, root)
            if place is not None:
                found[place] = None

    # What is loaded first is not watched, which saves most of the time; no test stands in it.
    for name in (
        "penstock.server.app",
        "penstock.server.command_line",
        "hypothesis",
        "moto.server",
    ):
        importlib.import_module(name)
    for name in modules(root):
        sys.setprofile(note_call)
        try:
            importlib.import_module(name)
        except Skipped:
            continue
        finally:
            sys.setprofile(None)
    return [*found]


def _place_in_tests(frame: FrameType | None, root: Path) -> str | None:
    """Return the line of a test module whose execution led to the call.

    Imports of other modules by that line do not count.
    """
    folders = tuple(f"{root / name}/" for name in ("tests", "benchmarks"))
    while frame is not None:
        code = frame.f_code
        if "importlib" in code.co_filename:
            return None
        if code.co_name == "<module>" and code.co_filename.startswith(folders):
            return f"{Path(code.co_filename).relative_to(root)}:{frame.f_lineno}"
        frame = frame.f_back
    return None


def main(root: Path = HERE) -> None:
    if root != HERE:
        # This module's own package would hide the one there.
        sys.modules.pop("tests")
        sys.path.insert(0, str(root))
    sys.stdout.writelines(f"{place}\n" for place in places_read(root))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
