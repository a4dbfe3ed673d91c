"""`penstock serve` as users run it: its output, its data, and its end."""

import asyncio
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import takewhile
from pathlib import Path
from typing import Any

import httpx
import pytest

from penstock.datastore.sqlite.table import SqliteTable
from penstock.server.samples.catalogue import DEFAULT_SIZE
from tests.support.consistency_check import faults
from tests.support.graphql_client import CREATE, CREATE_GROUP, UPDATE, draft, tag_inputs
from tests.support.patience import HUNG_SECONDS
from tests.support.penstock_command import Client, Server, client, penstock, start_server
from tests.support.server_process import VERIFY_TLS, free_port

# The tests share a server whose catalogue takes a while to seed.
pytestmark = pytest.mark.runs_together("serving")

SIZE = 2_000
FIND = """query($group: GroupPath!, $tags: TagFilter!) {
  pipelines(group: $group, tags: $tags, first: 100) { nodes { id name } } }"""
NAMES = """query($after: String) { pipelines(group: "/", includeChildGroups: true, first: 100,
  after: $after) { nodes { name } pageInfo { hasNextPage endCursor } } }"""
VERSIONS = """query($id: ID!) { pipeline(id: $id) {
  versions { nodes { version description } } } }"""


def names(one: Client) -> list[str]:
    found: list[str] = []
    after, more = None, True
    while more:
        page = one.ask(NAMES, after=after)
        found += [node["name"] for node in page["nodes"]]
        after, more = page["pageInfo"]["endCursor"], page["pageInfo"]["hasNextPage"]
    return found


def create(one: Client, name: str, *tags: str, group: str = "/usa") -> dict[str, Any]:
    told: dict[str, Any] = one.ask(CREATE, input=draft(name, *tags, group=group))
    return told


async def damage(data_dir: Path) -> list[str]:
    """Return the contradictions between the rows of the file."""
    table = SqliteTable.open(data_dir / "penstock.db")
    try:
        return await faults(table)
    finally:
        await table.close()


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("served") / "data"


@pytest.fixture(scope="module")
def server(data_dir: Path) -> Iterator[Server]:
    """A server configured by its environment, over a seeded catalogue."""
    made = penstock("seed", "--size", str(SIZE), PENSTOCK_DATA_DIR=str(data_dir))
    assert (made.returncode, made.stderr) == (0, "")
    where = {"PENSTOCK_HOST": "127.0.0.1", "PENSTOCK_PORT": str(free_port())}
    log = data_dir.parent / "log"
    with start_server(log, PENSTOCK_DATA_DIR=str(data_dir), **where) as server:
        assert server.url == f"http://127.0.0.1:{where['PENSTOCK_PORT']}"
        yield server
        assert server.end() == 0


def fetch(method: str, url: str, **options: Any) -> httpx.Response:
    return httpx.request(
        method, url, timeout=HUNG_SECONDS, trust_env=False, verify=VERIFY_TLS, **options
    )


def test_the_server_says_where_everything_is(server: Server, data_dir: Path) -> None:
    page = f"{server.url}/graphiql"
    said = dict(server.said)
    console = f"{server.url}/console/"
    assert re.fullmatch(rf"{re.escape(page)}\?code=[\w-]{{43}}", said.pop("GraphiQL"))
    assert re.fullmatch(rf"{re.escape(console)}\?code=[\w-]{{43}}", said.pop("Console"))
    assert said == {
        "GraphQL": f"{server.url}/graphql",
        "Health": f"{server.url}/healthz  {server.url}/readyz",
        "NGSI": f"{server.url}/v2/notify",
        "Identity": "dev@localhost, admin of /, default group /usa",
        "Data": str(data_dir / "penstock.db"),
    }
    for url in (page, *server.said["Health"].split()):
        assert fetch("GET", url).status_code == 200


def test_the_token_command_makes_tokens_for_the_running_server(
    server: Server, data_dir: Path
) -> None:
    options = ("--user", "tom", "--role", "/usa/northwest=reader", "--role", "/eu=admin")
    made = penstock("token", *options, "--default-group", "/eu", PENSTOCK_DATA_DIR=str(data_dir))
    assert (made.returncode, made.stderr) == (0, "")
    one = Client(server, made.stdout.strip())
    viewer = one.ask("{ viewer { userId defaultGroup roles { group role } } }")
    one.close()
    roles = [("/eu", "ADMIN"), ("/usa/northwest", "READER")]
    assert viewer == {
        "userId": "tom",
        "defaultGroup": "/eu",
        "roles": [{"group": group, "role": role} for group, role in roles],
    }


def test_a_request_without_a_token_or_with_a_foreign_one_is_refused(
    server: Server, tmp_path: Path
) -> None:
    with client(server, tmp_path, "/=admin") as stranger:
        answer = stranger.answer("{ viewer { userId } }")
    assert answer["errors"][0]["extensions"]["code"] == "UNAUTHENTICATED"
    assert fetch("POST", f"{server.url}/graphql", json={}).status_code == 401


def test_a_host_name_that_is_not_ours_is_refused_but_by_the_health_endpoints(
    server: Server,
) -> None:
    rebound = {"host": "rebound.example"}
    status = {
        path: fetch("GET", f"{server.url}/{path}", headers=rebound).status_code
        for path in ("graphql", "graphiql", "healthz", "readyz")
    }
    assert status == {"graphql": 400, "graphiql": 400, "healthz": 200, "readyz": 200}


def test_a_pipeline_is_found_by_three_tags_among_thousands_from_a_group_below(
    server: Server, data_dir: Path
) -> None:
    tags = ("source=SAP", "material=material/metal/steel", "audit=2022/q3")
    with client(server, data_dir, "/usa=admin") as ana:
        made = create(ana, "the one", *tags)["pipeline"]
        with client(server, data_dir, "/usa/northwest=reader", user="nora") as nora:
            wanted = {"all": tag_inputs("source=sap", "material=material/metal", "audit=2022")}
            found = nora.ask(FIND, group="/usa/northwest", tags=wanted)
            assert found["nodes"] == [{"id": made["id"], "name": "the one"}]
            changes = {"description": "audited", "expectedVersion": 1}
            assert ana.ask(UPDATE, input={"id": made["id"], **changes})["pipeline"]["version"] == 2
            versions = nora.ask(VERSIONS, id=made["id"])["versions"]["nodes"]
        assert versions == [
            {"version": 2, "description": "audited"},
            {"version": 1, "description": None},
        ]
        assert ana.ask(CREATE_GROUP, input={"path": "/usa/east"})["group"]
    with client(server, data_dir, "/eu/germany=admin", user="gerd") as sibling:
        answer = sibling.answer(VERSIONS, id=made["id"])
        assert answer["errors"][0]["extensions"]["code"] == "NOT_FOUND"
        assert answer["data"] == {"pipeline": None}
        found = sibling.ask(FIND, group="/eu/germany", tags={"all": tag_inputs("audit=2022")})
        assert found["nodes"] == []


def test_two_servers_share_one_data_directory(
    server: Server, data_dir: Path, tmp_path: Path
) -> None:
    options = ("--port", "0", "--data-dir", str(data_dir))
    with (
        start_server(tmp_path / "log", *options) as second,
        client(server, data_dir, "/=admin") as one,
        client(second, data_dir, "/=admin") as two,
        ThreadPoolExecutor() as threads,
    ):
        assert create(one, "seen by both", "shared=yes")["pipeline"]["version"] == 1
        found = two.ask(FIND, group="/usa", tags={"all": tag_inputs("shared=yes")})
        assert [node["name"] for node in found["nodes"]] == ["seen by both"]
        for n in range(10):
            told = threads.map(lambda asks, n=n: create(asks, f"raced {n}"), (one, two))
            results = sorted(each["__typename"] for each in told)
            assert results == ["CreatePipelinePayload", "NameTaken"]
        assert second.end() == 0
        assert create(one, "after the other went")["pipeline"]["version"] == 1


def test_servers_that_start_on_an_empty_directory_at_once_fill_it_once(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    options = ("--port", "0", "--data-dir", str(data_dir))
    with (
        start_server(tmp_path / "one", *options) as first,
        start_server(tmp_path / "two", *options) as second,
        client(second, data_dir, "/=admin") as one,
    ):
        found = names(one)
        # One more keeps its rows.
        assert len(found) == len({*found}) == DEFAULT_SIZE + 1
        assert "sap:emissions:pipeline" in found
        assert [first.end(), second.end(signal.SIGTERM)] == [0, 0]


def test_what_was_acknowledged_survives_kill_9_and_a_restart(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    options = ("--port", "0", "--data-dir", str(data_dir), "--no-seed")
    acknowledged: list[str] = []

    def write_on(one: Client, thread: int) -> None:
        for n in range(1_000):
            try:
                made = create(one, f"{thread} {n}", "a=b/c", f"thread={thread}")
            except httpx.TransportError:
                return
            assert made["pipeline"]["version"] == 1
            acknowledged.append(made["pipeline"]["name"])

    with (
        start_server(tmp_path / "log", *options) as server,
        client(server, data_dir, "/=admin") as one,
        ThreadPoolExecutor() as threads,
    ):
        assert names(one) == []
        assert one.ask(CREATE_GROUP, input={"path": "/usa"})["group"]
        writers = [threads.submit(write_on, one, n) for n in range(4)]
        while len(acknowledged) < 50:
            assert not any(writer.done() for writer in writers)
            time.sleep(0.01)
        assert server.end(signal.SIGKILL) == -signal.SIGKILL
        for writer in writers:
            writer.result()
    with (
        start_server(tmp_path / "log", *options) as again,
        client(again, data_dir, "/=admin") as one,
    ):
        kept = names(one)
        assert {*acknowledged} <= {*kept}
        assert len(kept) <= len(acknowledged) + 4
        assert create(one, "new")["pipeline"]["version"] == 1
        assert again.end() == 0
    assert asyncio.run(damage(data_dir)) == []


def test_a_server_ends_without_a_word_after_its_engine_of_rows_ran(tmp_path: Path) -> None:
    # A program of its own: the warm ones leave out the end of Python, at which libraries complain.
    serve = ("serve", "--port", str(free_port()), "--data-dir", str(tmp_path / "data"))
    with subprocess.Popen(
        [sys.executable, "-m", "penstock", *serve], stderr=subprocess.PIPE, text=True
    ) as program:
        assert program.stderr is not None
        said = [*takewhile(lambda line: line != "Ctrl-C stops the server.\n", program.stderr)]
        program.send_signal(signal.SIGINT)
        last = program.stderr.read()
        assert program.wait(timeout=HUNG_SECONDS) == 0
    assert any(line.startswith("Data ") for line in said)
    assert last == "\n"


def test_a_busy_port_is_told_in_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        told = penstock("serve", "--port", str(port), "--data-dir", str(tmp_path / "data"))
    assert (told.returncode, told.stdout, told.stderr.count("\n")) == (1, "", 1)
    assert told.stderr == (
        f"penstock: Cannot listen on 127.0.0.1:{port}: Address already in use. "
        "Choose another port: `--port 8001`, `make serve PORT=8001` or PENSTOCK_PORT=8001.\n"
    )
    assert not (tmp_path / "data").exists()
