"""Settings: read once, checked together, each with its section in docs/settings.md."""

import re
from pathlib import Path

import pytest
from pydantic import ValidationError
from pydantic_settings import EnvSettingsSource

from penstock.server.settings.docs_page import GROUPS, render_page, settings_of
from penstock.server.settings.invalid_settings import PREFIX, InvalidSettings
from penstock.server.settings.secure_urls import is_secure
from penstock.server.settings.set_variables import SetVariables
from penstock.server.settings.settings import Settings
from penstock.server.settings.unknown_variables import CLIENT_VARIABLES

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def _no_settings_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(f"{PREFIX}{name.upper()}", raising=False)


def problems(**given: object) -> tuple[str, ...]:
    with pytest.raises(InvalidSettings) as raised:
        Settings.load(**given)
    return raised.value.problems


def test_without_anything_set_the_server_is_local_and_embedded() -> None:
    settings = Settings.load()
    assert (settings.host, settings.port) == ("127.0.0.1", 8000)
    assert (settings.store, settings.data_dir) == ("sqlite", Path("data"))
    assert (settings.issuer, settings.seed, settings.serves_graphiql) == (None, True, True)


def test_an_option_wins_over_the_environment_and_that_over_the_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PENSTOCK_PORT", "9000")
    monkeypatch.setenv("PENSTOCK_HOST", "127.0.0.2")
    settings = Settings.load(port=9001, host=None)
    assert (settings.port, settings.host) == (9001, "127.0.0.2")


def test_an_empty_variable_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_PORT", "")
    monkeypatch.setenv("PENSTOCK_ISSUER", "")
    assert (Settings.load().port, Settings.load().issuer) == (8000, None)


def test_every_variable_is_read_as_pydantic_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    # A text in which a setting of another form would be read as JSON.
    given = {name: f"[{n}]" for n, name in enumerate(Settings.model_fields)}
    for name, value in given.items():
        monkeypatch.setenv(f"{PREFIX}{name.upper()}", value)
    assert SetVariables(Settings)() == EnvSettingsSource(Settings)() == given


def test_settings_cannot_be_changed() -> None:
    settings = Settings.load()
    with pytest.raises(ValidationError, match="frozen"):
        settings.port = 1
    assert settings.port == 8000


def test_every_problem_is_reported_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_PORT", "many")
    monkeypatch.setenv("PENSTOCK_ISSUER", "http://issuer.example.org")
    monkeypatch.setenv("PENSTOCK_MAX_DEPTH", "0")
    monkeypatch.setenv("PENSTOCK_STORE", "redis")
    found = problems()
    assert [line.partition(":")[0] for line in found] == [
        "PENSTOCK_MAX_DEPTH",
        "PENSTOCK_PORT",
        "PENSTOCK_STORE",
        "PENSTOCK_ISSUER",
    ]
    assert found[3].endswith(
        "must be an https URL (http only for this machine) (got 'http://issuer.example.org')"
    )


@pytest.mark.parametrize("listed", ["none", "HS256", "RS256,HS512", "rs256", ","])
def test_only_signatures_with_key_pairs_can_be_allowed(
    monkeypatch: pytest.MonkeyPatch, listed: str
) -> None:
    monkeypatch.setenv("PENSTOCK_ALGORITHMS", listed)
    assert problems()[0].startswith("PENSTOCK_ALGORITHMS: ")


def test_lists_are_separated_by_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_ALGORITHMS", "ES256, Ed25519,")
    monkeypatch.setenv("PENSTOCK_ALLOWED_HOSTS", "API.example.org,*.example.net,[::1]")
    monkeypatch.setenv("PENSTOCK_ALLOWED_ORIGINS", "https://App.example.org:8443")
    settings = Settings.load()
    assert settings.algorithms == ("ES256", "Ed25519")
    assert settings.allowed_hosts == ("api.example.org", "*.example.net", "[::1]")
    assert settings.allowed_origins == ("https://app.example.org:8443",)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("allowed_hosts", "https://api.example.org"),
        ("allowed_hosts", "api.example.org:443"),
        ("allowed_hosts", "*example.org"),
        ("allowed_origins", "app.example.org"),
        ("allowed_origins", "https://app.example.org/"),
        ("allowed_origins", "*"),
        ("table", "a b"),
        ("endpoint_url", "localhost:4566"),
        ("clock_skew_seconds", 601),
        ("deadline_seconds", 0),
        ("http_statuses", "2026"),
        ("introspection", "on"),
    ],
)
def test_a_value_that_makes_no_sense_is_named(name: str, value: object) -> None:
    assert problems(**{name: value})[0].startswith(f"PENSTOCK_{name.upper()}: ")


def test_an_issuer_needs_an_audience() -> None:
    assert problems(issuer="https://issuer.example.org") == (
        "PENSTOCK_AUDIENCE: is required with an issuer, or tokens for other services would pass",
    )


def test_the_url_of_keys_needs_an_issuer() -> None:
    (problem,) = problems(jwks_url="https://issuer.example.org/jwks")
    assert problem.startswith("PENSTOCK_JWKS_URL: has no meaning without an issuer")


def test_with_an_issuer_graphiql_is_off_unless_asked_for() -> None:
    identity = {"issuer": "https://issuer.example.org", "audience": "penstock"}
    assert not Settings.load(**identity).serves_graphiql
    assert Settings.load(**identity, graphiql=True).serves_graphiql
    assert not Settings.load(graphiql=False).serves_graphiql


def test_with_an_issuer_the_console_needs_a_client_id_or_a_wish() -> None:
    identity = {"issuer": "https://login.example.org", "audience": "penstock"}
    assert Settings.load().serves_console
    assert not Settings.load(console=False).serves_console
    assert not Settings.load(**identity).serves_console
    assert Settings.load(**identity, console=True).serves_console
    assert Settings.load(**identity, console_client_id="console").serves_console
    assert not Settings.load(**identity, console_client_id="console", console=False).serves_console
    with pytest.raises(InvalidSettings, match="PENSTOCK_CONSOLE_CLIENT_ID: has no meaning"):
        Settings.load(console_client_id="console")


@pytest.mark.parametrize(
    "url",
    [
        "https://a.example",
        "https://a.example:8443/x",
        "http://127.0.0.1:1",
        "http://127.8.8.8",
        "http://[::1]/",
        "http://localhost:9/realm",
    ],
)
def test_tls_or_the_machine_itself_is_secure(url: str) -> None:
    assert is_secure(url)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "a.example",
        "http://a.example",
        "http://0.0.0.0",
        "http://localhost.example",
        "http://127.0.0.1.example",
        "ftp://localhost",
        "https://",
        "https://[::1",
        "https://a.example:port",
        "https://a.example/#x",
        "https://u:p@a.example",
    ],
)
def test_anything_else_is_not(url: str) -> None:
    assert not is_secure(url)


def test_every_setting_has_its_section_in_the_documentation() -> None:
    written = (ROOT / "docs" / "settings.md").read_text()
    headings = re.findall(r"^### (\w+)$", written, re.MULTILINE)
    names = [name for group in GROUPS for name in settings_of(group)]
    assert headings == [f"{PREFIX}{name.upper()}" for name in names]
    assert all(field.description for field in Settings.model_fields.values())
    assert written == render_page(), (
        "run python -m penstock.server.settings.docs_page > docs/settings.md"
    )


@pytest.mark.parametrize("name", ["Dockerfile", "docs/cli.md", "docs/authentication.md"])
def test_only_settings_that_exist_are_mentioned(name: str) -> None:
    mentioned = set(re.findall(r"PENSTOCK_([A-Z][A-Z_]*[A-Z])", (ROOT / name).read_text()))
    assert mentioned
    known = {*Settings.model_fields, *map(str.lower, CLIENT_VARIABLES)}
    assert {setting.lower() for setting in mentioned} <= known


def test_every_setting_is_in_one_group_of_the_page() -> None:
    grouped = [name for group in GROUPS for name in settings_of(group)]
    assert sorted(grouped) == sorted(Settings.model_fields)
