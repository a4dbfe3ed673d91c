"""Rounds in which every server answers every shape in turn, and the samples of each."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec
import orjson

from benchmarks.peers.competitors import ROOT, LaunchOptions, Peer, command
from benchmarks.peers.emulator import CREDENTIALS
from benchmarks.peers.load_generator import (
    LoadGenerator,
    LoadResult,
    WrongAnswer,
    request,
    send_once,
)
from benchmarks.peers.processes import cores, free_port, run_process, usage
from benchmarks.peers.query_shapes import Shape, expected_data
from benchmarks.peers.records import Data
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
    """The servers, the shapes, the number of rounds and the length of a measurement."""

    peers: Sequence[Peer]
    shapes: Sequence[Shape]
    rounds: int
    length: Length


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
    token = headers(place.data_dir)
    (place.data_dir / "data.json").write_bytes(msgspec.json.encode(data))
    for number in range(plan.rounds):
        with run_servers(plan.peers, place) as servers:
            for shape in plan.shapes:
                for server in rotate(servers, number):
                    tell(f"round {number + 1}, {shape.title}: {server.peer.title}")
                    asked = request_bytes(server, shape, token)
                    check(server, shape, data, asked)
                    yield take_sample(server, shape, number, plan.length, asked)


def rotate(servers: Sequence[T], number: int) -> list[T]:
    """The servers in an order that starts with another one in each round."""
    start = number % len(servers)
    return [*servers[start:], *servers[:start]]


def take_sample(
    server: RunningServer, shape: Shape, number: int, length: Length, asked: bytes
) -> Sample:
    with closing(LoadGenerator(server.port, asked, length.connections)) as generator:
        generator.run(length.warm_up)
        before = usage(server.process)
        loaded = generator.run(length.seconds)
        after = usage(server.process)
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
    environment = kept | CREDENTIALS | {"NODE_ENV": "production", "PYTHONPATH": str(ROOT)}
    with ExitStack() as stack:
        servers = []
        for peer in peers:
            own = place._replace(port=free_port())
            line = command(peer, own)
            process = stack.enter_context(run_process(line, own.port, core, environment, ROOT))
            servers.append(RunningServer(peer, own.port, process))
        yield servers


def headers(data_dir: Path) -> dict[str, str]:
    """The headers for every server; only Penstock reads the token."""
    roles = {ROOT_GROUP: Role.ADMIN}
    token = sign_dev_token(dev_key(data_dir), "bench", roles, ROOT_GROUP, timedelta(hours=12))
    return {"Authorization": f"Bearer {token}"}


def request_bytes(server: RunningServer, shape: Shape, token: dict[str, str]) -> bytes:
    path = f"/{shape.name}" if server.peer.by_shape else "/graphql"
    return request(server.port, path, orjson.dumps(shape.body), token)


def check(server: RunningServer, shape: Shape, data: Data, asked: bytes) -> None:
    """Compare the answer, written as JSON again, with the expected one, byte by byte."""
    status, body = send_once(server.port, asked)
    found = orjson.loads(body) if status == 200 else {}
    wanted = orjson.dumps({"data": expected_data(data, shape.name)})
    if orjson.dumps(found) != wanted:
        raise WrongAnswer(f"{server.peer.title}, {shape.title}: {status} {body[:500]!r}")
