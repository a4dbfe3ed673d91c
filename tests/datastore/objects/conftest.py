"""Both file stores, each behind HTTP on a loopback port, so that the URLs they give really work."""

import asyncio
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
import uvicorn
from httpx import AsyncClient, Response
from starlette.applications import Starlette

from penstock.datastore.objects.directory import LocalFiles
from penstock.datastore.objects.port import Files, UploadForm
from penstock.datastore.objects.s3 import S3Files
from penstock.datastore.objects.s3_multipart import PART_BYTES
from penstock.server.edge.local_files import file_routes
from tests.support.loopback_server import Answer, Connection, LoopbackServer, Request
from tests.support.patience import HUNG_SECONDS
from tests.support.server_process import VERIFY_TLS
from tests.support.stores import REGION, aws_environment, moto_endpoint

BOUNDARY = "b0undary"
DIGITS = b"0123456789"
END = f"--{BOUNDARY}--\r\n".encode()
KIND = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
SECRET = b"k" * 32
NOW = 1_800_000_000.25


class Clock:
    """The clock of the local store, which stands still unless a test moves it."""

    now = NOW

    def __call__(self) -> float:
        return self.now


class Server(uvicorn.Server):
    """A server that leaves the signals to pytest."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def stream(*chunks: bytes) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


async def endless() -> AsyncIterator[bytes]:
    while True:
        yield bytes(64 * 1024)


async def broken_stream() -> AsyncIterator[bytes]:
    """A stream with enough for two parts of a multipart upload, and then an error."""
    yield bytes(PART_BYTES)
    yield bytes(PART_BYTES)
    raise ZeroDivisionError


async def whole(chunks: AsyncIterator[bytes]) -> bytes:
    return b"".join([chunk async for chunk in chunks])


async def known_stat(files: Files, key: str) -> tuple[int, str]:
    """The size and the type of a file, which must exist."""
    stat = await files.stat(key)
    assert stat is not None
    return stat.size, stat.content_type


def part(name: str, value: bytes, more: str = "") -> bytes:
    """One field of a form, written by hand; `more` follows its name."""
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"{more}\r\n\r\n'
    return head.encode() + value + b"\r\n"


FIELDS = part("key", b"a") + part("Content-Type", b"text/csv")


async def upload(files: LocalFiles, max_bytes: int = 9) -> UploadForm:
    """The form that allows FIELDS."""
    kind = "text/csv"
    return await files.presign_upload("a", max_bytes=max_bytes, content_type=kind, expires_in=60)


async def digits(files: LocalFiles, content_type: str = "audio/flac") -> str:
    """The URL of a file with ten digits."""
    await files.write("digits", stream(DIGITS), content_type=content_type)
    return (await files.presign_download("digits", expires_in=60)).url


@asynccontextmanager
async def fresh(directory: Path) -> AsyncIterator[LocalFiles]:
    files = await LocalFiles.open(directory, base_url="http://x", key=SECRET)
    yield files
    await files.close()


class BreakingServer:
    """A stand-in for S3 whose first answer breaks off after `01234`; the next is the one given."""

    def __init__(self, then: Answer) -> None:
        self.seen: list[tuple[str | None, str | None]] = []
        self._then = then

    async def __call__(self, request: Request, connection: Connection) -> None:
        self.seen.append((request.headers.get("range"), request.headers.get("if-match")))
        if len(self.seen) > 1:
            await connection.answer(self._then)
        else:
            head = b'HTTP/1.1 200 OK\r\nContent-Length: 10\r\nETag: "e"\r\n\r\n'
            connection._writer.write(head + b"01234")
            await connection.close()


@asynccontextmanager
async def breaking(then: Answer) -> AsyncIterator[tuple[S3Files, BreakingServer]]:
    behaviour = BreakingServer(then)
    server = LoopbackServer(behaviour)
    with aws_environment():
        files = await S3Files.open("bucket", region=REGION, endpoint_url=await server.start())
    yield files, behaviour
    await files.close()
    await server.stop()


WRITER = """
import asyncio, sys
from pathlib import Path
from penstock.datastore.objects.directory import LocalFiles

async def chunks():
    while True:
        yield b"new" * 200_000
        print("written", flush=True)

async def main():
    files = await LocalFiles.open(Path(sys.argv[1]), base_url="http://x", key=b"k" * 32)
    await files.write("a", chunks(), content_type="text/csv")

asyncio.run(main())
"""


@asynccontextmanager
async def writer(directory: Path) -> AsyncIterator[Process]:
    """A process in the middle of writing the file `a`, which is killed at the end."""
    command = (sys.executable, "-c", WRITER, str(directory))
    root = Path(__file__).parents[3]
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, cwd=root)
    assert process.stdout
    for _ in range(4):
        assert await process.stdout.readline() == b"written\n"
    yield process
    process.kill()
    await process.wait()


def debris(files: LocalFiles) -> list[str]:
    """Name the directory of every file on disk except the index."""
    return sorted(path.parent.name for path in files._drafts.parent.glob("*/*"))


async def raw(url: str, line: str, *headers: str, body: bytes = b"", forever: bytes = b"") -> int:
    """Send exactly these bytes to the server of the URL; return the status.

    With `forever`, repeat them until it answers.
    """
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    head = "".join(f"{text}\r\n" for text in (f"{line} HTTP/1.1", "Host: x", *headers, ""))
    try:
        writer.write(head.encode() + body)
        answer = asyncio.ensure_future(reader.readline())
        while forever and not answer.done():
            writer.write(forever)
            await writer.drain()
        return int((await answer).split()[1])
    finally:
        writer.close()


async def post(form: UploadForm, *headers: str, body: bytes = b"", forever: bytes = b"") -> int:
    line = f"POST {urlsplit(form.url).path}"
    return await raw(form.url, line, *headers, body=body, forever=forever)


async def send(http: AsyncClient, form: UploadForm, content: bytes) -> Response:
    return await http.request(
        form.method,
        form.url,
        data=dict(form.fields),
        files={"file": ("input.txt", content)},
        headers=dict(form.headers),
    )


async def emptied_bucket(files: Files) -> Files:
    for key in await files.list(""):
        await files.delete(key)
    return files


@pytest.fixture(scope="session")
async def local_store(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[LocalFiles]:
    directory = tmp_path_factory.mktemp("files")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        base_url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        files = await LocalFiles.open(directory, base_url=base_url, key=SECRET, clock=Clock())
        app = Starlette(routes=file_routes(files, 50))
        server = Server(uvicorn.Config(app, log_config=None, lifespan="off"))
        running = asyncio.create_task(server.serve([listener]))
        yield files
        server.should_exit = True
        await running
        await files.close()


@pytest.fixture(scope="session")
async def s3_store() -> AsyncIterator[S3Files]:
    bucket = f"penstock-files-{uuid4()}"
    with aws_environment():
        files = await S3Files.open(bucket, region=REGION, endpoint_url=moto_endpoint())
    await files._client.create_bucket(Bucket=bucket)
    yield files
    await files.close()


@pytest.fixture
async def local(local_store: LocalFiles) -> LocalFiles:
    await emptied_bucket(local_store)
    local_store._index.execute("DELETE FROM used_forms")
    return local_store


@pytest.fixture
async def s3(s3_store: S3Files) -> S3Files:
    await emptied_bucket(s3_store)
    return s3_store


@pytest.fixture
def clock(local: LocalFiles) -> Iterator[Clock]:
    clock = local.signer.clock
    assert isinstance(clock, Clock)
    yield clock
    clock.now = NOW


@pytest.fixture(params=["local", "s3"])
def files(request: pytest.FixtureRequest) -> Files:
    store: Files = request.getfixturevalue(request.param)
    return store


@pytest.fixture(scope="session")
async def http() -> AsyncIterator[AsyncClient]:
    async with AsyncClient(trust_env=False, timeout=HUNG_SECONDS, verify=VERIFY_TLS) as client:
        yield client
