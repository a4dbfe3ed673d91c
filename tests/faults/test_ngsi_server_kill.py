"""The server is killed during notifications, many times: each sample is stored exactly once.

`KILL_ROUNDS` and `KILL_WRITES`, the notifications in each round, make it longer: see `make kill`.
"""

import asyncio
import json
import logging
import math
import os
import signal
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest

from penstock.datastore.ngsi.counts import IngestCounts
from penstock.datastore.sqlite.table import SqliteTable
from penstock.server.auth.claims import default_group_from, roles_from
from penstock.server.auth.dev_tokens import DEV_TOKEN_LIFETIME, dev_key, sign_dev_token
from tests.datastore.ngsi.run_totals import RunTotals
from tests.support.consistency_check import faults
from tests.support.patience import HUNG_SECONDS, wait_until
from tests.support.penstock_command import Client, Server, client, start_server
from tests.support.server_process import VERIFY_TLS

pytestmark = pytest.mark.runs_together("kill")

ROUNDS = int(os.environ.get("KILL_ROUNDS", "3"))
WRITES = int(os.environ.get("KILL_WRITES", "100"))
SENDERS = 8
SETTINGS = {
    "PENSTOCK_RATE_LIMIT_PER_SECOND": "0",
    "PENSTOCK_NGSI_BATCH_SIZE": "25",
    "PENSTOCK_NGSI_BATCH_TIMEOUT": "0.2",
    "PENSTOCK_NGSI_LEASE_SECONDS": "2",
}
COUNTS = """{ ngsiService(name: "kill") { counts {
  received persisted duplicates deadLettered pending items } } }"""
LATEST = """{ ngsiService(name: "kill") { servicePaths(first: 3) { nodes { entities { nodes {
  entityId speed: attribute(name: "speed") { latest { text } }
  level: attribute(name: "level") { latest { text } } } } } } } }"""
RUNS = """{ runs(manifest: "ngsi", group: "/", first: 100) {
  nodes { state counts { name count } } pageInfo { hasNextPage } } }"""
HEADERS = {
    "content-type": "application/json; charset=utf-8",
    "fiware-service": "kill",
    "ngsiv2-attrsformat": "normalized",
}

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Progress:
    """Counts acknowledged notifications; senders stop at `until`.

    The sender of the notification number `kill_at` kills the server: nobody else has to be in time.
    """

    until: int
    done: int = 0
    kill_at: float = math.inf
    server: Server | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def another(self) -> None:
        """Count one more notification."""
        with self.lock:
            self.done += 1
            if self.done >= self.kill_at and self.server is not None:
                self.server.process.kill()


class Sender:
    """Sends like Orion, one entity at a time, and repeats an unanswered notification.

    `sent` holds the acknowledged samples: entity, attribute and value.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.sent: Counter[tuple[str, str, str]] = Counter()
        self.repeated = 0
        self._dice = Random(number)
        self._made = 0
        self._waiting: dict[str, Any] | None = None

    def send(self, http: httpx.Client, progress: Progress) -> None:
        """Send until there are enough notifications, or the server is gone."""
        while progress.done < progress.until:
            try:
                self._send_one(http)
            except httpx.TransportError:
                return
            progress.another()

    def settle(self, http: httpx.Client) -> None:
        """Repeat the notification that was sent and not answered."""
        if self._waiting is not None:
            self.repeated += 1
            self._send_one(http)

    def _send_one(self, http: httpx.Client) -> None:
        waiting = self._waiting = self._waiting or self._next()
        entity = waiting["data"][0]
        correlator = f"{self.number}-{self._made}; cbnotif=1"
        path = f"/p{self.number % 3}"
        headers = {**HEADERS, "fiware-correlator": correlator, "fiware-servicepath": path}
        answer = http.post("/v2/notify", content=json.dumps(waiting), headers=headers)
        assert answer.status_code == 200, answer.text
        for name in ("speed", "level"):
            self.sent[entity["id"], name, str(entity[name]["value"])] += 1
        self._waiting = None

    def _next(self) -> dict[str, Any]:
        self._made += 1
        entity: dict[str, Any] = {"id": f"car{self._dice.randrange(5)}:{self.number}"}
        for name in ("speed", "level"):
            entity[name] = {"type": "Number", "value": self._made, "metadata": {}}
        return {"subscriptionId": "s", "data": [{**entity, "type": "car"}]}


def test_each_notified_sample_is_stored_once_whenever_the_server_is_killed(tmp_path: Path) -> None:
    data_dir, dice = tmp_path / "data", Random(0)
    senders = [Sender(number) for number in range(SENDERS)]
    progress = Progress(ROUNDS * WRITES)
    for number in range(ROUNDS):
        progress.kill_at = number * WRITES + dice.randrange(1, WRITES)
        with serving(tmp_path) as server, open_connections(server, data_dir, senders) as https:
            progress.server = server
            send(senders, https, progress)
            assert server.process.wait(HUNG_SECONDS) == -signal.SIGKILL
        assert asyncio.run(damage(data_dir)) == []
    progress.kill_at = math.inf
    with (
        serving(tmp_path) as server,
        open_connections(server, data_dir, senders) as https,
        client(server, data_dir, "/=admin") as one,
    ):
        send(senders, https, progress)
        counts = settled_counts(one)
        found = latest_samples(one)
        totals = RunTotals.sum(counts_of_runs(one))
        assert server.end() == 0
    wanted = sum((sender.sent for sender in senders), Counter[tuple[str, str, str]]())
    assert samples(data_dir) == wanted
    # The values of a sender rise.
    latest = {(entity, name): 0 for entity, name, _ in wanted}
    for entity, name, value in wanted:
        latest[entity, name] = max(latest[entity, name], int(value))
    assert found == latest
    assert asyncio.run(damage(data_dir)) == []
    assert counts["persisted"] * 2 == counts["items"] == wanted.total()
    assert counts["received"] == counts["persisted"] + counts["duplicates"]
    assert totals.adds_up
    assert totals.ingested == IngestCounts(
        received=counts["received"],
        persisted=counts["persisted"],
        duplicates=counts["duplicates"],
        items=counts["items"],
    )
    told = "%d kills amid %d notifications, %d repeated, %d duplicates: each sample is there once"
    repeated = sum(sender.repeated for sender in senders)
    logger.warning(told, ROUNDS, progress.done, repeated, counts["duplicates"])


@contextmanager
def serving(tmp_path: Path) -> Iterator[Server]:
    options = ("--port", "0", "--data-dir", str(tmp_path / "data"), "--no-seed")
    with start_server(tmp_path / "log", *options, **SETTINGS) as server:
        yield server


@contextmanager
def open_connections(
    server: Server, data_dir: Path, senders: Sequence[Sender]
) -> Iterator[list[httpx.Client]]:
    """Open a connection for each sender, which first repeats its unanswered notification."""
    roles = roles_from(["/kill=contributor"])
    group = default_group_from(None, roles)
    token = sign_dev_token(dev_key(data_dir), "orion", roles, group, DEV_TOKEN_LIFETIME)
    headers = {"authorization": f"Bearer {token}"}
    https = [
        httpx.Client(
            base_url=server.url,
            headers=headers,
            timeout=HUNG_SECONDS,
            trust_env=False,
            verify=VERIFY_TLS,
        )
        for _ in senders
    ]
    try:
        for sender, http in zip(senders, https, strict=True):
            sender.settle(http)
        yield https
    finally:
        for http in https:
            http.close()


def send(senders: Sequence[Sender], https: Sequence[httpx.Client], progress: Progress) -> None:
    """Send until there are enough notifications, or the server is gone."""
    with ThreadPoolExecutor(len(senders)) as threads:
        pairs = zip(senders, https, strict=True)
        for each in [threads.submit(one.send, http, progress) for one, http in pairs]:
            each.result()


def settled_counts(one: Client) -> dict[str, int]:
    """Return the counts once nothing is pending; they must add up at all times."""
    counts: dict[str, int] = {}

    def are_settled() -> bool:
        counts.update(one.ask(COUNTS)["counts"])
        settled = counts["persisted"] + counts["duplicates"] + counts["deadLettered"]
        assert counts["received"] == settled + counts["pending"], counts
        return counts["pending"] == 0

    wait_until(are_settled)
    return counts


def latest_samples(one: Client) -> dict[tuple[str, str], int]:
    """Return the latest value of each attribute of each entity."""
    return {
        (entity["entityId"], name): int(entity[name]["latest"]["text"])
        for path in one.ask(LATEST)["servicePaths"]["nodes"]
        for entity in path["entities"]["nodes"]
        for name in ("speed", "level")
    }


def counts_of_runs(one: Client) -> list[dict[str, int]]:
    """Return the counts of all runs of the sink once these are loaded."""
    nodes: list[dict[str, Any]] = []

    def are_loaded() -> bool:
        page = one.ask(RUNS)
        assert not page["pageInfo"]["hasNextPage"]
        nodes[:] = page["nodes"]
        return {node["state"] for node in nodes} == {"LOADED"}

    wait_until(are_loaded)
    return [{each["name"]: each["count"] for each in node["counts"]} for node in nodes]


def samples(data_dir: Path) -> Counter[tuple[str, str, str]]:
    """Return every sample of the file: entity, attribute and value."""
    with sqlite3.connect(data_dir / "samples.db") as file:
        items = [json.loads(body) for (body,) in file.execute("SELECT body FROM items")]
    file.close()
    return Counter((item["entityId"], item["attrName"], item["attrValue"]) for item in items)


async def damage(data_dir: Path) -> list[str]:
    """Return the contradictions between the rows of the file."""
    table = SqliteTable.open(data_dir / "penstock.db")
    try:
        return await faults(table)
    finally:
        await table.close()
