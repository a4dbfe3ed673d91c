"""Rows in short form: formulas, files, executions, datasets, and rows that are kept."""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.short_form.figures import Figure, list_figures


def measure_formula() -> list[Figure]:
    from benchmarks.formula import measure  # noqa: PLC0415 - each runs in a process of its own

    rates = asyncio.run(measure(20_000))
    return list_figures("formula", "µs", {name: 1e6 / max(found) for name, found in rates.items()})


def measure_transform() -> list[Figure]:
    from benchmarks.executions.one_core import CASES, measure  # noqa: PLC0415 - see above
    from benchmarks.executions.peers import PEERS, measure_peer  # noqa: PLC0415 - see above

    found = {}
    for name, case in CASES.items():
        title = f"100,000 rows of {case.title}"
        found[title] = min(measure(case, 100_000).seconds for _ in range(3))
        for peer, compute in PEERS[name].items():
            found[f"{title}, {peer}"] = measure_peer(case, compute, 100_000).seconds
    return list_figures("transform", "ms", {name: seconds * 1e3 for name, seconds in found.items()})


def measure_large_file() -> list[Figure]:
    from benchmarks.large_file import measure  # noqa: PLC0415 - see above

    found = measure(50_000_000)
    return list_figures("file of 50 MB", "MB", {one.name: one.peak for one in found.roles})


def measure_kept_rows() -> list[Figure]:
    from benchmarks.kept_rows import measure_store  # noqa: PLC0415 - see above

    times = asyncio.run(measure_store(100_000, 4)).times()
    return list_figures("kept rows", "ms", {name: seconds * 1e3 for name, seconds in times.items()})


def measure_corrected_rows() -> list[Figure]:
    from benchmarks.corrections.kept_rows import measure_store  # noqa: PLC0415 - see above

    cost = asyncio.run(measure_store(100_000))
    found = {
        "an execution": min(cost.runs),
        "exact total": cost.total,
        "a page of 50": min(cost.pages.values()),
        "the merge": cost.merge,
        "exact total then": cost.total_of_merged,
    }
    return list_figures("corrected rows", "ms", {name: one * 1e3 for name, one in found.items()})


def measure_kept_rows_on_dask() -> list[Figure]:
    from benchmarks.kept_rows_on_dask import measure_spreading  # noqa: PLC0415 - see above

    found = asyncio.run(measure_spreading(300_000, [2]))
    spent = {where: cost.spent * 1e3 for where, cost in found.items()}
    return list_figures("kept rows on Dask", "ms", spent)


def measure_dataset() -> list[Figure]:
    from benchmarks import large_dataset  # noqa: PLC0415 - see above

    with TemporaryDirectory() as folder:
        cost = asyncio.run(large_dataset.measure_dataset(120_000, Path(folder)))
    times = {"the load": cost.load, "100,000 lookups": cost.lookups}
    return [
        *list_figures("dataset", "ms", {name: one * 1e3 for name, one in times.items()}),
        *list_figures("dataset", "MB", {"the index": cost.content.index_bytes / 1e6}),
    ]
