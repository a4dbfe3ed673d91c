"""Commands show no secret that libraries quote, and none that a URL or a token holds."""

import json
import logging
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import httpx
import pytest

from penstock.server.command_line import main, run
from penstock.server.commands.client.graphql_client import GraphQLClient
from penstock.server.core.command_output import CommandFailed
from penstock.server.core.http_client import open_http_client
from tests.server.commands.doctor_report import examine, isolate
from tests.support.patience import HUNG_SECONDS
from tests.support.stores import NOBODY, REGION

SECRET: Final = "s3cr3tVALUE"
BAD_PROXY: Final = "The proxy that HTTP_PROXY, HTTPS_PROXY or ALL_PROXY names cannot be used."


@pytest.fixture(autouse=True)
def isolate_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with isolate(tmp_path, monkeypatch):
        yield


async def test_doctor_shows_no_password_of_a_proxy_whose_url_is_malformed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", f"u:{SECRET}@127.0.0.1:9:x")
    for name in ("NO_PROXY", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB"):
        monkeypatch.delenv(name, raising=False)
    report = await examine(capsys, "--store", "dynamodb", "--region", REGION)
    assert report.levels["endpoint"] == "fail"
    assert "HTTPClientError: An HTTP Client raised an unhandled exc" in report["endpoint"]
    assert SECRET not in str(report.data)


async def test_doctor_names_an_endpoint_that_does_not_answer_and_says_why(
    capsys: pytest.CaptureFixture[str],
) -> None:
    report = await examine(
        capsys, "--store", "dynamodb", "--endpoint-url", NOBODY, "--region", REGION
    )
    assert report["endpoint"].startswith(f"{NOBODY}: ")
    assert "Connection refused" in report["endpoint"]


def test_an_unexpected_failure_of_a_library_is_named_without_its_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        int(SECRET)

    monkeypatch.setattr("penstock.server.commands.schema.sdl", fail)
    assert run(["schema"]) == 1
    assert capsys.readouterr().err == "penstock: ValueError (--debug shows where)\n"
    assert run(["schema", "--debug"]) == 1
    said = capsys.readouterr().err
    assert "in fail" in said
    assert SECRET not in said


UNSENDABLE: Final = [f"{SECRET}{odd}other" for odd in ("\n", "\r", " ", "é", "\x01")]
NO_HEADER: Final = "has a character that no token has, such as a space or the end of a line.\n"


@pytest.mark.parametrize("command", [("groups", "list"), ("query", "f"), ("doctor",)])
@pytest.mark.parametrize("token", UNSENDABLE)
def test_a_token_that_no_header_can_carry_is_refused_by_its_place_before_anything_is_sent(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    token: str,
    command: tuple[str, ...],
) -> None:
    (tmp_path / "f").write_text("{ __typename }")
    (tmp_path / "token").write_text(f"{token}\n{token}\n")
    (tmp_path / "token").chmod(0o600)
    fields = json.dumps(token)
    config = tmp_path / "config.toml"
    config.write_text(f'[profiles.a]\ntoken = {fields}\n[profiles.b]\ntoken_file = "token"\n')
    config.chmod(0o600)
    monkeypatch.setenv("PENSTOCK_CONFIG", str(config))
    ask = [*command, "--url", NOBODY]
    if command == ("doctor",):
        given = [("PENSTOCK_TOKEN", {"PENSTOCK_TOKEN": token}, ask)]
    else:
        given = [
            ("--token", {}, [*ask, "--token", token]),
            ("PENSTOCK_TOKEN", {"PENSTOCK_TOKEN": token}, ask),
            (f"profile 'a' in {config}", {}, [*ask, "--profile", "a"]),
            (f"{tmp_path}/token", {}, [*ask, "--profile", "b"]),
        ]
    for place, variables, arguments in given:
        with monkeypatch.context() as changed:
            for name, value in variables.items():
                changed.setenv(name, value)
            assert run(arguments) == 2
        assert capsys.readouterr() == ("", f"penstock: The token of {place} {NO_HEADER}")


@pytest.mark.parametrize(
    ("url", "shown", "code"),
    [
        (
            f"{NOBODY}/?key={SECRET}",
            "9/?(hidden): Connection refused.",
            3,
        ),
        (f"http://me:{SECRET}@127.0.0.1:9", "http://(hidden)@127.0.0.1:9/graphql", 3),
        (f"me:{SECRET}@127.0.0.1", "penstock: (hidden) is not an address", 2),
        (f"ftp://host/?key={SECRET}", "penstock: ftp://host/?(hidden) is not an address", 2),
    ],
)
def test_the_query_and_the_password_of_an_address_are_not_shown(
    capsys: pytest.CaptureFixture[str], url: str, shown: str, code: int
) -> None:
    assert run(["groups", "list", "--url", url, "--token", "t"]) == code
    said = capsys.readouterr()
    assert shown in said.err
    assert SECRET not in f"{said}"
    run(["doctor", "--url", url, "--token", "t"])
    said = capsys.readouterr()
    assert "(hidden)" in f"{said}"
    assert SECRET not in f"{said}"


async def test_an_answer_that_is_no_graphql_shows_no_query() -> None:
    client = GraphQLClient(f"http://server/?key={SECRET}", "token")
    transport = httpx.MockTransport(lambda _request: httpx.Response(405))
    async with client:
        client._graphql_client = httpx.AsyncClient(transport=transport)
        with pytest.raises(CommandFailed) as failed:
            await client.execute("{ __typename }")
    assert str(failed.value).startswith("http://server/?(hidden) answered 405, and not as GraphQL")


SIGNED: Final = [f"https://files/a?X-Amz-Signature={SECRET}", f"https://files/files/{SECRET}"]


@pytest.mark.parametrize("url", SIGNED)
async def test_a_file_that_is_not_sent_or_received_shows_no_signature(
    tmp_path: Path, url: str
) -> None:
    client = GraphQLClient("http://server", "token")
    transport = httpx.MockTransport(lambda _request: httpx.Response(403))
    async with client:
        client._file_client = httpx.AsyncClient(transport=transport)
        with pytest.raises(CommandFailed) as failed:
            await client.download(url, tmp_path / "a")
        assert str(failed.value) == "https://files answered 403."
        (tmp_path / "b").write_text("1")
        form = {"url": url.replace("files", "127.0.0.1:9", 1), "method": "POST"}
        client._file_client = httpx.AsyncClient(timeout=HUNG_SECONDS)
        with pytest.raises(CommandFailed) as failed:
            await client.upload({**form, "fields": [], "headers": []}, tmp_path / "b")
        assert str(failed.value).startswith("Cannot connect to https://127.0.0.1:9: ")


@pytest.mark.parametrize("proxy", [f"http://u:{SECRET}@127.0.0.1:9:x", f"odd://u:{SECRET}@host"])
def test_the_password_of_a_proxy_that_cannot_be_used_is_not_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], proxy: str
) -> None:
    monkeypatch.setenv("HTTP_PROXY", proxy)
    ask = ["--url", "http://10.0.0.1:9", "--token", "t"]
    assert run(["groups", "list", *ask]) == 2
    assert capsys.readouterr().err == f"penstock: {BAD_PROXY}\n"
    assert run(["doctor", *ask]) == 3
    said = capsys.readouterr().out
    assert BAD_PROXY in said
    assert SECRET not in said


def test_a_command_prints_no_value_that_a_library_logs_or_warns_of(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def log_secrets(_tokens: object) -> int:
        logging.getLogger("aiohttp.client").warning(f"a header {SECRET}")
        logging.getLogger("aiohttp.client").warning("a header %s", SECRET)
        warnings.warn(SECRET, stacklevel=1)
        return 0

    # Where nothing configures logging, as in commands, records go to the last resort.
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    monkeypatch.setattr("penstock.server.command_line.run", log_secrets)
    monkeypatch.setattr(sys, "argv", ["penstock", "--version"])
    with warnings.catch_warnings(action="always"), pytest.raises(SystemExit):
        main()
    hidden, filled, warned = capsys.readouterr().err.splitlines()
    assert hidden.startswith("the library reports something; its words may hold secrets (test_")
    assert filled == "a header (hidden)"
    assert warned.startswith("a warning of Python: UserWarning (")


@pytest.mark.parametrize("proxy", [f"http://u:{SECRET}@127.0.0.1:9:x", f"odd://u:{SECRET}@host"])
async def test_a_server_and_doctor_name_a_proxy_that_cannot_be_used_without_its_url(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], proxy: str
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    monkeypatch.setenv("PENSTOCK_ISSUER", "https://issuer.invalid")
    monkeypatch.setenv("PENSTOCK_AUDIENCE", "penstock")
    report = await examine(capsys)
    assert report["issuer"].startswith(f"{BAD_PROXY} Check PENSTOCK_ISSUER")
    assert SECRET not in str(report.data)
    with pytest.raises(CommandFailed) as failed:
        open_http_client()
    assert str(failed.value) == BAD_PROXY
