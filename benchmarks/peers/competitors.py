"""The measured servers and the commands that start them."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.peers.server_options import TABLE

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
BASELINE = "mercurius"
SLOWEST = "strawberry_default"
FLOOR = "handwritten"
FLOOR_ON_GRANIAN = "handwritten_granian"
OURS = ("penstock", "penstock_quiet")
WITH_DIGESTS = frozenset({*OURS, BASELINE, "apollo"})
"""The servers that take the digest of a document in place of its text; others get the text."""


class Peer(NamedTuple):
    """A server; options select it by `name`, and the `interpreter` runs its module.

    `by_document` servers have a path for each document; those with `knows_digests` take automatic
    persisted queries; without `takes_get` a server takes operations by POST only. Those that are
    not `in_store` are measured in memory only.
    """

    name: str
    title: str
    module: str
    interpreter: str
    by_document: bool = False
    knows_digests: bool = False
    takes_get: bool = True
    in_store: bool = True

    def takes_part(self, number: int) -> bool:
        """Whether the server is measured in this round: the slower ones take part in three."""
        return self.name not in _SLOWER or number < _ROUNDS_OF_SLOWER


_ROUNDS_OF_SLOWER = 3
_SLOWER = frozenset({SLOWEST, "strawberry_cached", "ariadne_cached", "apollo", "yoga", "yoga_bun"})


class Interpreters(NamedTuple):
    """The programs that run the servers: Node, Bun and the built server in Go, if there is one."""

    node: str
    bun: str
    go_server: str | None = None


class LaunchOptions(NamedTuple):
    """The port of a server and the source of its data; no endpoint means its own memory."""

    port: int
    data_dir: Path
    endpoint: str | None


_PYTHON = (
    ("penstock", "Penstock"),
    ("penstock_quiet", "Penstock, no log, no metrics"),
    (FLOOR, "by hand"),
    (FLOOR_ON_GRANIAN, "by hand, on Granian"),
    ("strawberry_cached", "Strawberry, cached"),
    (SLOWEST, "Strawberry"),
    ("ariadne_cached", "Ariadne, cached"),
)
_NODE = (
    (BASELINE, "Mercurius + JIT"),
    ("yoga", "GraphQL Yoga + JIT"),
    ("apollo", "Apollo Server 5"),
    ("grafast", "Grafast (grafserv)"),
)
_BUN = (("mercurius_bun", "Mercurius + JIT, on Bun"), ("yoga_bun", "GraphQL Yoga + JIT, on Bun"))


def peers(found: Interpreters, others: Sequence[tuple[str, str]] = ()) -> list[Peer]:
    """All servers; `others` are more Pythons for Penstock, each a path and a version."""
    here = [python_peer(name, title, sys.executable) for name, title in _PYTHON]
    here += [node_peer(name, title, found.node) for name, title in _NODE]
    here += [node_peer(name, title, found.bun) for name, title in _BUN]
    if found.go_server is not None:
        here.append(Peer("go", "graph-gophers (Go)", "server.go", found.go_server, in_store=False))
    for path, version in others:
        here += [
            python_peer(f"{name}@{version}", f"{title}, Python {version}", path)
            for name, title in _PYTHON[:2]
        ]
    return here


def python_peer(name: str, title: str, interpreter: str) -> Peer:
    module = name.partition("@")[0]
    by_document, knows_digests = module in (FLOOR, FLOOR_ON_GRANIAN), module in WITH_DIGESTS
    return Peer(name, title, module, interpreter, by_document, knows_digests)


def node_peer(name: str, title: str, interpreter: str) -> Peer:
    """A server in JavaScript; grafserv takes operations by POST only."""
    return Peer(
        name,
        title,
        "server.mjs",
        interpreter,
        knows_digests=_without_engine(name) in WITH_DIGESTS,
        takes_get=name != "grafast",
    )


def _without_engine(name: str) -> str:
    return name.removesuffix("_bun")


def command(peer: Peer, place: LaunchOptions) -> list[str]:
    """The command line that starts a server, from the folder above `benchmarks`."""
    data, sdl = str(place.data_dir / "data.json"), str(HERE / "schema.graphql")
    if peer.module == "server.go":
        return [peer.interpreter, str(place.port), data, sdl]
    if peer.module == "server.mjs":
        line = [peer.interpreter, str(HERE / "node" / peer.module), _without_engine(peer.name)]
        line += [str(place.port), data, sdl]
        return line + ([place.endpoint, TABLE] if place.endpoint else [])
    line = [peer.interpreter, "-m", "benchmarks.peers.serve", peer.module]
    line += ["--port", str(place.port), "--data-dir", str(place.data_dir)]
    return line + (["--endpoint", place.endpoint] if place.endpoint else [])
