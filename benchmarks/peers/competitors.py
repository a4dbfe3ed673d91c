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
OURS = ("penstock", "penstock_quiet")
WITH_DIGESTS = frozenset({*OURS, BASELINE, "apollo"})
"""The servers that take the digest of a document in place of its text; others get the text."""


class Peer(NamedTuple):
    """A server; options select it by `name`, and the Python or Node `interpreter` runs it.

    `by_document` servers have a path for each document; those with `knows_digests` take automatic
    persisted queries.
    """

    name: str
    title: str
    module: str
    interpreter: str
    by_document: bool = False
    knows_digests: bool = False

    @property
    def is_python(self) -> bool:
        return not self.module.endswith(".mjs")


class LaunchOptions(NamedTuple):
    """The port of a server and the source of its data; no endpoint means its own memory."""

    port: int
    data_dir: Path
    endpoint: str | None


_PYTHON = (
    ("penstock", "Penstock"),
    ("penstock_quiet", "Penstock, no log, no metrics"),
    (FLOOR, "by hand"),
    ("strawberry_cached", "Strawberry, cached"),
    (SLOWEST, "Strawberry"),
    ("ariadne_cached", "Ariadne, cached"),
)
_NODE = (
    (BASELINE, "Mercurius + JIT"),
    ("yoga", "GraphQL Yoga + JIT"),
    ("apollo", "Apollo Server 5"),
)


def peers(node: str, others: Sequence[tuple[str, str]] = ()) -> list[Peer]:
    """All servers; `others` are more Pythons for Penstock, each a path and a version."""
    found = [python_peer(name, title, sys.executable) for name, title in _PYTHON]
    found += [
        Peer(name, title, "server.mjs", node, knows_digests=name in WITH_DIGESTS)
        for name, title in _NODE
    ]
    for path, version in others:
        found += [
            python_peer(f"{name}@{version}", f"{title}, Python {version}", path)
            for name, title in _PYTHON[:2]
        ]
    return found


def python_peer(name: str, title: str, interpreter: str) -> Peer:
    module = name.partition("@")[0]
    by_document, knows_digests = module == FLOOR, module in WITH_DIGESTS
    return Peer(name, title, module, interpreter, by_document, knows_digests)


def command(peer: Peer, place: LaunchOptions) -> list[str]:
    """The command line that starts a server, from the folder above `benchmarks`."""
    if peer.is_python:
        line = [peer.interpreter, "-m", "benchmarks.peers.serve", peer.module]
        line += ["--port", str(place.port), "--data-dir", str(place.data_dir)]
        return line + (["--endpoint", place.endpoint] if place.endpoint else [])
    line = [peer.interpreter, str(HERE / "node" / peer.module), peer.name, str(place.port)]
    line += [str(place.data_dir / "data.json"), str(HERE / "schema.graphql")]
    return line + ([place.endpoint, TABLE] if place.endpoint else [])
