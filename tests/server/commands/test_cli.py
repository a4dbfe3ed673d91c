"""The command line: help, output in two forms, and exit codes for scripts."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from botocore.exceptions import NoRegionError
from cyclopts import App

from penstock.datastore.errors import NotFound, Unavailable
from penstock.datastore.roles import Role
from penstock.schema import sdl
from penstock.server import command_line
from penstock.server.auth.dev_sessions import redeem_code
from penstock.server.auth.dev_tokens import dev_key
from penstock.server.auth.tokens import open_authenticator
from penstock.server.command_line import app, run
from penstock.server.core.command_output import (
    CommandFailed,
    CommandOutput,
    ExitCode,
    StreamedOutput,
    describe_failure,
)
from penstock.server.settings.invalid_settings import InvalidSettings
from penstock.server.settings.settings import Settings
from tests.server.auth.signed_tokens import bearer
from tests.support.patience import HUNG_SECONDS

ROOT = Path(__file__).parents[3]

REGIONS = "give --region, PENSTOCK_REGION or AWS_REGION."
NEEDED = "and a directory is needed."
TOKEN = ["token", "--user", "ana", "--role", "/USA=admin", "--role", "/emea/de=reader"]


@pytest.fixture(autouse=True)
def _in_a_directory_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in Settings.model_fields:
        monkeypatch.delenv(f"PENSTOCK_{name.upper()}", raising=False)


def files(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.rglob("*"))


@pytest.fixture
def _with_a_key(tmp_path: Path) -> None:
    """A server has started in the default data directory, and in `keys`."""
    for name in ("data", "keys"):
        dev_key(tmp_path / name)


@pytest.mark.usefixtures("_with_a_key")
async def test_a_printed_token_is_accepted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*TOKEN, "--data-dir", str(tmp_path / "keys")]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    async with open_authenticator(Settings.load(data_dir=tmp_path / "keys")) as authenticator:
        caller = await authenticator.caller_of(bearer(printed.out.removesuffix("\n")))
    assert caller.user_id == "ana"
    assert dict(caller.roles) == {"/usa": Role.ADMIN, "/emea/de": Role.READER}
    assert caller.default_group == "/usa"


@pytest.mark.usefixtures("_with_a_key")
@pytest.mark.parametrize("where", [0, 1, len(TOKEN)])
async def test_with_json_the_answer_is_one_object(
    where: int, capsys: pytest.CaptureFixture[str]
) -> None:
    before = datetime.now(UTC)
    more = ["--default-group", "/usa/x", "--ttl", "30m"]
    assert run([*TOKEN[:where], "--json", *TOKEN[where:], *more]) == 0
    data = json.loads(capsys.readouterr().out)
    assert list(data) == ["token", "user", "roles", "defaultGroup", "expiresAt"]
    assert data["roles"] == {"/usa": "admin", "/emea/de": "reader"}
    assert (data["user"], data["defaultGroup"]) == ("ana", "/usa/x")
    expires = datetime.fromisoformat(data["expiresAt"])
    assert before - timedelta(seconds=1) < expires - timedelta(minutes=30) <= datetime.now(UTC)
    async with open_authenticator(Settings.load()) as authenticator:
        caller = await authenticator.caller_of(bearer(data["token"]))
    assert caller.default_group == "/usa/x"


@pytest.mark.usefixtures("_with_a_key")
@pytest.mark.parametrize(
    ("command", "path"), [("graphiql-url", "/graphiql"), ("console-url", "/console/")]
)
def test_a_printed_url_of_a_page_signs_in_once(
    command: str, path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--data-dir", str(tmp_path / "keys")]
    assert run([command, *where]) == 0
    first = capsys.readouterr()
    assert run([command, "--host", "::1", "--port", "8001", "--json", *where]) == 0
    second = json.loads(capsys.readouterr().out)
    start, code = first.out.removesuffix("\n").split("?code=")
    assert (start, first.err) == (f"http://127.0.0.1:8000{path}", "")
    assert list(second) == ["url"]
    assert second["url"].startswith(f"http://[::1]:8001{path}?code=")
    assert redeem_code(tmp_path / "keys", code)
    assert not redeem_code(tmp_path / "keys", code)
    assert redeem_code(tmp_path / "keys", second["url"].partition("=")[2])


@pytest.mark.parametrize("page", ["graphiql", "console"])
@pytest.mark.parametrize(
    "given",
    [
        {"PENSTOCK_HOST": "0.0.0.0"},
        {"PENSTOCK_ISSUER": "https://login.example.org", "PENSTOCK_AUDIENCE": "penstock"},
        {"PENSTOCK_GRAPHIQL": "false", "PENSTOCK_CONSOLE": "false"},
    ],
)
def test_only_a_page_of_a_development_server_has_such_a_url(
    given: dict[str, str],
    page: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert run([f"{page}-url"]) == 2
    assert "signs its page in" in capsys.readouterr().err
    assert files(tmp_path) == []


@pytest.mark.usefixtures("_with_a_key")
@pytest.mark.parametrize(
    ("variables", "options", "start"),
    [
        ({"URL": "http://127.0.0.1:8012"}, [], "http://127.0.0.1:8012/"),
        ({"URL": "http://localhost:8012/graphql"}, [], "http://localhost:8012/"),
        ({"PROFILE": "home"}, [], "http://[::1]:8013/"),
        ({"URL": "http://127.0.0.1:8012"}, ["--port", "8014"], "http://127.0.0.1:8014/"),
        ({"URL": "https://away.example.org"}, ["--port", "8014"], "http://127.0.0.1:8014/"),
        ({"URL": "http://127.0.0.1:8012", "PUBLIC_URL": "https://proxy"}, [], "https://proxy/"),
    ],
)
def test_the_server_of_a_page_is_that_of_clients_unless_it_is_named(
    variables: dict[str, str],
    options: list[str],
    start: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "config.toml").write_text('[profiles.home]\nurl = "http://[::1]:8013"\n')
    for name, value in {"CONFIG": str(tmp_path / "config.toml"), **variables}.items():
        monkeypatch.setenv(f"PENSTOCK_{name}", value)
    assert run(["console-url", *options]) == 0
    assert capsys.readouterr().out.startswith(f"{start}console/?code=")


@pytest.mark.usefixtures("_with_a_key")
@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("", "PENSTOCK_URL is empty."),
        (
            "https://away.example.org",
            "https://away.example.org is not on a loopback address: name the server by --host and "
            "--port.",
        ),
    ],
)
def test_a_page_of_a_server_elsewhere_gets_no_code(
    url: str,
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PENSTOCK_URL", url)
    assert run(["graphiql-url"]) == 2
    assert capsys.readouterr() == ("", f"penstock: {words}\n")
    assert files(tmp_path) == ["data", "dev-key.json", "dev-key.json", "keys"]


@pytest.mark.parametrize("command", [TOKEN, ["console-url"], ["graphiql-url"]])
def test_no_key_is_made_where_no_server_has_started(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*command, "--data-dir", str(tmp_path / "none")]) == 2
    assert capsys.readouterr() == (
        "",
        f"penstock: {tmp_path}/none has no key of a server: start the server there, or name its "
        "data directory by --data-dir.\n",
    )
    assert files(tmp_path) == []


def test_the_data_directory_comes_from_the_environment_unless_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PENSTOCK_DATA_DIR", str(tmp_path / "env"))
    assert run(TOKEN) == 2
    assert f"{tmp_path}/env has no key" in capsys.readouterr().err
    dev_key(tmp_path / "flag")
    assert run([*TOKEN, "--data-dir", str(tmp_path / "flag")]) == 0


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--role", "/x=owner"], "'owner' is not one of the roles reader, contributor, admin."),
        (["--role", "x=admin"], "The group path 'x' does not start with '/'."),
        (["--role", "/usa=reader"], "The group '/usa' is given two roles."),
        (["--role", "/usa"], "The role '/usa' is not of the form GROUP=ROLE."),
        (
            ["--default-group", "/asia"],
            "The default group '/asia' is covered by none of the roles.",
        ),
        (["--user", ""], "The user id must not be empty."),
        (["--ttl", "0h"], "--ttl 0h: must be like 12h, from 1s to 366d."),
        (["--ttl", "367d"], "--ttl 367d: must be like 12h, from 1s to 366d."),
        (["--ttl", "5"], "--ttl 5: must be like 12h, from 1s to 366d."),
        (["--ttl", "999999999d"], "--ttl 999999999d: must be like 12h, from 1s to 366d."),
    ],
)
def test_what_makes_no_sense_is_said_in_one_line_and_no_key_is_made(
    more: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["token", *more] if "--user" in more else [*TOKEN, *more]
    assert run(command if "--role" in command else [*command, "--role", "/=admin"]) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", f"penstock: {words}\n")
    assert files(tmp_path) == []


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (
            ["tokn"],
            'Unknown command "tokn". Did you mean "token"? `penstock --help` lists the commands.',
        ),
        (["help"], 'Unknown command "help". `penstock --help` lists the commands.'),
        (["tags", "lst"], 'Unknown command "lst". Did you mean "list"? Available commands: list.'),
        (["token"], "--user is required. `penstock token --help` explains the command."),
        (["token", "--user", "ana"], "--role is required."),
        (["token", "--role", "/=admin", "--user"], "--user requires an argument."),
        (["run"], "PIPELINE is required. `penstock run --help` explains the command."),
        (["tags", "list", "--below", "x", "--nothing"], "`penstock tags list --help` lists"),
        ([*TOKEN, "stray"], "stray"),
        (
            [*TOKEN, "--nothing"],
            "Unknown option: --nothing. `penstock token --help` lists the options.",
        ),
        ([*TOKEN, "--tll", "1h"], "Unknown option: --tll. Did you mean --ttl?"),
        ([*TOKEN, "--json=banana"], "banana"),
    ],
)
def test_a_command_line_that_cannot_be_read_ends_with_2(
    command: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(command) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("penstock: ")
    assert printed.err.count("\n") == 1
    assert words in printed.err
    assert files(tmp_path) == []


def test_with_json_a_failure_is_an_object_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PENSTOCK_PORT", "many")
    monkeypatch.setenv("PENSTOCK_MAX_COST", "-1")
    assert run([*TOKEN, "--json"]) == 2
    printed = capsys.readouterr()
    error = json.loads(printed.err)["error"]
    assert (printed.out, error["exitCode"]) == ("", 2)
    assert [line.partition(":")[0] for line in error["messages"]] == [
        "PENSTOCK_MAX_COST",
        "PENSTOCK_PORT",
    ]


def test_with_an_issuer_no_development_token_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PENSTOCK_ISSUER", "https://issuer.example.org")
    monkeypatch.setenv("PENSTOCK_AUDIENCE", "penstock")
    assert run(TOKEN) == 2
    assert "accepts that issuer's tokens only" in capsys.readouterr().err
    assert files(tmp_path) == []


def test_a_key_file_of_another_kind_ends_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "dev-key.json").write_text("{}")
    assert run([*TOKEN, "--data-dir", str(tmp_path)]) == 1
    assert capsys.readouterr().err.endswith("; remove it and one will be made.\n")


def test_the_schema_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema"]) == 0
    assert capsys.readouterr().out == sdl()
    assert run(["schema", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"sdl": sdl()}


def fail_unforeseen() -> str:
    raise RuntimeError("something\nunforeseen")


def test_an_unforeseen_failure_shows_no_traceback_unless_asked_to(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("penstock.server.commands.schema.sdl", fail_unforeseen)
    line = "penstock: RuntimeError: something unforeseen (--debug shows where)\n"
    assert run(["schema"]) == 1
    assert capsys.readouterr().err == line
    assert run(["schema", "--debug"]) == 1
    shown = capsys.readouterr().err
    assert shown.startswith("Traceback")
    assert shown.endswith(line)
    monkeypatch.setenv("PENSTOCK_DEBUG", "true")
    assert run(["schema"]) == 1
    assert capsys.readouterr().err.startswith("Traceback")
    monkeypatch.setenv("PENSTOCK_PORT", "many")
    assert run(["schema"]) == 1
    assert capsys.readouterr().err == line


@pytest.mark.parametrize(
    ("error", "code", "lines"),
    [
        (Unavailable("The store did not answer."), 3, ("The store did not answer.",)),
        (NotFound("There is no such group."), 1, ("There is no such group.",)),
        (CommandFailed("No TTL.", "No index.", code=ExitCode.STORE), 3, ("No TTL.", "No index.")),
        (InvalidSettings(("PENSTOCK_PORT: too big",)), 2, ("PENSTOCK_PORT: too big",)),
        (NoRegionError(), 2, (f"No AWS region is set: {REGIONS}",)),
        (FileNotFoundError(2, "No such file", "/nope/x"), 1, ("/nope/x: No such file.",)),
        (FileExistsError(17, "File exists", __file__), 1, (f"{__file__} is a file, {NEEDED}",)),
        (
            NotADirectoryError(20, "Not a directory", f"{__file__}/x"),
            1,
            (f"{__file__} is a file, {NEEDED}",),
        ),
    ],
)
def test_every_foreseen_failure_has_its_exit_code(
    error: Exception, code: int, lines: tuple[str, ...]
) -> None:
    failure = describe_failure(error)
    assert (failure.code, tuple(failure.lines), failure.expected) == (code, lines, True)


def commands() -> list[str]:
    return [name for name in app if not name.startswith("-")]


def test_help_names_every_command_and_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(f" {name} " in text for name in commands())
    assert "--json" in text
    assert "Exit codes: 0 done, 1 failed, 2 " in text
    assert run([]) == 0
    assert capsys.readouterr().out == text


OUTSIDE = re.compile(r"[^╭│╰\s]|\s+[^╭│╰\s]")
CONTINUED = re.compile(r"│ {5,}\S")
"""A line of a frame below the one with the name."""


def paths_of(command: App, *path: str) -> Iterator[tuple[str, ...]]:
    """Yield the words of a command, and those of the commands below it."""
    yield path
    for name in command:
        if not name.startswith("-"):
            yield from paths_of(command[name], *path, name)


def lines_that_end_early(text: str) -> list[str]:
    """Return the lines that have room for the next word, in 80 columns and in frames of that."""
    return [
        line
        for line, below in pairwise(text.splitlines())
        if (CONTINUED if line.startswith("│") else OUTSIDE).match(below)
        and OUTSIDE.match(line.lstrip("│"))
        and len(line.rstrip(" │")) + 1 + len(below.strip(" │").split()[0])
        <= (78 if line.startswith("│") else 80)
    ]


@pytest.mark.parametrize("command", commands())
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    for path in paths_of(app[command], command):
        assert run([*path, "--help"]) == 0
        text = capsys.readouterr().out
        assert lines_that_end_early(text) == []
        words = " ".join(text.replace("│", " ").split())
        assert words.startswith(f"Usage: penstock {' '.join(path)}")
        assert "--json" in words
        assert "--debug" in words
        assert re.findall("╭─ (.+?) ─", text)[-1] == "Options of every command"
        assert re.findall(r"\* ([A-Z]+) \[required\]", words) == []  # each says what it is
        # What may be left out has its name, and no default that says nothing.
        optional = re.findall(r"\[([A-Z]+)(?:\.\.\.)?\]", text.partition("╭")[0])
        assert [one for one in optional if one != "OPTIONS" and f" {one} " not in words] == []
        assert re.findall(r"\[default: (?:False|None|\(\))\]", words) == []


def test_a_hyphen_behind_output_is_standard_output() -> None:
    _, bound, _ = app.parse_args(["run", "a-pipeline", "rows.csv", "--output", "-"])
    assert bound.arguments["result"].output == Path("-")


def test_the_documentation_has_a_section_for_every_command_and_exit_code() -> None:
    written = (ROOT / "docs" / "cli.md").read_text()
    assert [name for name in commands() if f"\n## penstock {name}\n" not in written] == []
    assert [int(code) for code in ExitCode if f"\n| {int(code)} |" not in written] == []


def penstock(*command: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", "penstock", *command],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_the_module_runs_as_a_program_and_ends_with_the_exit_code() -> None:
    program = penstock("token")
    out, err = program.communicate(timeout=HUNG_SECONDS)
    assert (program.returncode, out) == (2, b"")
    assert err.startswith(b"penstock: ")


@pytest.mark.usefixtures("_with_a_key")
def test_a_reader_that_stops_reading_is_no_failure(tmp_path: Path) -> None:
    with penstock(*TOKEN, "--data-dir", str(tmp_path / "keys")) as program:
        assert program.stdout is not None
        assert program.stderr is not None
        program.stdout.close()
        assert program.stderr.read() == b""
        assert program.wait(timeout=HUNG_SECONDS) == 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_learns_to_complete_every_command(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert all(command in script for command in ("pipelines", "sample-rows", "--max-failed-rows"))


def test_zsh_finds_its_script_by_the_name_that_the_docs_say(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["completion", "zsh"]) == 0
    defined = re.findall(r"^(\w+)\(\) \{$", capsys.readouterr().out, re.MULTILINE)
    assert (
        f"completion zsh > ~/.zsh/completions/{defined[-1]}\n"
        in (ROOT / "docs" / "cli.md").read_text()
    )


def test_bash_can_read_what_completes_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    checked = subprocess.run(["bash", "-n"], input=script, text=True, check=False)
    assert checked.returncode == 0


def test_a_bad_option_is_blamed_and_not_its_variable(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["serve", "--port", "99999"]) == 2
    problem = "input should be less than or equal to 65535 (got '99999')"
    assert capsys.readouterr().err == f"penstock: --port: {problem}\n"
    assert run(["table", "verify", "--table", "x"]) == 2
    assert capsys.readouterr().err.startswith("penstock: --table: ")


def test_a_bad_variable_is_blamed_itself(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_PORT", "99999")
    assert run(["serve", "--host", "127.0.0.1"]) == 2
    assert capsys.readouterr().err.startswith("penstock: PENSTOCK_PORT: ")


def test_help_loads_neither_settings_nor_the_parts_of_a_server() -> None:
    program = (
        "import sys\n"
        "from penstock.server.command_line import run\n"
        "run(['--help'])\n"
        "heavy = ('pydantic', 'strawberry', 'starlette', 'botocore', 'httpx')\n"
        "heavy += ('rich.markdown', 'rich.progress')\n"
        "sys.stderr.write(' '.join(name for name in heavy if name in sys.modules))\n"
    )
    command = [sys.executable, "-c", program]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "sample-rows" in ended.stdout


def test_a_client_with_a_token_loads_nothing_that_signs_one() -> None:
    program = (
        "import sys\n"
        "from penstock.server.command_line import run\n"
        "run(['groups', 'list', '--token', 't', '--url', 'nonsense'])\n"
        "print(' '.join(name for name in ('joserfc', 'cryptography') if name in sys.modules))\n"
    )
    command = [sys.executable, "-c", program]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, "\n")
    assert ended.stderr.startswith("penstock: nonsense is not an address")


def test_a_token_is_signed_without_what_fetches_keys() -> None:
    program = (
        "import sys\n"
        "import penstock.server.commands.token\n"
        "print(' '.join(name for name in ('httpx', 'structlog') if name in sys.modules))\n"
    )
    command = [sys.executable, "-c", program]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "\n", "")


def test_what_a_command_prints_commands_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = CommandOutput("no run: a\x1b]0;x\x07\x9b2J/\n\tb\u202e\u2066\u2028\u061c\u05d0", {})
    monkeypatch.setattr(command_line, "app", lambda _: found)
    assert command_line.launch("manifest") is ExitCode.OK
    assert capsys.readouterr().out == "no run: a?]0;x??2J/\n\tb????\u05d0\n"

    data = {"name": "a\x9b2J\u202e\u2028b\n\u05d0"}
    for both in (CommandOutput("", data), StreamedOutput([], "entries", [data])):
        monkeypatch.setattr(command_line, "app", lambda _, both=both: both)
        assert command_line.launch("manifest", json=True) is ExitCode.OK
        printed = capsys.readouterr().out
        assert '{"name": "a\\u009b2J\\u202e\\u2028b\\n\u05d0"}' in printed
        assert json.loads(printed) in (data, {"entries": [data]})

    def fail(_: object) -> None:
        raise CommandFailed("There is no a\x1b[2J.")

    monkeypatch.setattr(command_line, "app", fail)
    assert command_line.launch("manifest") is ExitCode.FAILED
    assert capsys.readouterr().err == "penstock: There is no a?[2J.\n"
