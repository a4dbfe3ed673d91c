"""The tour of the README: its commands print what it shows, on the sample data of a first start."""

import itertools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.server.command_line import run
from tests.support.penstock_command import Server, start_server

README = (Path(__file__).parents[1] / "README.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
SHOWN = [
    (commands, answer)
    for (form, commands), (next_form, answer) in itertools.pairwise(BLOCKS)
    if form == "sh" and next_form == "" and commands.startswith("penstock ")
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("first start")
    with start_server(folder / "log", "--port", "0", "--data-dir", str(folder / "data")) as server:
        yield server


def test_the_tour_has_three_steps() -> None:
    assert [commands.split()[1] for commands, _ in SHOWN] == ["pipelines", "sample-rows", "explain"]


@pytest.mark.parametrize(("commands", "answer"), SHOWN)
def test_a_step_of_the_tour_prints_what_the_readme_shows(
    commands: str,
    answer: str,
    server: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PENSTOCK_URL", server.url)
    monkeypatch.setenv("PENSTOCK_DATA_DIR", str(Path(server.said["Data"]).parent))
    monkeypatch.setenv("PENSTOCK_CONFIG", str(tmp_path / "none.toml"))
    for line in commands.splitlines():
        command, _, target = line.partition(" > ")
        assert run(shlex.split(command)[1:]) == 0
        printed = capsys.readouterr().out
        if target:
            (tmp_path / target).write_text(printed)
    assert printed == answer
