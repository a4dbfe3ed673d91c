"""Measures writes that meet, behind a proxy that refuses as AWS does.

It needs dynoxide (`make tools`), the emulator of the tests. Exits with 1 if a write failed, or if
a row is wrong afterwards.
"""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.page_tables import add_write_option, below_machine, show_tables
from tests.scale.contention_proxy import ProxyLimits
from tests.scale.loads import LOADS
from tests.scale.measure import (
    HOT_HEADER,
    LOAD_HEADER,
    LoadReport,
    header,
    list_measurements,
    measure,
)
from tests.support.stores import dynoxide_endpoint, skip_reason


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tests.scale", description=__doc__)
    parser.add_argument(
        "--window", type=float, nargs="+", default=[10.0, 20.0], help="ms of a transaction"
    )
    parser.add_argument("--wcu", type=float, default=1000.0, help="write units a second for a key")
    parser.add_argument("--lag", type=float, default=0.0, help="ms that reads lag")
    parser.add_argument("--hop", type=float, default=0.0, help="ms on the way of each request")
    parser.add_argument("--clients", type=int, default=64, help="of all servers together")
    parser.add_argument("--writes", type=int, default=400, help="of each measurement")
    parser.add_argument("--load", nargs="+", choices=[*LOADS], help="only these loads")
    add_write_option(parser)
    options = parser.parse_args(arguments)
    if reason := skip_reason("dynoxide"):
        parser.error(reason)
    limits = ProxyLimits(0.0, options.wcu, options.lag, options.hop)
    plan = list_measurements(options.window, options.clients, options.writes, limits)
    found: list[LoadReport] = []
    with TemporaryDirectory() as directory:
        for number, each in enumerate(plan, 1):
            if options.load and each.kind not in options.load:
                continue
            sys.stderr.write(f"{number}/{len(plan)} {LOADS[each.kind].noun}\n")
            found.append(asyncio.run(measure(each, dynoxide_endpoint(), Path(directory))))
            sys.stderr.write(f"{found[-1].row}\n")
    show_tables(tables(found), options.write)
    for report in found:
        for text in [*dict.fromkeys(report.result.failures), *report.faults[:5]]:
            sys.stderr.write(f"{LOADS[report.of.kind].noun}: {text}\n")
    return int(any(report.faults or report.result.failures for report in found))


def tables(found: Sequence[LoadReport]) -> dict[str, str]:
    """Return both tables by their marks."""
    hot = {each.of.kind: each for each in found if each.of.servers == 2 or each.of.kind == "groups"}
    loads = [*header(LOAD_HEADER), *(each.row for each in found)]
    items = [*header(HOT_HEADER), *(row for each in hot.values() for row in each.hot_rows)]
    return {
        "writes that meet": below_machine("\n".join(loads)),
        "hot items": "\n".join(items),
    }


if __name__ == "__main__":
    sys.exit(main())
