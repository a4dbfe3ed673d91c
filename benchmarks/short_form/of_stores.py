"""Stores in short form: searches, decoding, the client of DynamoDB, the event loop, and moves."""

import asyncio
import gc
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from benchmarks.short_form.figures import Figure, list_figures


def measure_record_decoding() -> list[Figure]:
    from benchmarks.record_decoding import WAYS, measure_stores  # noqa: PLC0415 - each runs in a process of its own

    found = {
        f"{store}, {way}": time
        for store, times in measure_stores(50).items()
        for way, time in zip(WAYS, times, strict=True)
    }
    return list_figures("decoding of 100 rows", "µs", found)


def measure_name_search() -> list[Figure]:
    from benchmarks.name_search import run  # noqa: PLC0415 - see above

    found = asyncio.run(run(1_000, 5))
    times = {title: one.processor * 1e3 for title, one in found.items()}
    units = {title: one.units for title, one in found.items()}
    return [
        *list_figures("names", "ms", times),
        *list_figures("names", "read units", units, exact=True),
    ]


def measure_tag_page() -> list[Figure]:
    from benchmarks.tag_search_floor import measure  # noqa: PLC0415 - see above

    found = asyncio.run(measure(1_000))
    times = {f"a page by three tags, {name}": one.seconds * 1e3 for name, one in found.items()}
    units = {f"a page by three tags, {name}": one.units for name, one in found.items()}
    return [
        *list_figures("tags", "ms", times),
        *list_figures("tags", "read units", units, exact=True),
    ]


def measure_tag_lists() -> list[Figure]:
    from benchmarks.id_distributions import DISTRIBUTIONS, draw  # noqa: PLC0415 - see above
    from benchmarks.tag_search_comparison import COPIES, compare_all  # noqa: PLC0415 - see above
    from benchmarks.tag_tables import world_of  # noqa: PLC0415 - see above

    sizes, found = (10, 1_000), {}
    for distribution in DISTRIBUTIONS:
        world = world_of(
            draw(distribution, [size for size in sizes for _ in range(COPIES)], 20_000)
        )
        compared = asyncio.run(compare_all(world, distribution, sizes))
        found[f"{distribution} lists"] = sum(one.whole.ours.units for one in compared)
        found[f"{distribution} lists, document"] = sum(one.whole.document.units for one in compared)
        found[f"{distribution} lists, of 20"] = sum(one.page.ours.units for one in compared)
    return list_figures("tags of lists", "read units", found, exact=True)


def measure_event_loop() -> list[Figure]:
    import uvloop  # noqa: PLC0415 - see above

    from benchmarks.event_loop import measure_delays  # noqa: PLC0415 - see above

    _freeze_objects()
    found = uvloop.run(measure_delays(0.5))
    times = {name: one.processor for name, one in found.items() if name.endswith("at a time")}
    return list_figures("embedded table", "ms", times)


def measure_dynamodb_client() -> list[Figure]:
    import uvloop  # noqa: PLC0415 - see above

    from benchmarks.canned_dynamodb import canned_endpoint  # noqa: PLC0415 - see above
    from benchmarks.dynamodb_client import measure_calls  # noqa: PLC0415 - see above

    nobody = {"AWS_ACCESS_KEY_ID": "nobody", "AWS_SECRET_ACCESS_KEY": "nothing"}
    with canned_endpoint() as url, patch.dict(os.environ, nobody):
        _freeze_objects()
        found = uvloop.run(measure_calls(url, 7, 0.05))
    thin = {name: min(one.thin) for name, one in found.items()}
    stock = {f"{name}, stock": min(one.stock) for name, one in found.items()}
    return list_figures("client of DynamoDB", "µs", thin | stock)


def _freeze_objects() -> None:
    """Leave the objects of the start to no collection, as the server does."""
    gc.collect()
    gc.freeze()


def measure_moving() -> list[Figure]:
    from benchmarks.moving import measure_folder  # noqa: PLC0415 - see above

    with TemporaryDirectory() as folder:
        found = measure_folder(300, Path(folder))
    return list_figures("moving", "ms", {one.step: one.processor * 1e3 for one in found})


def measure_writes_that_meet() -> list[Figure]:
    from tests.scale.contention_proxy import ProxyLimits  # noqa: PLC0415 - see above
    from tests.scale.measure import Measurement, measure  # noqa: PLC0415 - see above
    from tests.support.stores import dynoxide_endpoint, skip_reason  # noqa: PLC0415 - see above

    if skip_reason("dynoxide"):
        return []
    of = Measurement("group", ProxyLimits(10.0, 1000.0, 0.0, 0.0), writes=200)
    with TemporaryDirectory() as folder:
        found = asyncio.run(measure(of, dynoxide_endpoint(), Path(folder)))
    sent = found.counts["requests"]["TransactWriteItems"] / of.writes
    return list_figures("writes that meet", "calls", {"requests for a pipeline in one group": sent})
