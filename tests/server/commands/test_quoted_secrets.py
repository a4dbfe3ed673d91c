"""Commands show no secret that libraries quote, and none that a URL or a token holds."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from penstock.server.command_line import run
from tests.server.commands.doctor_report import examine, isolate
from tests.support.stores import NOBODY, REGION

SECRET: Final = "s3cr3tVALUE"


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
