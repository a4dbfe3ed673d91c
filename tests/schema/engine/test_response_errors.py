"""Errors in answers carry our codes, and no internals of the server."""

import asyncio
import gc
from weakref import ref

import pytest
import strawberry
from graphql import GraphQLError

from penstock.datastore.errors import RequestRefused, Unavailable
from penstock.schema.core.errors import ErrorReport, report_errors
from penstock.schema.engine.engine import CompiledExecutor, GraphQLEngine
from penstock.schema.engine.limits import Limits
from penstock.schema.engine.operations import OperationRequest
from tests.support.example_schema import FakeContext, shelves_schema

STRAWBERRY = shelves_schema()
REFUSED = "AWS refused a request of the server, whose log says which."


async def test_errors_of_an_answer_name_our_codes_and_nothing_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    engine = GraphQLEngine(STRAWBERRY)
    prepared = engine.prepare(OperationRequest(query="{ crash refuse forbid away tooWide }"))
    answer = await engine.run(prepared, FakeContext(), "req-1")
    assert answer.retry_after == 7
    assert answer.body["data"] == dict.fromkeys(("crash", "refuse", "forbid", "away", "tooWide"))
    masked = {"code": "INTERNAL_SERVER_ERROR", "requestId": "req-1"}
    answered = {
        error["path"][0]: (error["message"], error["extensions"]) for error in answer.body["errors"]
    }
    assert answered == {
        "crash": ("Internal error", masked),
        "refuse": ("`first` is 1 to 100, not 0.", {"code": "BAD_USER_INPUT", "path": ["first"]}),
        "forbid": ("That is not for you.", {"code": "FORBIDDEN"}),
        "away": ("The store did not answer.", {"code": "SERVICE_UNAVAILABLE", "retryAfter": 7}),
        "tooWide": ("Internal error", masked),
    }
    assert [record.exc_info is not None for record in caplog.records] == [True, True]
    assert {record.__dict__["request_id"] for record in caplog.records} == {"req-1"}
    assert "secret of the house" in caplog.text


@pytest.mark.parametrize(
    ("refused", "shown"),
    [
        ("AccessDenied", ("SERVICE_UNAVAILABLE", REFUSED, 10)),
        ("AccessDeniedException", ("SERVICE_UNAVAILABLE", REFUSED, 10)),
        ("301", ("SERVICE_UNAVAILABLE", REFUSED, 10)),
        ("ValidationException", ("INTERNAL_SERVER_ERROR", "Internal error", None)),
    ],
)
def test_what_aws_refuses_can_be_tried_again_unless_the_request_is_malformed(
    refused: str, shown: tuple[str, str, int | None], caplog: pytest.LogCaptureFixture
) -> None:
    cause = RequestRefused("GetObject", refused, "secret words")
    report = report_errors([GraphQLError("", path=["rows"], original_error=cause)], "req-1", 5)
    code, message, wait = shown
    told = {} if wait is None else {"retryAfter": wait}
    extensions = {"code": code, "requestId": "req-1", **told}
    assert report == ErrorReport(
        [{"message": message, "path": ["rows"], "extensions": extensions}], wait
    )
    (record,) = caplog.records
    assert record.exc_info is not None
    assert "secret words" in caplog.text


async def test_more_errors_than_five_are_counted_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    engine = GraphQLEngine(STRAWBERRY)
    fields = " ".join(f"a{n}: refuse" for n in range(8))
    prepared = engine.prepare(OperationRequest(query=f"{{ {fields} }}"))
    answer = await engine.run(prepared, FakeContext(), "req-2")
    assert len(answer.body["errors"]) == 5
    assert len(answer.body["data"]) == 8
    assert "errors left out of an answer: 3" in caplog.text


async def test_a_refused_variable_leaves_no_data_and_no_echo() -> None:
    engine = GraphQLEngine(STRAWBERRY)
    document = "query ($note: Note!) { note(note: $note) }"
    request = OperationRequest(query=document, variables={"note": {"texd": "secret"}})
    answer = await engine.run(engine.prepare(request), FakeContext(), "req-3")
    assert "data" not in answer.body
    assert {error["extensions"]["code"] for error in answer.body["errors"]} == {"BAD_USER_INPUT"}
    assert "secret" not in str(answer.body)
    assert "Did you mean" not in str(answer.body)


async def test_a_null_that_reaches_the_root_keeps_its_data_entry() -> None:
    engine = GraphQLEngine(STRAWBERRY)
    prepared = engine.prepare(OperationRequest(query="{ crashHard }"))
    answer = await engine.run(prepared, FakeContext(), "req-4")
    assert answer.body["data"] is None
    assert answer.body["errors"][0]["path"] == ["crashHard"]


async def test_an_argument_that_proves_wrong_while_running_is_the_callers_fault(
    caplog: pytest.LogCaptureFixture,
) -> None:
    engine = GraphQLEngine(STRAWBERRY)
    literal = "[" * 32 + "$deep" + "]" * 32
    document = f"query ($deep: JSON) {{ hello same(json: {literal}) {{ json }} }}"
    prepared = engine.prepare(OperationRequest(query=document, variables={"deep": [1]}))
    answer = await engine.run(prepared, FakeContext(), "req-5")
    (error,) = answer.body["errors"]
    assert error["extensions"] == {"code": "BAD_USER_INPUT"}
    assert error["message"].endswith("JSON nests at most 32 levels deep.")
    assert error["path"] == ["same"]
    assert caplog.records == []


NOTE = "query ($note: Note!) { note(note: $note) }"


@pytest.mark.parametrize("runs", [0, 1])
async def test_where_the_schema_is_open_a_refused_variable_suggests_a_name_and_repeats_no_value(
    runs: int,
) -> None:
    limits = Limits(suggestions=1)
    executor = CompiledExecutor(STRAWBERRY, limits, interpreted_runs=runs)
    engine = GraphQLEngine(STRAWBERRY, limits=limits, executor=executor)

    async def refuse(document: str, **variables: object) -> list[str]:
        request = OperationRequest(query=document, variables=variables)
        answer = await engine.run(engine.prepare(request), FakeContext(), "req-4")
        return [error["message"] for error in answer.body["errors"]]

    words = "Variable '$note' has invalid value: Expected value of type 'Note' "
    assert await refuse(NOTE, note={"text": "x", "texd": "secret"}) == [
        f"{words}not to include unknown field 'texd'. Did you mean 'text'?"
    ]


class StoredPage:
    """Stands for what a field had read when it failed."""


PAGES: list[ref[StoredPage]] = []


async def read_store(page: StoredPage) -> None:
    await asyncio.sleep(0)
    raise ValueError(f"an answer that cannot be read: {page}")


@strawberry.type
class FailingQuery:
    @strawberry.field
    async def read(self) -> str | None:
        page = StoredPage()
        PAGES.append(ref(page))
        try:
            await read_store(page)
        except ValueError as error:
            raise Unavailable("The store did not answer.") from error
        return ""


async def test_what_a_failed_field_had_read_is_gone_with_its_answer() -> None:
    engine = GraphQLEngine(strawberry.Schema(FailingQuery))
    PAGES.clear()
    gc.collect()
    gc.disable()
    try:
        # The first runs are interpreted, and the later ones compiled.
        for _ in range(4):
            prepared = engine.prepare(OperationRequest(query="{ read again: read }"))
            answer = await engine.run(prepared, FakeContext(), "req-6")
            assert len(answer.body["errors"]) == 2
        del prepared
        assert [one() for one in PAGES] == [None] * 8
    finally:
        gc.enable()
