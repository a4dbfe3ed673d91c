"""Executes the blocks of a page: a server with fresh sample data, a shell, and a GraphQL client."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx

from tests.pages.page_blocks import ROOT, Step
from tests.pages.shown_answers import AnswerDiffers, Names
from tests.support.patience import HUNG_SECONDS
from tests.support.penstock_command import token_of
from tests.support.server_process import VERIFY_TLS, RunningServer, environment
from tests.support.warm_start import INHERITED, connect_warm_process

PORT = "127.0.0.1:8000"
"""The address of the server on every page."""
NEXT_YEAR = "2027-06-30T00:00:00Z"
"""The end of what ends on a page."""
NO_ENVIRONMENT = ("SHLVL", "_", "PWD", "OLDPWD")

STAND_INS = {"penstock": "until_ready", "aws": "aws_command", "curl": "curl_command"}
"""The modules that stand in for programs."""

FOLLOWED_ELSEWHERE: Mapping[str, str] = {
    "make": "tests/test_packaging.py",
    "time make": "tests/test_packaging.py",
    "git clone": "tests/test_packaging.py",
    "ls -l dist": "tests/test_packaging.py",
    "du": "tests/test_packaging.py",
    "uvx": "tests/test_packaging.py",
    "docker": "tests/test_image.py",
    "aws cloudformation": "tests/deploy",
    "uv pip install": "tests/test_image.py",
    "pip install": "tests/test_image.py",
    "penstock worker --dask": "tests/server/runtime/test_dask_cluster.py",
    "npm": "tests/examples/test_clients.py",
}
"""Commands that need a network, Docker or half a minute, and the tests that follow them."""


class PageRun:
    """The shared state of the blocks of a page: the server, the folder, variables and ids."""

    def __init__(self, server: RunningServer, folder: Path, settings: Mapping[str, str]) -> None:
        self._server = server
        self._folder = folder
        address = server.url.removeprefix("http://")
        self._names = Names({PORT: address, NEXT_YEAR: in_half_a_year()})
        self._environment = {
            **environment(**settings),
            "PATH": f"{_write_programs(folder)}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PENSTOCK_URL": server.url,
            "PENSTOCK_DATA_DIR": str(server.data_dir),
            "HOME": str(folder),
            INHERITED: str(connect_warm_process().fileno()),
        }
        self._at = server.data_dir.parent

    def execute(self, step: Step) -> None:
        """Execute a block and compare its answer, if the page shows one."""
        block = step.block
        if "." in block.purpose:
            (self._at / block.purpose).write_text(self._names.in_this_run(block.text))
        elif block.language == "graphql":
            self._send(step)
        elif block.language == "sh":
            self._run_shell(step)
        elif block.language == "python":
            self._run_python(step)
        else:
            raise AnswerDiffers(f"no rule says how to execute {block.language!r}")

    def _send(self, step: Step) -> None:
        variables = json.loads(self._names.in_this_run(step.variables or "{}"))
        body = {"query": self._names.in_this_run(step.block.text), "variables": variables}
        answer = self._ask(body)
        if step.answer is not None:
            if "extensions" not in json.loads(step.answer):
                answer.pop("extensions", None)
            self._names.compare_json(step.answer, answer)
            return
        roots = [root for root in (answer.get("data") or {}).values() if isinstance(root, dict)]
        if "errors" in answer or any({"code", "problems"} & root.keys() for root in roots):
            raise AnswerDiffers(json.dumps(answer, indent=2))

    def _ask(self, body: Mapping[str, Any]) -> Any:
        headers = {"authorization": f"Bearer {token_of(self._server.data_dir, '/=admin')}"}
        url = f"{self._server.url}/graphql"
        with httpx.Client(headers=headers, timeout=HUNG_SECONDS, verify=VERIFY_TLS) as client:
            if not body["query"].lstrip().startswith("subscription"):
                return client.post(url, json=body).json()
            accept = {"accept": "text/event-stream"}
            with client.stream("POST", url, json=body, headers=accept) as events:
                lines = (line for line in events.iter_lines() if line.startswith("data: {"))
                return json.loads(next(lines).removeprefix("data: "))

    def _run_shell(self, step: Step) -> None:
        commands = split_commands(step.block.text)
        text = "\n".join(line for line in commands if not followed_elsewhere(line))
        state = f"export -p > {self._folder}/environment; pwd > {self._folder}/at"
        script = f"set -aeu\n{self._names.in_this_run(text)}\n{state}\n"
        self._check(self._finish(["bash", "-c", script]), step)
        self._take_over_environment()

    def _run_python(self, step: Step) -> None:
        text = self._names.in_this_run(step.block.text)
        self._check(self._finish([sys.executable, "-c", text]), step)

    def _finish(self, command: list[str]) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            command,
            cwd=self._at,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=HUNG_SECONDS,
            check=False,
            pass_fds=[connect_warm_process().fileno()],
        )

    def _check(self, run: "subprocess.CompletedProcess[str]", step: Step) -> None:
        if run.returncode != 0:
            raise AnswerDiffers(f"exit code {run.returncode}\n{run.stdout}\n{run.stderr}")
        if step.answer is None:
            return
        if step.answer.count("\n{") == 0 and step.answer.startswith(('{"', "{\n")):
            self._names.compare_json(step.answer, json.loads(run.stdout))
        else:
            self._names.compare_text(step.answer, run.stdout)

    def _take_over_environment(self) -> None:
        """Keep variables and the folder of the shell for the next block."""
        script = f". {self._folder}/environment && env -0"
        printed = subprocess.run(["bash", "-c", script], env={}, capture_output=True, check=True)
        pairs = [line.split("=", 1) for line in printed.stdout.decode().split("\0") if line]
        self._environment = {name: text for name, text in pairs if name not in NO_ENVIRONMENT}
        self._at = Path((self._folder / "at").read_text().strip())


def in_half_a_year() -> str:
    return f"{datetime.now(UTC) + timedelta(days=180):%Y-%m-%dT%H:%M:%SZ}"


def split_commands(text: str) -> list[str]:
    """Return the commands of a block, each with its continued lines and its quoted newlines."""
    commands: list[str] = []
    pending = ""
    for line in text.splitlines():
        pending += line + "\n"
        if not line.endswith("\\") and _is_whole(pending):
            commands.append(pending.rstrip("\n"))
            pending = ""
    return [*commands, pending] if pending else commands


def _is_whole(command: str) -> bool:
    try:
        shlex.split(command, comments=True)
    except ValueError:
        return False
    return True


def followed_elsewhere(command: str) -> str | None:
    """Return the beginning of a command that another test follows."""
    found = [start for start in FOLLOWED_ELSEWHERE if f"{command} ".startswith(f"{start} ")]
    return found[0] if found else None


def _write_programs(folder: Path) -> Path:
    """Write the programs that stand in for those of a user, and return their folder."""
    programs = folder / "bin"
    programs.mkdir()
    for name, module in STAND_INS.items():
        program = programs / name
        program.write_text(
            f"#!{sys.executable}\n"
            f"import sys\n"
            f"sys.path.insert(0, {str(ROOT)!r})\n"
            f"from tests.pages.{module} import main\n"
            f"main(sys.argv[1:])\n"
        )
        program.chmod(0o755)
    return programs
