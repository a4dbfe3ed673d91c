"""Requests in short form: through each part of a server, the console, and several processes."""

import asyncio
import os
from contextlib import redirect_stderr
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.short_form.figures import Figure, list_figures


def measure_connection() -> list[Figure]:
    from benchmarks.guarded_connection import measure_ways  # noqa: PLC0415 - each runs in a process of its own

    times = measure_ways(1_000, 30)
    return list_figures("connection", "µs", {way: time * 1e6 for way, time in times.items()})


def measure_requests() -> list[Figure]:
    from benchmarks.peers.query_shapes import SHAPES  # noqa: PLC0415 - see above
    from benchmarks.request_stages import BY_HAND, measure_whole  # noqa: PLC0415 - see above

    found = {}
    with Path(os.devnull).open("w") as nowhere, redirect_stderr(nowhere):
        for shape in SHAPES:
            for name, seconds in asyncio.run(measure_whole(shape, 20)).items():
                title = f"{shape.title}, {BY_HAND}" if name == BY_HAND else shape.title
                found[title] = seconds * 1e6
    return list_figures("request", "µs", found)


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
        *list_figures("product", "ms", times),
        *list_figures("product", "read units", reads),
        *list_figures("product", "write units", writes),
    ]


def measure_several_processes() -> list[Figure]:
    from benchmarks.several_processes import measure  # noqa: PLC0415 - see above

    found = measure([1, 2], rounds=1, seconds=2.0)
    times = {f"{count} of them": one.cpu / 1e3 for count, one in found.items()}
    return list_figures("processes", "ms", times)


def measure_front_page() -> list[Figure]:
    from benchmarks.front_page import measure_store  # noqa: PLC0415 - see above

    found = asyncio.run(measure_store(500))
    times = {name: one.seconds * 1e3 for name, one in found.items()}
    units = {name: one.units for name, one in found.items()}
    return [
        *list_figures("front page", "ms", times),
        *list_figures("front page", "read units", units),
    ]


def measure_console() -> list[Figure]:
    from benchmarks.console import run  # noqa: PLC0415 - see above
    from tests.browser.install import chromium  # noqa: PLC0415 - see above

    if chromium() is None:
        return []
    found = asyncio.run(run(5))
    return list_figures("console", "ms", {name: median(times) for name, times in found.items()})
