"""A load generator of one thread: so many connections, each with one request on its way."""

import select
import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from time import perf_counter
from typing import NamedTuple

RECEIVED = 65536
PATIENCE = 30.0
_END = b"\r\n\r\n"


class WrongAnswer(Exception):
    """A server answered with something else than 200 and the length of its first answer."""


class Loaded(NamedTuple):
    """What was answered in so many seconds; `latencies` are in seconds, as they came."""

    seconds: float
    latencies: list[float]


def request(port: int, path: str, body: bytes, headers: Mapping[str, str]) -> bytes:
    lines = [f"POST {path} HTTP/1.1", f"Host: 127.0.0.1:{port}"]
    fields = {"Content-Type": "application/json", "Accept": "application/json", **headers}
    lines += [f"{name}: {value}" for name, value in fields.items()]
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body


def ask(port: int, asked: bytes) -> tuple[int, bytes]:
    """Ask once over a connection of its own; the status and the body."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as connection:
        connection.sendall(asked)
        answer = b""
        while _missing(answer):
            part = connection.recv(RECEIVED)
            if not part:
                raise WrongAnswer(f"the connection ended after {answer[:200]!r}")
            answer += part
    head, _, body = answer.partition(_END)
    return int(head.split(b" ", 2)[1]), body


def load(port: int, asked: bytes, seconds: float, connections: int) -> Loaded:
    """Ask again and again for so long; every answer must be 200 and complete."""
    latencies: list[float] = []
    with ExitStack() as stack:
        poll = stack.enter_context(select.epoll())
        open_: dict[int, _Connection] = {}
        for _ in range(connections):
            made = stack.enter_context(socket.create_connection(("127.0.0.1", port), PATIENCE))
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            poll.register(made.fileno(), select.EPOLLIN)
            open_[made.fileno()] = _Connection(made, asked)
        began = perf_counter()
        until, now = began + seconds, began
        while now < until:
            ready = poll.poll(PATIENCE)
            if not ready:
                raise WrongAnswer(f"no answer within {PATIENCE:g} s")
            for number, _ in ready:
                latencies.extend(open_[number].read())
            now = perf_counter()
    return Loaded(now - began, latencies)


class _Connection:
    """One connection, which asks anew as soon as it was answered."""

    def __init__(self, connection: socket.socket, asked: bytes) -> None:
        self._connection = connection
        self._asked = asked
        self._missing: int | None = None
        self._head = b""
        self._ask()

    def _ask(self) -> None:
        self._sent = perf_counter()
        self._connection.sendall(self._asked)

    def read(self) -> Iterator[float]:
        """Read what there is; the time it took, where that was the end of an answer."""
        part = self._connection.recv(RECEIVED)
        if not part:
            raise WrongAnswer("a connection ended")
        if self._missing is None:
            self._head += part
            if _END not in self._head:
                return
            if not self._head.startswith(b"HTTP/1.1 200"):
                raise WrongAnswer(repr(self._head[:300]))
            self._missing, self._head = _missing(self._head), b""
        else:
            self._missing -= len(part)
        if self._missing == 0:
            self._missing = None
            yield perf_counter() - self._sent
            self._ask()


def _missing(answer: bytes) -> int:
    """How many bytes an answer lacks; 1 while its header is not complete."""
    head, found, body = answer.partition(_END)
    if not found:
        return 1
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value) - len(body)
    raise WrongAnswer(f"an answer without Content-Length: {head!r}")
