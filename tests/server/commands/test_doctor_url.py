"""`penstock doctor --url`: a running server is checked as a client sees it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from penstock.server.command_line import run
from penstock.server.commands.checks.running_server import _judge_clock
from penstock.server.settings.unknown_variables import describe_unknown_variables
from tests.support.penstock_command import Server, start_server

pytestmark = pytest.mark.runs_together("lists of the command line")

PAGE = "http://localhost:5173"


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def server(data_dir: Path) -> Iterator[Server]:
    options = ("--port", "0", "--no-seed", "--data-dir", str(data_dir))
    with start_server(
        data_dir / "log", *options, PENSTOCK_ALLOWED_ORIGINS=PAGE, PENSTOCK_PROT="1"
    ) as server:
        yield server


def examine(capsys: pytest.CaptureFixture[str], *options: str, code: int) -> dict[str, Any]:
    capsys.readouterr()
    assert run(["doctor", *options, "--json"]) == code
    report = json.loads(capsys.readouterr().out)
    return {check["check"]: check for check in report["checks"]}


def levels(checks: dict[str, Any]) -> dict[str, str]:
    return {name: check["level"] for name, check in checks.items()}


def test_a_healthy_server_passes_each_check(
    server: Server, data_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--url", server.url, "--data-dir", str(data_dir), "--origin", PAGE)
    checks = examine(capsys, *options, code=0)
    names = ("variables", "server", "clock", "readiness", "cors", "token", "upload")
    assert levels(checks) == dict.fromkeys(names, "ok")
    assert checks["token"]["message"] == "dev@localhost is admin of /."


def test_a_page_of_another_origin_and_a_bad_token_are_found(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--url", server.url, "--token", "bad", "--origin", "https://other.example.org")
    checks = examine(capsys, *options, code=3)
    assert levels(checks) == {
        "variables": "ok",
        "server": "ok",
        "clock": "ok",
        "readiness": "ok",
        "cors": "fail",
        "token": "fail",
    }
    assert checks["cors"]["advice"] == (
        "Start the server with PENSTOCK_ALLOWED_ORIGINS=https://other.example.org."
    )


def test_a_server_that_does_not_answer_is_one_finding(capsys: pytest.CaptureFixture[str]) -> None:
    checks = examine(capsys, "--url", "http://127.0.0.1:9", "--token", "t", code=3)
    assert levels(checks) == {"variables": "ok", "server": "fail"}


def test_an_unknown_variable_is_named_beside_a_running_server(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_TOKN", "t")
    checks = examine(capsys, "--url", "http://127.0.0.1:9", "--token", "t", code=3)
    assert checks["variables"]["message"] == (
        "PENSTOCK_TOKN is no setting. Do you mean PENSTOCK_TOKEN?"
    )


@pytest.mark.parametrize(("skew", "level"), [(0, "ok"), (30, "ok"), (-31, "fail"), (3600, "fail")])
def test_a_clock_may_differ_by_half_a_minute(skew: int, level: str) -> None:
    answer = httpx.Response(200, headers={"date": "Mon, 23 Nov 2026 00:00:00 GMT"})
    assert _judge_clock(answer, 1_795_392_000 + skew).level == level


def test_a_server_names_variables_that_it_does_not_know(server: Server, data_dir: Path) -> None:
    assert server.url
    warning = "PENSTOCK_PROT is no setting. Do you mean PENSTOCK_PORT?"
    assert warning in (data_dir / "log").read_text()


def test_variables_of_settings_and_of_clients_are_known() -> None:
    names = ("PENSTOCK_PORT", "PENSTOCK_URL", "PENSTOCK_CONFIG", "penstock_port", "PATH")
    assert describe_unknown_variables(dict.fromkeys(names, "")) == []


@pytest.mark.parametrize("name", ["PENSTOCK_XYZZY", "PENSTOCK_FROB", "PENSTOCK_LOUD"])
def test_a_variable_like_none_of_them_has_no_suggestion(name: str) -> None:
    assert describe_unknown_variables({name: ""}) == [f"{name} is no setting."]
