"""A load generator with one thread and several connections, each with one open request.

It sends the requests of a list in turn, and again from the first one.
"""

import select
import socket
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, cycle
from time import perf_counter
from typing import NamedTuple

RECEIVED = 65536
PATIENCE = 30.0
_END = b"\r\n\r\n"
_LAST_CHUNK = b"\r\n0\r\n\r\n"
"""The end of an answer in chunks; JSON on one line does not contain it."""


class WrongAnswer(Exception):
    """A server's status was not 200, or its answer did not have the expected length."""


class LoadResult(NamedTuple):
    """The answers in a number of seconds; `latencies` are in seconds, in order of arrival.

    `samples` are the bodies of some answers, by the number of the request in the list.
    """

    seconds: float
    latencies: list[float]
    samples: Mapping[int, bytes]


def request(port: int, path: str, body: bytes, headers: Mapping[str, str]) -> bytes:
    lines = [f"POST {path} HTTP/1.1", f"Host: 127.0.0.1:{port}"]
    fields = {"Content-Type": "application/json", "Accept": "application/json", **headers}
    lines += [f"{name}: {value}" for name, value in fields.items()]
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body


def send_once(port: int, asked: bytes) -> tuple[int, bytes]:
    """Send one request over its own connection; return the status and the body."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as connection:
        connection.sendall(asked)
        answer = b""
        while _missing_bytes(answer):
            part = connection.recv(RECEIVED)
            if not part:
                raise WrongAnswer(f"the connection ended after {answer[:200]!r}")
            answer += part
    return int(answer.split(b" ", 2)[1]), _body_of(answer)


class LoadGenerator:
    """Connections to one server that stay open between runs; call `close` at the end.

    The bodies of one in `every` answers are kept.
    """

    def __init__(
        self, port: int, asked: Sequence[bytes], connections: int, every: int = 500
    ) -> None:
        self._poll = select.epoll()
        self._connections: dict[int, _Connection] = {}
        self._asked = cycle(enumerate(asked))
        self._samples = _SampledBodies(every)
        for _ in range(connections):
            made = _Connection(port, self._asked, self._samples)
            self._poll.register(made.number, select.EPOLLIN)
            self._connections[made.number] = made

    def run(self, seconds: float) -> LoadResult:
        """Send a request after each answer until the time is over, then wait for open ones."""
        latencies: list[float] = []
        began = perf_counter()
        until, now, waiting = began + seconds, began, len(self._connections)
        for connection in self._connections.values():
            connection.ask()
        while waiting:
            ready = self._poll.poll(PATIENCE)
            if not ready:
                raise WrongAnswer(f"no answer within {PATIENCE:g} s")
            for number, _ in ready:
                connection = self._connections[number]
                took = connection.read()
                if took is None:
                    continue
                latencies.append(took)
                if now < until:
                    connection.ask()
                else:
                    waiting -= 1
            now = perf_counter()
        return LoadResult(now - began, latencies, dict(self._samples.bodies))

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._poll.close()


class _SampledBodies:
    """The bodies of one in `every` answers, by the number of their requests."""

    def __init__(self, every: int) -> None:
        self._every = every
        self._sent = count()
        self.bodies: dict[int, bytes] = {}

    def is_next_sampled(self) -> bool:
        return next(self._sent) % self._every == 0


class _Connection:
    """One connection with at most one open request."""

    def __init__(
        self, port: int, asked: Iterator[tuple[int, bytes]], samples: _SampledBodies
    ) -> None:
        self._connection = socket.create_connection(("127.0.0.1", port), PATIENCE)
        self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._asked = asked
        self._samples = samples
        self._number, self._request = 0, b""
        self._kept: list[bytes] | None = None
        self._missing: int | None = None
        self._head = self._tail = b""
        self._is_chunked = False
        self._sent = 0.0

    @property
    def number(self) -> int:
        return self._connection.fileno()

    def ask(self) -> None:
        self._number, self._request = next(self._asked)
        self._kept = [] if self._samples.is_next_sampled() else None
        self._sent = perf_counter()
        self._connection.sendall(self._request)

    def read(self) -> float | None:
        """Read the available bytes; return the latency at the end of an answer, None before it."""
        part = self._connection.recv(RECEIVED)
        if not part:
            raise WrongAnswer(f"a connection ended amid the answer to {self._request[:300]!r}")
        if self._kept is not None:
            self._kept.append(part)
        if self._missing is None:
            self._head += part
            if _END not in self._head:
                return None
            self._missing = self._begin_answer()
        elif self._is_chunked:
            self._tail = (self._tail + part)[-len(_LAST_CHUNK) :]
            self._missing = int(self._tail != _LAST_CHUNK)
        else:
            self._missing -= len(part)
        if self._missing:
            return None
        self._missing = None
        took = perf_counter() - self._sent
        if self._kept is not None:
            self._samples.bodies[self._number] = _body_of(b"".join(self._kept))
        return took

    def _begin_answer(self) -> int:
        """Read the head of an answer; return the number of bytes that it lacks."""
        answer, self._head = self._head, b""
        if not answer.startswith(b"HTTP/1.1 200"):
            raise WrongAnswer(repr(answer[:300]))
        self._is_chunked, self._tail = _is_chunked(answer), answer[-len(_LAST_CHUNK) :]
        return _missing_bytes(answer)

    def close(self) -> None:
        self._connection.close()


def _missing_bytes(answer: bytes) -> int:
    """The number of bytes that an answer lacks; 1 as long as nobody knows it."""
    head, found, body = answer.partition(_END)
    if not found:
        return 1
    if _is_chunked(answer):
        return int(not answer.endswith(_LAST_CHUNK))
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value) - len(body)
    raise WrongAnswer(f"an answer without Content-Length: {head!r}")


def _is_chunked(answer: bytes) -> bool:
    return b"\r\ntransfer-encoding: chunked\r\n" in answer.partition(_END)[0].lower() + b"\r\n"


def _body_of(answer: bytes) -> bytes:
    """The body of a whole answer, without the sizes of its chunks."""
    body = answer.partition(_END)[2]
    if not _is_chunked(answer):
        return body
    parts = []
    while body:
        size, _, rest = body.partition(b"\r\n")
        length = int(size, 16)
        parts.append(rest[:length])
        body = rest[length + 2 :] if length else b""
    return b"".join(parts)
