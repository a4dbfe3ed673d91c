"""The server is killed during writes, many times: every acknowledged write is kept.

`KILL_ROUNDS` and `KILL_WRITES`, the writes in each round, make it longer: see `make kill`.
"""

import asyncio
import logging
import math
import os
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

import httpx
import pytest

from penstock.datastore.sqlite.table import SqliteTable
from tests.support.consistency_check import faults
from tests.support.graphql_client import CREATE, CREATE_GROUP, UPDATE, draft
from tests.support.patience import HUNG_SECONDS
from tests.support.penstock_command import Client, Server, client, start_server

pytestmark = pytest.mark.runs_together("kill")

ROUNDS = int(os.environ.get("KILL_ROUNDS", "3"))
WRITES = int(os.environ.get("KILL_WRITES", "100"))
WRITERS = 4
GRANT = """mutation($input: GrantPipelineInput!) { grantPipeline(input: $input) { __typename
  ... on GrantPipelinePayload { pipeline { id version } } } }"""
DELETE = """mutation($input: DeletePipelineInput!) { deletePipeline(input: $input) { __typename
  ... on DeletePipelinePayload { pipeline { id version } } } }"""
ALL = """query($after: String) { pipelines(group: "/", includeChildGroups: true, first: 100,
  after: $after) { nodes { id name version description groups }
  pageInfo { hasNextPage endCursor } } }"""


logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ExpectedPipeline:
    """A pipeline as it was acknowledged."""

    name: str
    version: int = 1
    description: str | None = None
    groups: tuple[str, ...] = ("/usa",)


@dataclass(frozen=True, slots=True)
class SentWrite:
    """A write, the expected pipeline after it, and the error code if it was already done."""

    document: str
    input: Mapping[str, Any]
    then: ExpectedPipeline | None
    done_before: str


@dataclass(slots=True)
class Progress:
    """Counts acknowledged writes; writers stop at `until`.

    The writer of the write number `kill_at` kills the server: nobody else has to be in time.
    """

    until: int
    done: int = 0
    kill_at: float = math.inf
    server: Server | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def another(self) -> None:
        """Count one more write."""
        with self.lock:
            self.done += 1
            if self.done >= self.kill_at and self.server is not None:
                self.server.process.kill()


class Writer:
    """Writes one thing after another, and repeats an unanswered write.

    `kept` holds the acknowledged pipelines by id.
    """

    def __init__(self, number: int) -> None:
        self.user = f"writer {number}"
        self.kept: dict[str, ExpectedPipeline] = {}
        self.repeated = 0
        self._dice = Random(number)
        self._made = 0
        self._waiting: SentWrite | None = None

    def write(self, one: Client, progress: Progress) -> None:
        """Write until there are enough writes, or the server is gone."""
        while progress.done < progress.until:
            try:
                self._write_one(one)
            except httpx.TransportError:
                return
            progress.another()

    def settle(self, one: Client) -> None:
        """Repeat the write that was sent and not answered."""
        if self._waiting is not None:
            self.repeated += 1
            self._write_one(one)

    def _write_one(self, one: Client) -> None:
        again = self._waiting is not None
        sent = self._waiting = self._waiting or self._next()
        told = one.ask(sent.document, input=sent.input)
        if told["__typename"].endswith("Payload"):
            id = told["pipeline"]["id"]
            assert sent.then is None or told["pipeline"]["version"] == sent.then.version, told
        else:
            assert again, told
            assert told["__typename"] == sent.done_before, (sent, told)
            id = sent.input["id"]
        if sent.then is None:
            del self.kept[id]
        else:
            self.kept[id] = sent.then
        self._waiting = None

    def _next(self) -> SentWrite:
        if not self.kept or self._dice.random() < 0.4:
            return self._create()
        id = self._dice.choice(list(self.kept))
        return self._dice.choice((self._update, self._update, self._grant, self._delete))(id)

    def _create(self) -> SentWrite:
        self._made += 1
        name = f"{self.user} {self._made}"
        input = draft(name, "material=metal/steel", f"writer={self.user}", group="/usa")
        # Never NameTaken: the pipeline with that name is the one that this write creates.
        return SentWrite(
            CREATE,
            {**input, "idempotencyKey": name},
            ExpectedPipeline(name),
            "CreatePipelinePayload",
        )

    def _update(self, id: str) -> SentWrite:
        held = self.kept[id]
        then = replace(held, version=held.version + 1, description=f"after {held.version}")
        change = {"expectedVersion": held.version, "description": then.description}
        return SentWrite(UPDATE, {"id": id, **change}, then, "VersionConflict")

    def _grant(self, id: str) -> SentWrite:
        then = replace(self.kept[id], groups=("/eu", "/usa"))
        return SentWrite(GRANT, {"id": id, "group": "/eu"}, then, "GrantPipelinePayload")

    def _delete(self, id: str) -> SentWrite:
        return SentWrite(DELETE, {"id": id}, None, "NotFound")


Pairs: TypeAlias = list[tuple[Writer, Client]]


def everything(one: Client) -> dict[str, ExpectedPipeline]:
    """Return every pipeline as the server answers it."""
    found: dict[str, ExpectedPipeline] = {}
    after, more = None, True
    while more:
        page = one.ask(ALL, after=after)
        for node in page["nodes"]:
            groups = tuple(sorted(node["groups"]))
            kept = ExpectedPipeline(node["name"], node["version"], node["description"], groups)
            assert found.setdefault(node["id"], kept) is kept
        after, more = page["pageInfo"]["endCursor"], page["pageInfo"]["hasNextPage"]
    return found


async def damage(data_dir: Path) -> list[str]:
    """Return the contradictions between the rows of the file."""
    table = SqliteTable.open(data_dir / "penstock.db")
    try:
        return await faults(table)
    finally:
        await table.close()


def test_what_was_acknowledged_survives_every_kill(tmp_path: Path) -> None:
    data_dir, dice = tmp_path / "data", Random(0)
    writers = [Writer(number) for number in range(WRITERS)]
    progress = Progress(ROUNDS * WRITES)
    for number in range(ROUNDS):
        # The kill comes during the writes of the round; the rest follows after the next start.
        progress.kill_at = number * WRITES + dice.randrange(1, WRITES)
        with serving(tmp_path, writers) as (progress.server, pairs):
            write(pairs, progress)
            assert progress.server.process.wait(HUNG_SECONDS) == -signal.SIGKILL
        assert asyncio.run(damage(data_dir)) == []
    progress.kill_at = math.inf
    with serving(tmp_path, writers) as (server, pairs):
        write(pairs, progress)
        assert everything(pairs[0][1]) == acknowledged_pipelines(writers)
        assert server.end() == 0
    assert asyncio.run(damage(data_dir)) == []
    assert progress.done >= ROUNDS * WRITES
    repeated = sum(writer.repeated for writer in writers)
    assert ROUNDS <= repeated <= ROUNDS * WRITERS
    told = "%d kills amid %d acknowledged writes, %d repeated, %d pipelines in the end: none lost"
    logger.warning(told, ROUNDS, progress.done, repeated, len(acknowledged_pipelines(writers)))


@contextmanager
def serving(tmp_path: Path, writers: Sequence[Writer]) -> Iterator[tuple[Server, Pairs]]:
    """Start a server over the state after the last kill; each writer has its own connection.

    The unanswered writes are repeated; then the store holds exactly the acknowledged state.
    """
    data_dir = tmp_path / "data"
    options = ("--port", "0", "--data-dir", str(data_dir), "--no-seed")
    with (
        start_server(tmp_path / "log", *options, PENSTOCK_RATE_LIMIT_PER_SECOND="0") as server,
        ExitStack() as held,
    ):
        pairs = [
            (one, held.enter_context(client(server, data_dir, "/=admin", user=one.user)))
            for one in writers
        ]
        for path in ("/usa", "/eu"):
            pairs[0][1].ask(CREATE_GROUP, input={"path": path})
        for writer, one in pairs:
            writer.settle(one)
        assert everything(pairs[0][1]) == acknowledged_pipelines(writers)
        yield server, pairs


def write(pairs: Pairs, progress: Progress) -> None:
    """Write until there are enough writes, or the server is gone."""
    with ThreadPoolExecutor(len(pairs)) as threads:
        for each in [threads.submit(writer.write, one, progress) for writer, one in pairs]:
            each.result()


def acknowledged_pipelines(writers: Sequence[Writer]) -> dict[str, ExpectedPipeline]:
    return {id: held for writer in writers for id, held in writer.kept.items()}
