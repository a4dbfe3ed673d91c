"""The benchmarks in their short form; each returns its figures."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TypeAlias

from benchmarks.short_form.figures import Figure, Unit

Measure: TypeAlias = Callable[[], Sequence[Figure]]


_BESIDE: Final = frozenset({"by hand", "DuckDB", "SQLite alone", "calculated", "one put an item"})
"""The peers and floors, by the part of a number's name that names them."""


def _figures(benchmark: str, unit: Unit, values: Mapping[str, float]) -> list[Figure]:
    return [
        Figure(benchmark, name, unit, value, is_beside=not _BESIDE.isdisjoint(name.split(", ")))
        for name, value in values.items()
    ]


def measure_formula() -> list[Figure]:
    from benchmarks.formula import measure  # noqa: PLC0415 - each runs in a process of its own

    rates = asyncio.run(measure(20_000))
    return _figures("formula", "µs", {name: 1e6 / max(found) for name, found in rates.items()})


def measure_record_decoding() -> list[Figure]:
    from benchmarks.record_decoding import WAYS, measure_stores  # noqa: PLC0415 - see above

    found = {
        f"{store}, {way}": time
        for store, times in measure_stores(50).items()
        for way, time in zip(WAYS, times, strict=True)
    }
    return _figures("decoding of 100 rows", "µs", found)


def measure_connection() -> list[Figure]:
    from benchmarks.guarded_connection import measure_ways  # noqa: PLC0415 - see above

    times = measure_ways(1_000, 30)
    return _figures("connection", "µs", {way: time * 1e6 for way, time in times.items()})


def measure_requests() -> list[Figure]:
    from benchmarks.peers.query_shapes import SHAPES  # noqa: PLC0415 - see above
    from benchmarks.request_stages import BY_HAND, measure_whole  # noqa: PLC0415 - see above

    found = {}
    with Path(os.devnull).open("w") as nowhere, redirect_stderr(nowhere):
        for shape in SHAPES:
            for name, seconds in asyncio.run(measure_whole(shape, 20)).items():
                title = f"{shape.title}, {BY_HAND}" if name == BY_HAND else shape.title
                found[title] = seconds * 1e6
    return _figures("request", "µs", found)


def measure_work_units() -> list[Figure]:
    from benchmarks.work_units import measure_all  # noqa: PLC0415 - see above

    return _figures("work of one unit", "µs", measure_all())


def measure_name_search() -> list[Figure]:
    from benchmarks.name_search import run  # noqa: PLC0415 - see above

    found = asyncio.run(run(1_000, 5))
    times = {title: one.processor * 1e3 for title, one in found.items()}
    units = {title: one.units for title, one in found.items()}
    return [*_figures("names", "ms", times), *_figures("names", "read units", units)]


def measure_transform() -> list[Figure]:
    from benchmarks.transform import measure, measure_peers  # noqa: PLC0415 - see above

    taken = min(measure(100_000).seconds for _ in range(3))
    beside = {f"100,000 rows, {name}": one.seconds for name, one in measure_peers(100_000).items()}
    found = {"100,000 rows": taken} | beside
    return _figures("transform", "ms", {name: seconds * 1e3 for name, seconds in found.items()})


def measure_sink() -> list[Figure]:
    from benchmarks.ngsi import SIZES, measure_plan, plans  # noqa: PLC0415 - see above

    found = {}
    for plan in plans():
        if plan.batch == SIZES[-1]:
            results = [asyncio.run(measure_plan(plan, 300)) for _ in range(3)]
            least = min(one.processor / one.notifications for one in results)
            found[f"{plan.name}, {plan.persistence}, {plan.batch} at once"] = least * 1e6
    return _figures("a notification", "µs", found)


def measure_tag_search() -> list[Figure]:
    from benchmarks.tag_search_floor import measure  # noqa: PLC0415 - see above

    found = asyncio.run(measure(1_000))
    times = {f"a page by three tags, {name}": one.seconds * 1e3 for name, one in found.items()}
    units = {f"a page by three tags, {name}": one.units for name, one in found.items()}
    return [*_figures("tags", "ms", times), *_figures("tags", "read units", units)]


def measure_library() -> list[Figure]:
    from benchmarks.audio import measure_costs  # noqa: PLC0415 - see above

    rows = asyncio.run(measure_costs(1_000))
    found = {row.operation: row.measured for row in rows}
    least = {f"{row.operation}, calculated": row.calculated for row in rows if row.calculated}
    return _figures("library", "units", found | least)


def measure_product() -> list[Figure]:
    from benchmarks.product import measure as product  # noqa: PLC0415 - see above
    from benchmarks.product.stores import EMBEDDED, fill_store  # noqa: PLC0415 - see above

    with TemporaryDirectory() as folder:
        filled = fill_store(EMBEDDED, 1_000, Path(folder))
        found = product.measure_product(filled, product.Load(1.0), Path(folder)).operations
    times = {one.title: one.processor * 1e3 for one in found}
    reads = {one.title: one.read_units for one in found}
    writes = {one.title: one.write_units for one in found if one.write_units}
    return [
        *_figures("product", "ms", times),
        *_figures("product", "read units", reads),
        *_figures("product", "write units", writes),
    ]


def measure_kept_rows() -> list[Figure]:
    from benchmarks.kept_rows import measure_store  # noqa: PLC0415 - see above

    times = asyncio.run(measure_store(100_000, 4)).times()
    return _figures("kept rows", "ms", {name: seconds * 1e3 for name, seconds in times.items()})


BENCHMARKS: Final[Mapping[str, Measure]] = {
    "connection": measure_connection,
    "requests": measure_requests,
    "record_decoding": measure_record_decoding,
    "work_units": measure_work_units,
    "names": measure_name_search,
    "tags": measure_tag_search,
    "product": measure_product,
    "formula": measure_formula,
    "transform": measure_transform,
    "kept_rows": measure_kept_rows,
    "sink": measure_sink,
    "library": measure_library,
}
