"""A DynamoDB endpoint in its own process that returns prepared answers as bytes."""

import asyncio
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import cast
from zlib import crc32

import orjson
import uvloop

from penstock.datastore.dynamodb.wire import encode_item
from penstock.datastore.records import (
    Output,
    Parameter,
    Pipeline,
    State,
    Tag,
    Transform,
    Transformer,
    ValueType,
)
from penstock.datastore.roles import GroupPath
from penstock.datastore.table.items import latest_item
from penstock.datastore.table.layout import PIPELINE
from penstock.datastore.table.port import Item, Key

TABLE = "benchmark"
PIPELINES = "P"
SMALL = "small"
ROWS = 100
PIPELINE_QUERY = b"Query of pipelines"

_LENGTH = re.compile(rb"content-length: ?(\d+)", re.IGNORECASE)
_TARGET = re.compile(rb"x-amz-target: ?\w+\.(\w+)", re.IGNORECASE)
_OF_PIPELINES = b'"siKey1"'


def small_item(number: int) -> Item:
    """An item of about 200 bytes in eight attributes."""
    return {
        "pk": SMALL,
        "sk": f"item:{number:08}",
        "name": f"name of the item {number}",
        "state": "enabled",
        "version": number,
        "createdAt": "2026-11-20T10:00:00.000Z",
        "createdBy": "0199a8b2-7f3e-7a11-9c0d-5b2f6a1e4d3c",
        "note": "a line of text of the usual length",
    }


def small_key(number: int) -> Key:
    return Key(SMALL, f"item:{number:08}")


def pipeline_row(number: int) -> Item:
    """The row of a pipeline similar to those of the sample catalogue."""
    outputs = (Output(index=0, key="total", label="Total", type=ValueType.NUMBER),)
    transform = Transform(index=0, formula="price * quantity", outputs=outputs)
    parameters = tuple(
        Parameter(index=index, key=key, label=key.title(), type=ValueType.NUMBER, required=True)
        for index, key in enumerate(("price", "quantity"))
    )
    record = Pipeline(
        id=f"0199a8b2-7f3e-7a11-9c0d-{number:012}",
        name=f"Pipeline {number}",
        description="Multiplies what is bought by what it costs.",
        state=State.ENABLED,
        tags=(Tag(key="Region", value="USA/Northwest"), Tag(key="Env", value="prod")),
        groups=(GroupPath("/usa/northwest"),),
        owner=GroupPath("/usa/northwest"),
        version=3,
        revision=5,
        created_at="2026-11-20T10:00:00.000Z",
        created_by="ana",
        updated_at="2026-11-20T11:00:00.000Z",
        updated_by="ana",
        transformer=Transformer(parameters=parameters, transforms=(transform,)),
    )
    return latest_item(PIPELINE, record)


def _answers() -> dict[bytes, bytes]:
    rows = [encode_item(small_item(number)) for number in range(ROWS)]
    pipelines = [encode_item(pipeline_row(number)) for number in range(ROWS)]
    bodies: dict[bytes, object] = {
        b"GetItem": {"Item": rows[0]},
        b"Query": {"Count": ROWS, "Items": rows, "ScannedCount": ROWS},
        PIPELINE_QUERY: {"Count": ROWS, "Items": pipelines, "ScannedCount": ROWS},
        b"BatchGetItem": {"Responses": {TABLE: rows}, "UnprocessedKeys": {}},
        b"BatchWriteItem": {"UnprocessedItems": {}},
        b"TransactWriteItems": {},
    }
    return {name: _answer(orjson.dumps(body)) for name, body in bodies.items()}


def _answer(body: bytes) -> bytes:
    head = (
        "HTTP/1.1 200 OK\r\nServer: Server\r\nDate: Fri, 20 Nov 2026 10:00:00 GMT\r\n"
        f"Content-Type: application/x-amz-json-1.0\r\nContent-Length: {len(body)}\r\n"
        "Connection: keep-alive\r\n"
        "x-amzn-RequestId: 4KBNVRGD25RG1KEO9UT4V3FQDJVV4KQNSO5AEMVJF66Q9ASUAAJG\r\n"
        f"x-amz-crc32: {crc32(body)}\r\n\r\n"
    )
    return head.encode() + body


class CannedConnection(asyncio.Protocol):
    """A connection that answers each request when its last byte has arrived."""

    def __init__(self, answers: Mapping[bytes, bytes]) -> None:
        self._answers = answers
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, body = self._received.partition(b"\r\n\r\n")
        length, target = _LENGTH.search(head), _TARGET.search(head)
        if not end or not length or not target or len(body) < int(length[1]):
            return
        self._received = b""
        name = PIPELINE_QUERY if _OF_PIPELINES in body else target[1]
        self._transport.write(self._answers[name])


async def _serve() -> None:
    answers = _answers()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: CannedConnection(answers), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def canned_endpoint() -> Iterator[str]:
    """Start the process and give its URL."""
    command = [sys.executable, "-m", "benchmarks.canned_dynamodb"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(child.stdout.readline())}"
        finally:
            child.terminate()


if __name__ == "__main__":
    uvloop.run(_serve())
