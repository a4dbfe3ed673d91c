"""The report of an import has a code for each reason, and can be read in rows of any age."""

from typing import Any

import pytest

from penstock.datastore.audio.imports.report import (
    REFUSED_MESSAGE,
    UNUSABLE_KEY_MESSAGE,
    describe_failure,
    failure_item,
)
from penstock.datastore.audio.records import ImportFailureCode
from penstock.datastore.audio.track_rules import tag_problems
from penstock.datastore.errors import (
    FieldProblem,
    IllegalState,
    Invalid,
    LimitExceeded,
    NotFound,
    ObjectRefused,
    PenstockError,
    QuotaExceeded,
)
from penstock.datastore.quota_kinds import QuotaKind
from penstock.datastore.store import Store
from penstock.datastore.table.pages import Window
from penstock.datastore.table.port import Put
from tests.datastore.audio.sample_library import draft, listener
from tests.support.sample_resources import on_sqlite

ALL = Window(size=100)
TWO_PROBLEMS = tag_problems(draft("x", "", " ").tags)
CASES: tuple[tuple[str, PenstockError, str], ...] = (
    ("a", Invalid([FieldProblem(["objectKey"], "is empty", "EMPTY")]), "EMPTY"),
    ("a", Invalid([FieldProblem(["objectKey"], "?", "UNKNOWN_FORMAT")]), "UNKNOWN_FORMAT"),
    ("a", Invalid([FieldProblem(["objectKey"], "?", "UNREADABLE")]), "UNREADABLE"),
    ("a", Invalid([FieldProblem(["objectKey"], "is too long")]), "INVALID_KEY"),
    ("a/b", NotFound("There is no such object."), "VANISHED"),
    ("a", Invalid(TWO_PROBLEMS), "INVALID_TAGS"),
    ("a", LimitExceeded("bytes of an item", 1, 2), "LIMIT_EXCEEDED"),
    ("a", QuotaExceeded(QuotaKind.FILES, 1, 1), "QUOTA_EXCEEDED"),
    ("a", ObjectRefused(REFUSED_MESSAGE, "?"), "REFUSED"),
    ("a", IllegalState("?", "?"), "OTHER"),
)


@pytest.mark.parametrize(("key", "error", "code"), CASES)
def test_each_reason_has_a_code_of_its_own(key: str, error: PenstockError, code: str) -> None:
    found = describe_failure(key, error)
    assert (found.object_key, found.code.value, found.message) == (key, code, error.message)


def test_an_object_is_not_called_missing_whose_key_cannot_be_used() -> None:
    failure = describe_failure("a//b", NotFound("There is no such object."))
    assert failure.code is ImportFailureCode.INVALID_KEY
    assert failure.message == UNUSABLE_KEY_MESSAGE


def test_every_code_is_the_reason_of_some_report() -> None:
    seen = {code for *_, code in CASES}
    assert seen | {"MISSING"} == {code.value for code in ImportFailureCode}


@on_sqlite
async def test_a_row_of_an_earlier_version_is_read(store: Store) -> None:
    library = listener(store)
    failure = describe_failure("a", NotFound("gone"))
    row: dict[str, Any] = failure_item(library.reading.access, "job", failure)
    await store.table.write([Put({**row, "code": "BAD_USER_INPUT"})])
    ((_, found),) = (await library.import_reports.page("job", ALL)).entries
    assert (found.object_key, found.code, found.message) == ("a", ImportFailureCode.OTHER, "gone")
