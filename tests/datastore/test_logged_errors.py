"""Logs show errors without the values that were read."""

import json
from collections.abc import Callable
from decimal import Decimal
from enum import StrEnum

import duckdb
import msgspec
import pytest

from penstock.datastore.errors import BadArgument
from penstock.datastore.logged_errors import describe_error, format_traceback

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
