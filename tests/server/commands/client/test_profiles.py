"""The configuration file of clients: the chosen profile, and files that do not do."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from penstock.server.auth.dev_tokens import dev_key
from penstock.server.commands.client.profiles import Profile, config_path, read_profile
from penstock.server.commands.client.server_options import ServerOptions
from penstock.server.core.command_output import CommandFailed

DOCUMENT = """
profile = "work"

[profiles.work]
url = "https://penstock.example.org"
token = "secret"
group = "/usa"

[profiles.home]
url = "http://127.0.0.1:8001"
token_file = "home-token"
"""


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    path = tmp_path / "config.toml"
    path.write_text(DOCUMENT)
    path.chmod(0o600)
    token = tmp_path / "home-token"
    token.write_text("t\n")
    token.chmod(0o600)
    return {"PENSTOCK_CONFIG": str(path)}


def test_the_profile_is_that_of_the_option_then_the_variable_then_the_file(
    variables: dict[str, str],
) -> None:
    work = Profile("https://penstock.example.org", "secret", "/usa")
    home = Profile("http://127.0.0.1:8001", "t", None)
    assert read_profile(None, variables) == work
    assert read_profile(None, variables | {"PENSTOCK_PROFILE": "home"}) == home
    assert read_profile("work", variables | {"PENSTOCK_PROFILE": "home"}) == work


def test_without_a_file_there_is_an_empty_profile(tmp_path: Path) -> None:
    assert read_profile(None, {"PENSTOCK_CONFIG": str(tmp_path / "none.toml")}) == Profile()


def test_the_file_lies_in_the_users_folder_of_configuration() -> None:
    assert config_path({"XDG_CONFIG_HOME": "/etc/x"}) == Path("/etc/x/penstock/config.toml")
    assert config_path({}) == Path.home() / ".config" / "penstock" / "config.toml"


def test_a_profile_is_refused_where_there_is_no_file(tmp_path: Path) -> None:
    path = tmp_path / "none.toml"
    with pytest.raises(CommandFailed) as refused:
        read_profile("work", {"PENSTOCK_CONFIG": str(path)})
    assert str(refused.value) == f"The profile 'work' is chosen, but there is no file {path}."


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ("profile = ", "is not TOML"),
        ('profile = "x"', "has no profile 'x'; it has none."),
        ('profile = "x"\n[profiles.y]\nurl = "u"', "has no profile 'x'; it has y."),
        ('profile = "x"\n[profiles.x]\nuri = "u"', "profile 'x' has no field 'uri'"),
        ('profile = "x"\n[profiles.x]\nurl = 1', "url of profile 'x' must be a text."),
        ('profile = "x"\n[profiles.x]\ntoken_file = "none"', "Cannot read the token in"),
    ],
)
def test_a_file_that_does_not_do_is_refused_in_a_sentence(
    document: str, problem: str, variables: dict[str, str]
) -> None:
    Path(variables["PENSTOCK_CONFIG"]).write_text(document)
    with pytest.raises(CommandFailed) as refused:
        read_profile(None, variables)
    assert problem in str(refused.value)


@pytest.mark.parametrize(("name", "profile"), [("config.toml", "work"), ("home-token", "home")])
def test_a_token_that_others_can_read_is_refused(
    name: str, profile: str, variables: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / name).chmod(0o640)
    with pytest.raises(CommandFailed, match="run `chmod 600"):
        read_profile(profile, variables)


def test_an_option_wins_over_its_variable_and_that_over_the_profile(
    variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in variables.items():
        monkeypatch.setenv(name, text)
    assert ServerOptions().read_profile() == read_profile(None, variables)
    monkeypatch.setenv("PENSTOCK_URL", "http://variable:1")
    monkeypatch.setenv("PENSTOCK_TOKEN", "variable")
    found = ServerOptions(token="option").read_profile()
    assert found == Profile("http://variable:1", "option", "/usa")


def test_a_client_makes_no_key_where_no_server_has_run(tmp_path: Path) -> None:
    elsewhere = tmp_path / "data"
    with pytest.raises(CommandFailed) as failed:
        ServerOptions(data_dir=elsewhere).read_profile()
    assert failed.value.code == 2
    assert str(failed.value).startswith(f"{elsewhere} has no key of a server: ")
    assert not elsewhere.exists()


@pytest.mark.parametrize("name", ["url", "token", "profile"])
@pytest.mark.parametrize("value", ["", " "])
def test_an_empty_option_or_variable_is_refused(
    name: str, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_CONFIG", str(tmp_path / "none.toml"))
    dev_key(tmp_path)
    server = ServerOptions(data_dir=tmp_path)
    typed: dict[str, Any] = {name: value}
    given = {"url": "http://127.0.0.1:9", "token": "t"} | typed
    for options, said in (
        (replace(server, **typed), f"--{name} is empty."),
        (server, f"PENSTOCK_{name.upper()} is empty."),
    ):
        with pytest.raises(CommandFailed) as refused:
            options.read_profile()
        assert (str(refused.value), refused.value.code) == (said, 2)
        for each in given:
            monkeypatch.setenv(f"PENSTOCK_{each.upper()}", given[each])


def test_an_option_is_taken_though_its_variable_is_empty(
    variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("URL", "TOKEN", "PROFILE"):
        monkeypatch.setenv(f"PENSTOCK_{name}", "")
    monkeypatch.setenv("PENSTOCK_CONFIG", variables["PENSTOCK_CONFIG"])
    found = ServerOptions(url="http://option:1", token="option", profile="work").read_profile()
    assert found == Profile("http://option:1", "option", "/usa")


def test_an_empty_token_of_a_profile_is_refused(variables: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "home-token").write_text("\n")
    with pytest.raises(CommandFailed, match=r"^The token in .*/home-token is empty\.$"):
        read_profile("home", variables)
