"""The same server over DynamoDB, chosen by options alone."""

from pathlib import Path
from uuid import uuid4

import pytest

from penstock.server.command_line import run
from tests.support.graphql_client import CREATE, CREATE_GROUP, draft
from tests.support.penstock_command import client, penstock, start_server
from tests.support.stores import REGION, aws_environment, moto_endpoint

pytestmark = pytest.mark.runs_together("serving dynamodb")


def store(table: str) -> tuple[str, ...]:
    options = ("--store", "dynamodb", "--endpoint-url", moto_endpoint(), "--region", REGION)
    return (*options, "--table", table)


def test_a_table_that_is_missing_ends_the_server_with_3_and_a_hint(tmp_path: Path) -> None:
    told = penstock("serve", "--port", "0", "--data-dir", str(tmp_path), *store("missing"))
    assert (told.returncode, told.stdout) == (3, "")
    first, *_, hint = told.stderr.splitlines()
    assert "missing" in first
    assert hint == "penstock: `penstock table create` makes the table."


def test_a_table_that_was_created_is_served(tmp_path: Path) -> None:
    chosen = store(f"penstock-{uuid4()}")
    with aws_environment():
        codes = [run(["table", command, *chosen]) for command in ("verify", "create", "verify")]
    assert codes == [3, 0, 0]
    options = ("--port", "0", "--data-dir", str(tmp_path), *chosen)
    with (
        start_server(tmp_path / "log", *options) as server,
        client(server, tmp_path, "/=admin") as one,
    ):
        assert server.said["Data"] == f"DynamoDB table {chosen[-1]} at {moto_endpoint()}"
        assert one.ask(CREATE_GROUP, input={"path": "/usa"})["group"]
        assert one.ask(CREATE, input=draft("one", "a=b", group="/usa"))["pipeline"]["version"] == 1
        listed = one.ask('{ pipelines(group: "/usa") { nodes { name } } }')
        assert listed == {"nodes": [{"name": "one"}]}
        assert server.end() == 0
    assert not (tmp_path / "penstock.db").exists()
