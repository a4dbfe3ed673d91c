"""Rounds in which every server answers every shape in turn, and the samples of each."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple, Self, TypeVar

import msgspec
import orjson

from benchmarks.peers.competitors import ROOT, LaunchOptions, Peer, command
from benchmarks.peers.emulator import CREDENTIALS
from benchmarks.peers.load_generator import LoadGenerator, LoadResult, WrongAnswer, send_once
from benchmarks.peers.processes import cores, free_port, run_process, usage
from benchmarks.peers.query_shapes import Shape
from benchmarks.peers.records import Data
from benchmarks.peers.reference_answers import ReferenceAnswers
from benchmarks.peers.traffic import (
    CALLERS,
    Call,
    Destination,
    alike_calls,
    draw_calls,
    encode,
    encode_registration,
)
from penstock.datastore.roles import ROOT as ROOT_GROUP
from penstock.datastore.roles import Role
from penstock.server.auth.dev_tokens import dev_key, sign_dev_token

T = TypeVar("T")


class Length(NamedTuple):
    """The length of one measurement in seconds, and its number of connections."""

    warm_up: float
    seconds: float
    connections: int


class MeasurementPlan(NamedTuple):
    """The servers, the shapes, the number of rounds and the length of a measurement.

    `is_alike` repeats one request of each shape; otherwise requests differ as those of clients.
    """

    peers: Sequence[Peer]
    shapes: Sequence[Shape]
    rounds: int
    length: Length
    is_alike: bool = False

    def in_mode(self, mode: str) -> Self:
        """The plan with the servers that take part in a mode."""
        if mode == "memory":
            return self
        return self._replace(peers=[peer for peer in self.peers if peer.in_store])


class Sample(NamedTuple):
    """One server, shape and round: CPU seconds for a request, latencies in seconds, bytes."""

    peer: str
    shape: str
    round: int
    cpu: float
    rate: float
    p50: float
    p99: float
    memory: int


class RunningServer(NamedTuple):
    """A running server with its port and process id."""

    peer: Peer
    port: int
    process: int


def measure_rounds(
    plan: MeasurementPlan, place: LaunchOptions, data: Data, tell: Callable[[str], None]
) -> Iterator[Sample]:
    """Start all servers anew in each round; raises WrongAnswer before a time is measured."""
    tokens = sign_tokens(place.data_dir)
    (place.data_dir / "data.json").write_bytes(msgspec.json.encode(data))
    answers = ReferenceAnswers(data)
    draw = alike_calls if plan.is_alike else draw_calls
    calls = {shape.name: draw(shape.name) for shape in plan.shapes}
    for number in range(plan.rounds):
        peers = [peer for peer in plan.peers if peer.takes_part(number)]
        with run_servers(peers, place) as servers:
            for shape in plan.shapes:
                for server in rotate(servers, number):
                    tell(f"round {number + 1}, {shape.title}: {server.peer.title}")
                    stream = CheckedStream(server, tokens, calls[shape.name], answers)
                    stream.check_each_document()
                    yield take_sample(stream, shape, number, plan.length)


def rotate(servers: Sequence[T], number: int) -> list[T]:
    """The servers in an order that starts with another one in each round."""
    start = number % len(servers)
    return [*servers[start:], *servers[:start]]


class CheckedStream:
    """The requests of one shape to one server, and the comparison with the only right answers."""

    def __init__(
        self,
        server: RunningServer,
        tokens: Sequence[str],
        calls: Sequence[Call],
        answers: ReferenceAnswers,
    ) -> None:
        self.server = server
        self._calls = calls
        self._answers = answers
        peer = server.peer
        self._to = Destination(
            server.port, peer.by_document, peer.knows_digests, tokens, peer.takes_get
        )
        self.requests = [encode(call, self._to) for call in calls]

    def check_each_document(self) -> None:
        """Make digests known, and compare the first answer of each document; raises WrongAnswer."""
        firsts: dict[str, int] = {}
        for number, call in enumerate(self._calls):
            firsts.setdefault(call.document.name, number)
        for number in firsts.values():
            document = self._calls[number].document
            if document.is_persisted and self.server.peer.knows_digests:
                send_once(self.server.port, encode_registration(document, self._to))
            status, body = send_once(self.server.port, self.requests[number])
            if status != 200:
                raise WrongAnswer(f"{self.server.peer.title}, {document.name}: {status} {body!r}")
            self.check(number, body)

    def check(self, number: int, body: bytes) -> None:
        """Compare an answer with the right one; raises WrongAnswer.

        The order of keys does not count: graphql-jit writes objects and lists first.
        """
        call = self._calls[number]
        wanted = self._answers.answer(call.document, call.variables)
        with suppress(orjson.JSONDecodeError):
            if orjson.loads(body) == wanted:
                return
        title = self.server.peer.title
        raise WrongAnswer(f"{title}, {call.document.name} {call.variables}: {body[:500]!r}")


def take_sample(stream: CheckedStream, shape: Shape, number: int, length: Length) -> Sample:
    """Measure the requests of a stream; raises WrongAnswer if a sampled answer is not right."""
    server = stream.server
    with closing(LoadGenerator(server.port, stream.requests, length.connections)) as generator:
        generator.run(length.warm_up)
        before = usage(server.process)
        loaded = generator.run(length.seconds)
        after = usage(server.process)
    for place, body in loaded.samples.items():
        stream.check(place, body)
    return Sample(
        peer=server.peer.name,
        shape=shape.name,
        round=number,
        cpu=(after.seconds - before.seconds) / len(loaded.latencies),
        rate=len(loaded.latencies) / loaded.seconds,
        p50=latency_at(loaded, 0.5),
        p99=latency_at(loaded, 0.99),
        memory=after.memory,
    )


def latency_at(loaded: LoadResult, share: float) -> float:
    """The latency that this share of the answers did not exceed."""
    ordered = sorted(loaded.latencies)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


@contextmanager
def run_servers(peers: Sequence[Peer], place: LaunchOptions) -> Iterator[list[RunningServer]]:
    core, _ = cores()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    environment = (
        kept
        | CREDENTIALS
        | {"NODE_ENV": "production", "GRAPHILE_ENV": "production", "PYTHONPATH": str(ROOT)}
    )
    with ExitStack() as stack:
        servers = []
        for peer in peers:
            own = place._replace(port=free_port())
            line = command(peer, own)
            process = stack.enter_context(run_process(line, own.port, core, environment, ROOT))
            servers.append(RunningServer(peer, own.port, process))
        yield servers


def sign_tokens(data_dir: Path) -> list[str]:
    """A token for each caller; every server gets them, and only Penstock reads them."""
    key, roles = dev_key(data_dir), {ROOT_GROUP: Role.ADMIN}
    return [
        sign_dev_token(key, f"caller-{number:02}", roles, ROOT_GROUP, timedelta(hours=12))
        for number in range(CALLERS)
    ]
