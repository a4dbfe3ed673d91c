"""The stores of the tests: each opened fresh and empty, and none able to reach AWS."""

import atexit
import logging
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager, suppress
from functools import cache
from pathlib import Path
from unittest.mock import patch
from uuid import uuid4

import certifi

from penstock.datastore.dynamodb.protocol import DEFAULT_CLIENT, ClientKind, DynamoDBClient
from penstock.datastore.dynamodb.table import DynamoDBTable
from penstock.datastore.objects.directory import LocalFiles
from penstock.datastore.sqlite.table import SqliteTable
from penstock.datastore.store import Store
from penstock.datastore.table.port import Table
from tests.support.moto_server import forget_table, serve_moto
from tests.support.patience import HUNG_SECONDS, wait_until
from tests.support.server_process import free_port
from tests.support.shared_clients import shared_client

IMPLEMENTATIONS = ("sqlite", "moto", "dynoxide")
CLIENTS: Mapping[str, ClientKind] = {"moto": "stock", "dynoxide": "thin"}
"""The client for each server, so that one run tests all stores with both clients."""

REGION = "us-east-1"
NOBODY = "http://127.0.0.1:9"
HELD = ExitStack()
"""The servers and files of this process, until the end of the tests."""
atexit.register(HELD.close)

PACKAGES = Path(__file__).parents[1] / "dynoxide" / "node_modules" / "@dynoxide"


def _dynoxide_binary() -> Path | None:
    return next(PACKAGES.glob("*/dynoxide"), None)


def skip_reason(name: str) -> str | None:
    """Return why tests on the implementation cannot run here; None if they can."""
    if name == "dynoxide" and _dynoxide_binary() is None:
        return "no dynoxide here: `make tools` fetches it on 64-bit Linux with npm"
    return None


TWO = ("sqlite", "moto" if skip_reason("dynoxide") else "dynoxide")
"""For tests that need one store over HTTP only: the fast one, if it is here."""


@asynccontextmanager
async def open_table(name: str, tmp_path: Path) -> AsyncIterator[Table]:
    """Open a separate table of the implementation; it is created and empty."""
    id = f"penstock-{uuid4()}"
    if name == "sqlite":
        table: Table = SqliteTable.open(tmp_path / f"{id}.sqlite", busy_seconds=HUNG_SECONDS)
    else:
        client = await client_of(_ENDPOINTS[name](), CLIENTS[name])
        table = DynamoDBTable(id, client, AsyncExitStack(), HUNG_SECONDS)
    try:
        await table.create()
        yield table
    finally:
        await table.close()
        if name == "moto":
            forget_table(id, REGION)


@asynccontextmanager
async def open_store(name: str, tmp_path: Path) -> AsyncIterator[Store]:
    """Open a store over a fresh table of the implementation, and an empty directory of files."""
    async with open_table(name, tmp_path) as table, open_files(tmp_path) as files:
        yield Store(table, files=files)


@asynccontextmanager
async def open_files(
    tmp_path: Path, clock: Callable[[], float] = time.time
) -> AsyncIterator[LocalFiles]:
    """Open a separate empty directory of files, whose links end by the clock."""
    files = await open_local(tmp_path / f"files-{uuid4()}", clock)
    try:
        yield files
    finally:
        await files.close()


async def open_local(directory: Path, clock: Callable[[], float] = time.time) -> LocalFiles:
    """Open the files in a directory."""
    return await LocalFiles.open(
        directory, base_url="http://files.test", key=b"k" * 32, clock=clock
    )


async def client_of(endpoint_url: str, kind: ClientKind = DEFAULT_CLIENT) -> DynamoDBClient:
    """Return the shared client of the endpoint, which its users must not close."""
    with aws_environment():
        return await shared_client(REGION, endpoint_url, kind)


async def open_dynamodb(
    endpoint_url: str,
    *,
    name: str | None = None,
    deadline: float = HUNG_SECONDS,
    kind: ClientKind = DEFAULT_CLIENT,
) -> DynamoDBTable:
    """Connect to a table at the endpoint with a separate client; the table need not exist."""
    with aws_environment():
        return await DynamoDBTable.open(
            name or f"penstock-{uuid4()}",
            region=REGION,
            endpoint_url=endpoint_url,
            deadline=deadline,
            kind=kind,
        )


async def delete_table(client: DynamoDBClient, name: str) -> None:
    """Delete a table, which is protected against that."""
    await client.call("UpdateTable", {"TableName": name, "DeletionProtectionEnabled": False})
    await client.call("DeleteTable", {"TableName": name})


@contextmanager
def aws_environment() -> Iterator[None]:
    """Replace the AWS environment by dummy credentials and a dummy endpoint."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    dummies = {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ENDPOINT_URL": NOBODY,
        "REQUESTS_CA_BUNDLE": _one_authority(),
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        "NO_PROXY": "127.0.0.1",
    }
    with patch.dict(os.environ, kept | dummies, clear=True):
        yield


@cache
def _one_authority() -> str:
    """Return a file of one certificate: reading the whole bundle takes each client 80 ms.

    No store of these tests uses TLS.
    """
    end = "-----END CERTIFICATE-----\n"
    first, _, _ = Path(certifi.where()).read_text().partition(end)
    descriptor, path = tempfile.mkstemp(suffix=".pem")
    with open(descriptor, "w") as file:
        file.write(first + end)
    HELD.callback(os.unlink, path)
    return path


@cache
def moto_endpoint() -> str:
    """Return the URL of this process's moto server (DynamoDB, S3), started at its first use."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = serve_moto()
    HELD.callback(server.shutdown)
    return f"http://127.0.0.1:{server.port}"


@cache
def dynoxide_endpoint() -> str:
    """Return the URL of this process's dynoxide, in memory, started at its first use."""
    binary = _dynoxide_binary()
    if binary is None:
        raise FileNotFoundError(skip_reason("dynoxide"))
    port = free_port()
    child = subprocess.Popen(
        [binary, "--host", "127.0.0.1", "--port", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    HELD.callback(_end, child)
    _until_listening(port, child)
    return f"http://127.0.0.1:{port}"


def quick_endpoint() -> str:
    """Return a local DynamoDB endpoint; moto is ten times slower, but always available."""
    return dynoxide_endpoint() if skip_reason("dynoxide") is None else moto_endpoint()


def _until_listening(port: int, child: subprocess.Popen[bytes]) -> None:
    def listens() -> bool:
        assert child.poll() is None, "dynoxide did not start"
        with suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
            return True
        return False

    wait_until(listens)


def _end(child: subprocess.Popen[bytes]) -> None:
    child.terminate()
    child.wait()


_ENDPOINTS: Mapping[str, Callable[[], str]] = {"moto": moto_endpoint, "dynoxide": dynoxide_endpoint}
