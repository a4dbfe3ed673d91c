"""Logs show errors without the values that were read."""

import json
from collections.abc import Callable
from decimal import Decimal
from enum import StrEnum
from http.client import InvalidURL
from subprocess import CalledProcessError

import aiohttp
import duckdb
import httpx
import msgspec
import pytest
import requests
import urllib3
from botocore.exceptions import (
    ClientError,
    CredentialRetrievalError,
    NoCredentialsError,
    ProxyConnectionError,
)

from penstock.datastore.errors import BadArgument
from penstock.datastore.logged_errors import describe_error, format_traceback
from tests.support.stores import NOBODY

ROWS: dict[str, int] = {}
SECRET = "s3cret 'of' \"a\" row"


class Kind(StrEnum):
    ONE = "one"


class Row(msgspec.Struct):
    kind: Kind


def caught(work: Callable[[], object]) -> Exception:
    """Return the error that the work raises."""
    try:
        work()
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


def read_in_database() -> None:
    with duckdb.connect() as database:
        database.execute("SELECT cast(? AS INTEGER)", [SECRET])


QUOTING: list[tuple[Callable[[], object], str]] = [
    (lambda: int(SECRET), "ValueError"),
    (lambda: Kind(SECRET), "ValueError"),
    (lambda: ROWS[SECRET], "KeyError"),
    (lambda: Decimal(SECRET), "InvalidOperation"),
    (lambda: SECRET.encode().decode("utf-16"), "UnicodeDecodeError"),
    (lambda: json.loads(SECRET), "JSONDecodeError"),
    (
        lambda: msgspec.json.decode(json.dumps({"kind": SECRET}), type=Row),
        "ValidationError at $.kind",
    ),
    (read_in_database, "ConversionException"),
]


@pytest.mark.parametrize(("work", "words"), QUOTING, ids=[words for _, words in QUOTING])
def test_the_message_of_an_error_that_quotes_a_value_is_left_out(
    work: Callable[[], object], words: str
) -> None:
    error = caught(work)
    assert describe_error(error) == words
    text = format_traceback(error)
    assert text.endswith(f"\n{words}\n")
    assert "s3cret" not in text


OF_LIBRARIES: list[tuple[Exception, str]] = [
    (httpx.LocalProtocolError(SECRET), "LocalProtocolError"),
    (httpx.InvalidURL(SECRET), "InvalidURL"),
    (aiohttp.ClientError(SECRET), "ClientError"),
    (requests.ConnectionError(SECRET), "ConnectionError"),
    (urllib3.exceptions.HTTPError(SECRET), "HTTPError"),
    (InvalidURL(SECRET), "InvalidURL"),
    (CalledProcessError(1, SECRET), "CalledProcessError"),
    (
        ProxyConnectionError(proxy_url=SECRET),
        'ProxyConnectionError: Failed to connect to proxy URL: "(hidden)"',
    ),
    (
        CredentialRetrievalError(provider="env", error_msg=SECRET),
        "CredentialRetrievalError: Error when retrieving credentials from env: (hidden)",
    ),
    (NoCredentialsError(), "NoCredentialsError: Unable to locate credentials"),
    (
        ClientError({"Error": {"Code": "AccessDenied", "Message": SECRET}}, "GetItem"),
        "ClientError: AccessDenied of GetItem",
    ),
]


@pytest.mark.parametrize(("error", "words"), OF_LIBRARIES, ids=[str(n) for n in range(11)])
def test_the_words_of_a_library_are_left_out(error: Exception, words: str) -> None:
    assert describe_error(error) == words
    assert format_traceback(error) == f"{words}\n"


@pytest.mark.parametrize("get", [httpx.get, requests.get])
def test_an_error_of_a_library_says_what_the_system_said(get: Callable[[str], object]) -> None:
    refusing = f"{NOBODY}/?key=s3cret"
    error = caught(lambda: get(refusing))
    assert describe_error(error) == f"{type(error).__name__}: Connection refused"
    assert "s3cret" not in format_traceback(error)
    unknown = caught(lambda: get("http://s3cret.invalid/"))
    assert describe_error(unknown).startswith(f"{type(unknown).__name__}: ")
    assert "s3cret" not in describe_error(unknown)


def test_an_error_of_python_has_no_words_of_another() -> None:
    def fail() -> None:
        try:
            raise OSError(28, "No space left")
        except OSError:
            int(SECRET)

    assert describe_error(caught(fail)) == "ValueError"


def test_other_messages_are_kept() -> None:
    assert describe_error(BadArgument("'x' is no name")) == "BadArgument: 'x' is no name"
    assert describe_error(OSError(28, "No space left")) == "OSError: [Errno 28] No space left"
    assert describe_error(caught(lambda: None.x)) == (  # type: ignore[attr-defined]
        "AttributeError: 'NoneType' object has no attribute 'x'"
    )


def test_a_traceback_has_the_causes_first_and_every_part_of_a_group() -> None:
    def fail() -> None:
        try:
            int(SECRET)
        except ValueError as error:
            raise RuntimeError("outer") from error

    group = ExceptionGroup("two", [caught(fail), caught(lambda: ROWS[SECRET])])
    lines = [line for line in format_traceback(group).splitlines() if not line.startswith("    ")]
    named = [line for line in lines if "File" not in line and "Traceback" not in line]
    assert named == [
        "ExceptionGroup: two (2 sub-exceptions)",
        "  ValueError",
        "",
        "  RuntimeError: outer",
        "  KeyError",
    ]
    assert "s3cret" not in format_traceback(group)


def test_errors_that_cause_each_other_end() -> None:
    first, second = ValueError("a"), RuntimeError("b")
    first.__cause__, second.__cause__ = second, first
    assert format_traceback(first) == "RuntimeError: b\n\nValueError\n"
