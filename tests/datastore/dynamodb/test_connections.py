"""The connections of the thin client, with servers that answer anything at all."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from unittest.mock import patch
from zlib import crc32

import pytest
from botocore.exceptions import ChecksumError, ClientError
from botocore.parsers import ResponseParserError
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from penstock.datastore.dynamodb import connections, failures, protocol
from penstock.datastore.dynamodb.responses import parse_answer
from penstock.datastore.dynamodb.table import DynamoDBTable
from penstock.datastore.dynamodb.wire import Raw
from penstock.datastore.errors import RequestRefused, Unavailable
from penstock.datastore.table.port import Key
from tests.support.loop_clock import LONG, pass_time
from tests.support.patience import HUNG_SECONDS
from tests.support.stores import REGION, aws_environment, open_dynamodb

KEY = Key("P:1", "PV:latest")


def ok(number: int = 0, *headers: str) -> bytes:
    body = b'{"Count": %d}' % number
    return whole(body, f"x-amz-crc32: {crc32(body)}", *headers)


def whole(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


class ClosedAfter(bytes):
    """Bytes after which the connection is closed."""


class ScriptedServer:
    """A server that answers each request with the next bytes of the script.

    None is silence. The parts of a sequence are heard one by one, and `pause` seconds pass behind
    each. `connections` counts the connections; `met` is set by a request, `heard` by its client.
    """

    def __init__(self, *script: bytes | Sequence[bytes] | None) -> None:
        self.script = list(script)
        self.connections = 0
        self.pause = 0.0
        self.met, self.heard = asyncio.Event(), asyncio.Event()

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while self.script and await self._request(reader):
                answer = self.script.pop(0)
                self.met.set()
                if isinstance(answer, bytes):
                    writer.write(answer)
                else:
                    for part in answer or ():
                        self.heard.clear()
                        writer.write(part)
                        await self.heard.wait()
                        await pass_time(self.pause)
                if isinstance(answer, ClosedAfter):
                    return
            await reader.read()
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()

    async def _request(self, reader: asyncio.StreamReader) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        length = head.partition(b"content-length:")[2].partition(b"\r\n")[0]
        return len(await reader.readexactly(int(length))) > 0


@asynccontextmanager
async def open_scripted_table(
    *script: bytes | Sequence[bytes] | None,
) -> AsyncIterator[tuple[DynamoDBTable, ScriptedServer]]:
    """A table whose requests the script answers."""
    scripted = ScriptedServer(*script)
    server = await asyncio.start_server(scripted.converse, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    table = await open_dynamodb(url, name="any", deadline=HUNG_SECONDS, kind="thin")
    receive = connections.HttpConnection.data_received

    def receive_and_tell(connection: connections.HttpConnection, data: bytes) -> None:
        receive(connection, data)
        scripted.heard.set()

    with patch.object(connections.HttpConnection, "data_received", receive_and_tell):
        yield table, scripted
    await table.close()
    server.close()
    await server.wait_closed()


async def call(table: DynamoDBTable) -> Raw:
    answer = await table._client.call("Query", {"TableName": "any"})
    return {name: value for name, value in answer.items() if name != "ResponseMetadata"}


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (ClosedAfter(), ConnectionResetError),
        (b"SSH-2.0-OpenSSH_9.6\r\n", ConnectionError),
        (b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", ConnectionError),
        (ClosedAfter(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{}"), ConnectionResetError),
        (b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", OSError),
        (whole(b"<html>hello</html>"), ResponseParserError),
        (whole(b"[]"), ResponseParserError),
        (whole(b'{"__type": "x#InternalServerError"}'), ResponseParserError),
        (whole(b'{"message": "Service Unavailable"}'), ResponseParserError),
        (whole(b"{}"), ResponseParserError),
        (whole(b"{}", "x-amz-crc32: 1"), ChecksumError),
        (whole(b"{}", "x-amz-crc32: many"), ChecksumError),
        (whole(b"", status="204 No Content"), ResponseParserError),
    ],
)
async def test_what_is_no_answer_counts_as_lost_and_is_asked_for_again(
    answer: bytes, error: type[Exception]
) -> None:
    async with open_scripted_table(answer, answer, whole(b"{}")) as (table, _):
        with pytest.raises(error) as raised:
            await call(table)
        assert isinstance(raised.value, failures.LOST_ANSWER)
        assert (await table.get([KEY])).items == {}


OPERATIONS = (
    *("GetItem", "BatchGetItem", "Query", "Scan", "TransactWriteItems", "BatchWriteItem"),
    *("DescribeTable", "UpdateTimeToLive"),
)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize(
    "lie",
    [b'{"__type": "x#InternalServerError"}', b'{"message": "a"}', b'{"Message": "a", "x": 1}'],
)
def test_a_failure_of_status_200_is_no_success(operation: str, lie: bytes) -> None:
    with pytest.raises(ResponseParserError):
        parse_answer(operation, 200, {}, lie)


@pytest.mark.parametrize("operation", ["BatchGetItem", "Query", "Scan"])
def test_an_answer_without_a_page_is_no_empty_page(operation: str) -> None:
    with pytest.raises(ResponseParserError):
        parse_answer(operation, 200, {}, b"{}")


@pytest.mark.parametrize("operation", ["Query", "Scan"])
@pytest.mark.parametrize(
    "lie", ['"Items": null', '"Items": {}', '"Items": [], "LastEvaluatedKey": "a"']
)
def test_a_page_of_another_shape_is_no_answer(operation: str, lie: str) -> None:
    with pytest.raises(ResponseParserError):
        parse_answer(operation, 200, {}, f'{{"Count": 1, {lie}}}'.encode())


HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "endless",
    [
        HEAD + b"Content-Length: 999999999\r\n\r\n" + b"x" * 9_000,
        CHUNKED + b"ff0\r\n" + b"x" * 0xFF0 + b"\r\nff00\r\n" + b"x" * 9_000,
        CHUNKED + b"1\r\nx\r\n" * 9_000,
        CHUNKED + b"0;" + b"x" * 9_000,
        CHUNKED + b"0\r\nx: " + b"x" * 9_000,
        HEAD + b"x: x\r\n" * 9_000,
        HEAD + b"x: " + b"x" * 9_000,
        b"HTTP/1.1 100 Continue\r\n\r\n" * 900,
    ],
    ids=["body", "chunk", "small chunks", "extension", "trailer", "headers", "header", "1xx"],
)
async def test_an_answer_without_end_is_given_up_and_kept_by_nobody(
    endless: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "MAX_BODY_BYTES", 8_000)
    monkeypatch.setattr(connections, "MAX_FRAMING_BYTES", 4_000)
    opened: list[connections.HttpConnection] = []

    class NotedConnection(connections.HttpConnection):
        def __init__(self, read_seconds: float) -> None:
            super().__init__(read_seconds)
            opened.append(self)

    monkeypatch.setattr(connections, "HttpConnection", NotedConnection)
    async with open_scripted_table(endless, ok(1)) as (table, scripted):
        with pytest.raises(ConnectionError, match="larger than any"):
            await call(table)
        assert await call(table) == {"Count": 1}
        assert scripted.connections == 2
        assert [(one._headers, one._body) for one in opened] == [({}, []), ({}, [])]


async def test_a_redirect_is_refused_and_not_followed() -> None:
    moved = whole(b"", "Location: http://127.0.0.1:9/", status="302 Found")
    async with open_scripted_table(moved, moved) as (table, scripted):
        with pytest.raises(ClientError, match="302"):
            await call(table)
        with pytest.raises(RequestRefused, match="GetItem was refused with 302"):
            await table.get([KEY])
        assert scripted.connections == 1


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 100 Continue\r\n\r\n" + ok(1),
        b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nc\r\n{"Count": 1}\r\n0\r\n\r\n',
        [ok(1)[:20], ok(1)[20:50], ok(1)[50:-3], ok(1)[-3:]],
    ],
)
async def test_an_answer_may_come_in_pieces(
    answer: bytes | Sequence[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "READ_SECONDS", 1.5 * LONG)
    async with open_scripted_table(answer, ok(2)) as (table, scripted):
        scripted.pause = LONG
        assert [await call(table), await call(table)] == [{"Count": 1}, {"Count": 2}]
        assert scripted.connections == 1


async def test_silence_is_waited_out_and_the_connection_not_used_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(protocol, "READ_SECONDS", LONG)
    async with open_scripted_table(None, ok(1)) as (table, scripted):
        waiting = asyncio.create_task(call(table))
        await scripted.met.wait()
        await pass_time(LONG / 2)
        assert not waiting.done()
        await pass_time(LONG / 2)
        with pytest.raises(TimeoutError, match="nothing was heard"):
            await waiting
        assert await call(table) == {"Count": 1}
        assert scripted.connections == 2


@pytest.mark.parametrize(
    "first",
    [
        ok(1, "Connection: close"),
        ok(1) + ok(13),
        ok(1) + b"more",
        ok(1).replace(b"HTTP/1.1", b"HTTP/1.0"),
    ],
)
async def test_a_connection_is_used_again_only_after_exactly_one_answer(first: bytes) -> None:
    async with open_scripted_table(first, ok(2)) as (table, scripted):
        assert [await call(table), await call(table)] == [{"Count": 1}, {"Count": 2}]
        assert scripted.connections == 2


async def test_an_answer_that_nobody_asked_for_is_not_taken_for_the_next() -> None:
    async with open_scripted_table([ok(1), ok(13)], ok(2)) as (table, scripted):
        assert await call(table) == {"Count": 1}
        scripted.heard.clear()
        await scripted.heard.wait()
        assert await call(table) == {"Count": 2}
        assert scripted.connections == 2


async def test_an_idle_connection_is_not_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "IDLE_SECONDS", 0.0)
    async with open_scripted_table(ok(1), ok(2)) as (table, scripted):
        assert [await call(table), await call(table)] == [{"Count": 1}, {"Count": 2}]
        assert scripted.connections == 2


async def test_a_call_given_up_takes_its_connection_along() -> None:
    async with open_scripted_table(b"HTTP/1.1 ", ok(2)) as (table, scripted):
        waiting = asyncio.create_task(call(table))
        await scripted.heard.wait()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert await call(table) == {"Count": 2}
        assert scripted.connections == 2


async def test_nobody_at_the_endpoint_is_unavailable() -> None:
    table = await open_dynamodb("http://127.0.0.1:9", name="any", deadline=0.1, kind="thin")
    with pytest.raises(ConnectionRefusedError):
        await call(table)
    with pytest.raises(Unavailable):
        await table.get([KEY])
    await table.close()


def certificate(directory: Path, *names: x509.GeneralName) -> ssl.SSLContext:
    """Sign a certificate for the names, write both files, and return a context with them."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(key, SHA256())
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (directory / "key.pem").write_bytes(private)
    (directory / "certificate.pem").write_bytes(made.public_bytes(Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(directory / "certificate.pem", directory / "key.pem")
    return context


@pytest.mark.parametrize("variable", ["AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE", None])
@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.2"])
async def test_the_endpoint_must_prove_who_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str | None, address: str
) -> None:
    context = certificate(tmp_path, x509.IPAddress(ip_address(address)))
    scripted = ScriptedServer(ok(1), ok(2))
    server = await asyncio.start_server(scripted.converse, "127.0.0.1", 0, ssl=context)
    url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    with aws_environment():
        monkeypatch.delenv("REQUESTS_CA_BUNDLE")
        if variable:
            monkeypatch.setenv(variable, str(tmp_path / "certificate.pem"))
        table = await DynamoDBTable.open("any", region=REGION, endpoint_url=url, kind="thin")
        monkeypatch.undo()
    if variable and address == "127.0.0.1":
        assert [await call(table), await call(table)] == [{"Count": 1}, {"Count": 2}]
        assert scripted.connections == 1
    else:
        with pytest.raises(ssl.SSLCertVerificationError):
            await call(table)
        assert len(scripted.script) == 2
    await table.close()
    server.close()
    await server.wait_closed()
