"""One measurement: a load of some servers behind the proxy, and its rows of two tables."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from penstock.datastore.dynamodb.retry import DEADLINE
from penstock.datastore.store import Store
from tests.scale.contention_proxy import NO_LIMIT, ProxyLimits
from tests.scale.loads import LOADS, LoadResult, create_table
from tests.scale.processes import ServerOrder, run_servers, running_proxy, take_counts
from tests.support.stores import delete_table

HOTTEST: Final = 6
LOAD_HEADER: Final = (
    "| load | servers x clients | window | written | writes/s | p50 / p99 | requests for a write"
    " | conflicts | throttles |"
)
HOT_HEADER: Final = "| load | item or partition | conflicts | throttles | write units/s |"


@dataclass(frozen=True, slots=True)
class Measurement:
    """The kind of load, and by how many; the clients are those of all servers together."""

    kind: str
    limits: ProxyLimits
    servers: int = 1
    clients: int = 64
    writes: int = 400


@dataclass(frozen=True, slots=True)
class LoadReport:
    """The result of a measurement; `faults` are the rows that are wrong."""

    of: Measurement
    result: LoadResult
    counts: dict[str, Any]
    faults: list[str]

    @property
    def row(self) -> str:
        """The row of the table of loads."""
        of, result, counts = self.of, self.result, self.counts
        sent = counts["requests"].get("TransactWriteItems", 0)
        cells = [
            LOADS[of.kind].noun,
            f"{of.servers} x {of.clients // of.servers}",
            f"{of.limits.window:g} ms" if of.limits.window else "none",
            f"{len(result.seconds)}/{of.writes}",
            f"{len(result.seconds) / result.elapsed:.0f}",
            f"{_seconds(result, 50)} / {_seconds(result, 99)}",
            f"{sent / of.writes:.2f}",
            str(counts["cancelled"].get("TransactionConflict", 0)),
            str(counts["cancelled"].get("ThrottlingError", 0)),
        ]
        return f"| {' | '.join(cells)} |"

    @property
    def hot_rows(self) -> list[str]:
        """The rows of the table of hot items: those with most conflicts, then with most units."""
        counts, elapsed = self.counts, self.result.elapsed
        units: dict[str, float] = counts["itemUnits"] | {
            _partition(name): each for name, each in counts["units"].items()
        }
        throttles = {_partition(name): each for name, each in counts["throttles"].items()}
        busiest = sorted(units, key=lambda name: -units[name])[:HOTTEST]
        names = dict.fromkeys([*list(counts["conflicts"])[:HOTTEST], *throttles, *busiest])
        return [
            f"| {LOADS[self.of.kind].noun} | `{name}` | {counts['conflicts'].get(name, 0)}"
            f" | {throttles.get(name, 0)} | {units.get(name, 0) / elapsed:.0f} |"
            for name in names
        ]


def _partition(name: str) -> str:
    """Return the name of a partition without its table: `index P`."""
    _, of, key = name.split(" | ")
    return f"{of} {key}"


def _seconds(result: LoadResult, percent: int) -> str:
    if not result.seconds:
        return "-"
    ordered = sorted(result.seconds)
    found = ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]
    return f"{found:.2f} s"


def header(first: str) -> list[str]:
    return [first, "|" + "---|" * (first.count("|") - 1)]


async def measure(of: Measurement, emulator_url: str, directory: Path) -> LoadReport:
    """Make a table, write to it through a proxy, and recount all its rows."""
    load = LOADS[of.kind]
    table = await create_table(emulator_url)
    shared = await load.prepare(Store(table))
    with running_proxy(emulator_url, of.limits) as proxy_url:
        orders = [
            ServerOrder(
                endpoint_url=proxy_url,
                table=table._name,
                kind=of.kind,
                names=tuple(f"{number}-{one}" for one in range(of.writes // of.servers)),
                clients=of.clients // of.servers,
                shared=shared,
                directory=directory / f"{table._name}-{number}",
                deadline=DEADLINE,
            )
            for number in range(of.servers)
        ]
        result = await asyncio.to_thread(run_servers, orders)
        counts = await asyncio.to_thread(take_counts, proxy_url)
    faults = await load.check(table, emulator_url, len(result.seconds))
    await delete_table(table._client, table._name)
    await table.close()
    return LoadReport(of, result, counts, faults)


def list_measurements(
    windows: Sequence[float], clients: int, writes: int, limits: ProxyLimits
) -> list[Measurement]:
    """Return the measurements of the tables in the documentation."""

    def within(window: float) -> ProxyLimits:
        return ProxyLimits(window, limits.wcu, limits.lag, limits.hop)

    found = [
        Measurement("group", ProxyLimits(0, NO_LIMIT, limits.lag, limits.hop), 1, clients, writes)
    ]
    for window in windows:
        for servers, several in ((1, 4), (1, clients), (2, clients)):
            found.append(Measurement("group", within(window), servers, several, writes))
    first = within(windows[0])
    found.append(Measurement("groups", first, 1, clients, writes))
    for kind in ("executions", "runs", "notifications", "library"):
        found += [Measurement(kind, first, servers, clients, writes) for servers in (1, 2)]
    return found
