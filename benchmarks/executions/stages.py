"""The stages of a row, from bytes to bytes, by a timer of processor time.

A thousand times a second, the timer notes which function runs below the transform.
"""

import signal
from collections import Counter
from collections.abc import Mapping
from time import process_time
from types import FrameType
from typing import Final, NamedTuple

from benchmarks.executions.one_core import CASES, Case
from benchmarks.page_tables import format_table
from penstock.transform.csv_transform import CsvTransform
from penstock.transform.program import Program

_EVERY: Final = 0.001
_LOOP: Final = "<rows>"
STAGES: Final = (
    ("find the records", ("transform/csv_records",)),
    ("cut the fields", ("transform/header", "transform/csv_transform")),
    ("read the values", ("transform/column_values", "formula/core/row_inputs")),
    ("functions of formulas", ("formula/",)),
    ("arithmetic, comparisons, cells", (_LOOP, "transform/timestamps", "transform/row_routine")),
    ("write CSV", ("transform/outcome",)),
)
_CELLS: Final = ("number_text", "text_of")
"""The functions of formulas that write cells."""

_ALONE: Final = "_process_record"
ODD_ROWS: Final = "rows that fail"
OTHER: Final = "other"


class StageShares(NamedTuple):
    """The microseconds of processor time for a row, and the share of each stage in them."""

    microseconds: float
    shares: Mapping[str, float]


class _StageTimer:
    """Counts the stages that run at the ticks of the timer."""

    def __init__(self) -> None:
        self.ticks: Counter[str] = Counter()

    def take(self, _signal: int, frame: FrameType | None) -> None:
        found = OTHER
        innermost = True
        while frame is not None:
            name = frame.f_code.co_name
            if name == _ALONE:
                found = ODD_ROWS
                break
            if innermost and (stage := _stage_of(frame.f_code.co_filename, name)):
                found, innermost = stage, False
            frame = frame.f_back
        self.ticks[found] += 1


def _stage_of(file: str, function: str) -> str | None:
    if function in _CELLS:
        file = _LOOP
    return next((stage for stage, parts in STAGES if any(part in file for part in parts)), None)


def measure_stages(case: Case, rows: int) -> StageShares:
    """Send so many rows of a case through a transform, under the timer."""
    data, timer = list(case.chunks(rows)), _StageTimer()
    transform = CsvTransform(Program(case.plan))
    before = signal.signal(signal.SIGPROF, timer.take)
    signal.setitimer(signal.ITIMER_PROF, _EVERY, _EVERY)
    began = process_time()
    for chunk in data:
        transform.feed(chunk)
    transform.finish()
    seconds = process_time() - began
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.signal(signal.SIGPROF, before)
    total = timer.ticks.total() or 1
    shares = {stage: count / total for stage, count in timer.ticks.items()}
    return StageShares(seconds / rows * 1e6, shares)


def measure_all_stages(rows: int) -> dict[str, StageShares]:
    return {case.title: measure_stages(case, rows) for case in CASES.values()}


def stage_table(found: Mapping[str, StageShares]) -> str:
    """The table of stages, in microseconds for a row."""
    stages = (*(title for title, _ in STAGES), ODD_ROWS, OTHER)
    rows = [
        [stage, *(f"{one.shares.get(stage, 0) * one.microseconds:.2f}" for one in found.values())]
        for stage in stages
    ]
    whole = ["all", *(f"{one.microseconds:.2f}" for one in found.values())]
    return format_table(" | ".join(["µs for a row", *found]), [*rows, whole])
