"""The listeners of a server: a busy port fails at once, and all processes serve both ports."""

import socket
from functools import partial
from pathlib import Path

import httpx
import pytest

from penstock.server.command_line import run as run_command
from penstock.server.commands import serve
from penstock.server.core.command_output import CommandFailed
from penstock.server.runtime.child_process import settings_for_process
from penstock.server.runtime.listeners import Listeners
from penstock.server.settings.settings import Settings
from tests.support.patience import HUNG_SECONDS
from tests.support.penstock_command import start_server
from tests.support.server_process import VERIFY_TLS, free_port


def test_a_busy_port_for_administration_frees_the_public_one() -> None:
    port = free_port()
    with socket.create_server(("127.0.0.1", 0)) as busy:
        taken = busy.getsockname()[1]
        with pytest.raises(CommandFailed) as refused:
            Listeners.bind(Settings.load(port=port, admin_port=taken))
    assert str(refused.value) == (
        f"Cannot listen on 127.0.0.1:{taken}: Address already in use. Choose another port: "
        "`--admin-port 8001` or PENSTOCK_ADMIN_PORT=8001."
    )
    with Listeners.bind(Settings.load(port=port)) as listeners:
        assert listeners.admin is None
        assert listeners.sockets == [listeners.public]


def test_worker_processes_know_the_port_that_the_system_chose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[tuple[Settings, Listeners]] = []
    ports: list[int] = []

    def note(run: partial[object]) -> None:
        settings, listeners = run.args
        started.append((settings, listeners))
        ports.append(listeners.public.getsockname()[1])

    monkeypatch.setattr(serve, "run_until_stopped", note)
    assert run_command(["serve", "--port", "0", "--data-dir", str(tmp_path)]) == 0
    ((settings, _),) = started
    assert [settings_for_process(settings)["port"]] == ports
    assert settings.port != 0


def fetch(url: str) -> httpx.Response:
    return httpx.get(url, timeout=HUNG_SECONDS, trust_env=False, verify=VERIFY_TLS)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_health_and_metrics_have_a_port_of_their_own(tmp_path: Path, workers: str) -> None:
    options = ("--port", "0", "--admin-port", "0", "--workers", workers, "--no-seed")
    with start_server(tmp_path / "log", *options, "--data-dir", str(tmp_path / "data")) as server:
        health, ready, metrics = server.said["Admin"].split()
        assert health.removesuffix("/healthz") != server.url
        for url in (health, ready, metrics, f"{server.url}/healthz", f"{server.url}/readyz"):
            assert fetch(url).status_code == 200
        for path in ("/graphql", "/graphiql", "/console/", "/"):
            url = health.replace("/healthz", path)
            assert fetch(url).status_code == 404
        assert server.end() == 0
