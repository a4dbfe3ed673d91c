"""The store of the second table: the tests' emulator with data, behind a latency."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from benchmarks.peers.competitors import ROOT
from benchmarks.peers.processes import cores, free_port, run_process
from benchmarks.peers.records import Data, rows_of
from benchmarks.peers.server_options import REGION, TABLE
from penstock.datastore.dynamodb.table import DynamoDBTable
from penstock.datastore.table.port import Put

CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_REGION": REGION,
    "AWS_DEFAULT_REGION": REGION,
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
}
_PACKAGES = ROOT / "tests" / "dynoxide" / "node_modules" / "@dynoxide"
_BATCH = 25


class NoEmulator(Exception):
    """The emulator is not installed or does not exist for this machine."""


@contextmanager
def run_emulator(milliseconds: float) -> Iterator[tuple[str, str]]:
    """Start both; give the URL of the emulator and the URL with the latency."""
    _, core = cores()
    inner, outer = free_port(), free_port()
    plain = [str(_binary()), "--host", "127.0.0.1", "--port", str(inner)]
    late = [sys.executable, "-m", "benchmarks.peers.delayed_store", "--port", str(outer)]
    late += ["--store", str(inner), "--ms", str(milliseconds)]
    with (
        run_process(plain, inner, core, os.environ, ROOT),
        run_process(late, outer, core, {**os.environ, "PYTHONPATH": str(ROOT)}, ROOT),
    ):
        yield f"http://127.0.0.1:{inner}", f"http://127.0.0.1:{outer}"


async def fill(endpoint: str, data: Data) -> None:
    """Create the table and write all data into it."""
    with patch.dict(os.environ, CREDENTIALS):
        table = await DynamoDBTable.open(TABLE, region=REGION, endpoint_url=endpoint)
    try:
        await table.create()
        puts = [Put(row) for row in rows_of(data)]
        for start in range(0, len(puts), _BATCH):
            await table.write(puts[start : start + _BATCH])
    finally:
        await table.close()


def _binary() -> Path:
    found = next(_PACKAGES.glob("*/dynoxide"), None)
    if found is None:
        raise NoEmulator("no dynoxide here: `make tools` fetches it on 64-bit Linux")
    return found
