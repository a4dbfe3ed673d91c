"""Documents are parsed once, also invalid ones; ids name documents where that is allowed."""

from hashlib import sha256
from typing import Any

import msgspec
import pytest
from graphql import DocumentNode, GraphQLError, parse

from penstock.schema.engine import documents as module
from penstock.schema.engine.documents import DocumentCache, PersistedDocuments, PersistedMode
from penstock.schema.engine.engine import GraphQLEngine
from penstock.schema.engine.limits import Limits
from penstock.schema.engine.operations import OperationRequest, RequestRejected
from tests.support.example_schema import FakeContext, shelves_schema

STRAWBERRY = shelves_schema()
HELLO = "{ hello }"
DIGEST = sha256(HELLO.encode()).hexdigest()


def code_of(document: str, limits: Limits | None = None) -> str:
    (error,) = DocumentCache(STRAWBERRY, limits or Limits()).get(document).errors
    code: str = error["extensions"]["code"]
    return code


def apq(digest: str = DIGEST, version: int = 1) -> dict[str, Any]:
    return {"persistedQuery": {"version": version, "sha256Hash": digest}}


def read_rejection(engine: GraphQLEngine, request: OperationRequest) -> tuple[str, str]:
    with pytest.raises(RequestRejected) as caught:
        engine.prepare(request)
    (error,) = caught.value.errors
    return error["extensions"]["code"], error["message"]


def test_a_document_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []

    def count_and_parse(text: str, **_options: int) -> DocumentNode:
        parsed.append(text)
        return parse(text)

    monkeypatch.setattr(module, "parse", count_and_parse)
    documents = DocumentCache(STRAWBERRY, Limits())
    first = documents.get(HELLO)
    assert documents.get("".join(HELLO)) is first
    assert parsed == [HELLO]


def test_a_document_that_can_be_run_keeps_its_digest() -> None:
    documents = DocumentCache(STRAWBERRY, Limits())
    assert documents.get(HELLO).digest == DIGEST
    assert documents.get("{ nothing }").digest is None


@pytest.mark.parametrize("text", ["{ hello", "{ nothing }", "{" + " a: hello" * 31 + "}"])
def test_refusals_are_kept_like_documents(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    documents = DocumentCache(STRAWBERRY, Limits())
    first = documents.get(text)
    monkeypatch.setattr(module, "parse", None)
    assert documents.get(text) is first
    assert first.errors
    assert first.ast is None
    assert first.operations == ()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{ hello", "GRAPHQL_PARSE_FAILED"),
        ("", "GRAPHQL_PARSE_FAILED"),
        ("{ nothing }", "GRAPHQL_VALIDATION_FAILED"),
        ("type A { b: Int }", "GRAPHQL_VALIDATION_FAILED"),
        ("{" + "a{" * 300 + "b" + "}" * 301, "QUERY_TOO_DEEP"),
        ("{" + " hello" * 2_001 + "}", "QUERY_TOO_LARGE"),
        ("#\n" * 201 + HELLO, "QUERY_TOO_LARGE"),
        ("," * 50_001, "QUERY_TOO_LARGE"),
    ],
)
def test_every_refusal_has_its_code(text: str, code: str) -> None:
    assert code_of(text) == code


def test_a_text_over_the_limit_is_neither_parsed_nor_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "parse", None)
    documents = DocumentCache(STRAWBERRY, Limits(source_length=10))
    (error,) = documents.get("{ hello hello }").errors
    assert error["message"] == "The document is longer than 10 characters."
    assert len(documents) == 0


def test_at_most_five_errors_are_answered_and_no_name_is_suggested() -> None:
    document = DocumentCache(STRAWBERRY, Limits()).get(
        "{ hellp sheld shelvez pickd samee numbr notee }"
    )
    assert len(document.errors) == 5
    for error in document.errors:
        assert error["extensions"] == {"code": "GRAPHQL_VALIDATION_FAILED"}
        assert "Did you mean" not in error["message"]


def test_arguments_types_and_inputs_are_not_suggested_either() -> None:
    text = 'query ($a: Notf) { number(valu: 1, value: 1) note(note: {tex: "x", text: "y"}) }'
    errors = DocumentCache(STRAWBERRY, Limits()).get(text).errors
    assert len(errors) >= 3
    assert "Did you mean" not in str(errors)


def test_where_the_schema_is_open_the_first_error_suggests_a_name() -> None:
    documents = DocumentCache(STRAWBERRY, Limits(suggestions=1))
    first, *others = documents.get("{ hellp sheld shelvez }").errors
    assert first["message"] == "Cannot query field 'hellp' on type 'Query'. " + (
        "Did you mean 'hello', 'shelf', or 'sleep'?"
    )
    assert len(others) == 2
    assert "Did you mean" not in str(others)


def test_a_type_is_never_suggested_because_it_is_compared_with_all_others() -> None:
    documents = DocumentCache(STRAWBERRY, Limits(suggestions=1))
    (error,) = documents.get("query ($a: Notf) { hello @include(if: $a) }").errors[:1]
    assert error["message"] == "Unknown type 'Notf'."


def test_values_are_not_repeated() -> None:
    text = '{ number(value: "secret") note(note: {color: "secret"}) }'
    messages = [error["message"] for error in DocumentCache(STRAWBERRY, Limits()).get(text).errors]
    assert messages == [
        "Int cannot represent non-integer value.",
        "Expected value of type 'Note' to include required field 'text'.",
        "Int cannot represent non-integer value.",
    ]


def test_the_least_recently_used_document_goes_first() -> None:
    documents = DocumentCache(STRAWBERRY, Limits(), count=2)
    first = documents.get(HELLO)
    documents.get("{ a: hello }")
    assert documents.get(HELLO) is first
    documents.get("{ b: hello }")
    assert len(documents) == 2
    assert documents.get(HELLO) is first


def test_documents_are_bounded_by_weight_too() -> None:
    documents = DocumentCache(STRAWBERRY, Limits(), count=10, size=20_000)
    first = documents.get("{ a: hello }")
    documents.get("{ b: hello }")
    assert (len(documents), documents.get("{ a: hello }") is first) == (2, True)
    documents.get("{ c: hello }")
    assert (len(documents), documents.get("{ a: hello }") is first) == (3, True)
    documents.get("{ d: hello }" + " " * 10)
    assert (len(documents), documents.get("{ a: hello }") is first) == (2, True)
    huge = documents.get("{ e: hello }" + " " * 60)
    assert (huge.errors, huge is documents.get(huge.text), len(documents)) == ((), False, 2)


def test_a_digest_runs_what_was_once_sent_with_it() -> None:
    engine = GraphQLEngine(STRAWBERRY)
    named = OperationRequest(extensions=apq())
    assert read_rejection(engine, named) == ("PERSISTED_QUERY_NOT_FOUND", "PersistedQueryNotFound")
    sent = engine.prepare(OperationRequest(query=HELLO, extensions=apq()))
    assert engine.prepare(named).document is sent.document
    by_id = engine.prepare(OperationRequest(document_id=f"sha256:{DIGEST}"))
    assert by_id.document is sent.document


def test_a_wrong_digest_registers_nothing() -> None:
    engine = GraphQLEngine(STRAWBERRY)
    wrong = OperationRequest(query="{ a: hello }", extensions=apq())
    assert read_rejection(engine, wrong)[0] == "BAD_REQUEST"
    assert (
        read_rejection(engine, OperationRequest(extensions=apq()))[0] == "PERSISTED_QUERY_NOT_FOUND"
    )


def test_an_invalid_document_is_not_registered() -> None:
    engine = GraphQLEngine(STRAWBERRY)
    digest = sha256(b"{ nothing }").hexdigest()
    request = OperationRequest(query="{ nothing }", extensions=apq(digest))
    assert read_rejection(engine, request)[0] == "GRAPHQL_VALIDATION_FAILED"
    named = OperationRequest(extensions=apq(digest))
    assert read_rejection(engine, named)[0] == "PERSISTED_QUERY_NOT_FOUND"


@pytest.mark.parametrize(
    ("extension", "code"),
    [
        ("text", "PERSISTED_QUERY_NOT_SUPPORTED"),
        ({"version": 2, "sha256Hash": DIGEST}, "PERSISTED_QUERY_NOT_SUPPORTED"),
        ({"version": 1}, "BAD_REQUEST"),
        ({"version": 1, "sha256Hash": DIGEST[:-1]}, "BAD_REQUEST"),
        ({"version": 1, "sha256Hash": ["x"]}, "BAD_REQUEST"),
    ],
)
def test_an_odd_extension_is_refused(extension: object, code: str) -> None:
    request = OperationRequest(query=HELLO, extensions={"persistedQuery": extension})
    assert read_rejection(GraphQLEngine(STRAWBERRY), request)[0] == code


def test_nothing_is_named_where_names_are_off() -> None:
    engine = GraphQLEngine(STRAWBERRY, persisted=PersistedDocuments(PersistedMode.OFF))
    assert engine.prepare(OperationRequest(query=HELLO)).cost == 0
    for request in (
        OperationRequest(extensions=apq()),
        OperationRequest(query=HELLO, extensions=apq()),
        OperationRequest(document_id=DIGEST),
    ):
        assert read_rejection(engine, request) == (
            "PERSISTED_QUERY_NOT_SUPPORTED",
            "PersistedQueryNotSupported",
        )


def test_only_trusted_documents_run_where_there_is_a_list() -> None:
    trusted = PersistedDocuments(
        PersistedMode.TRUSTED, {f"sha256:{DIGEST}": HELLO, "menu": "{ a: hello }"}
    )
    engine = GraphQLEngine(STRAWBERRY, persisted=trusted)
    for request in (
        OperationRequest(document_id="menu"),
        OperationRequest(document_id=DIGEST),
        OperationRequest(document_id=f"sha256:{DIGEST}"),
        OperationRequest(extensions=apq()),
        OperationRequest(query=HELLO),
    ):
        assert engine.prepare(request).cost == 0
    other = sha256(b"{ b: hello }").hexdigest()
    for request in (
        OperationRequest(query="{ b: hello }"),
        OperationRequest(query="{ b: hello }", extensions=apq(other)),
        OperationRequest(document_id="other"),
        OperationRequest(extensions=apq(other)),
    ):
        assert read_rejection(engine, request)[0] == "PERSISTED_QUERY_NOT_FOUND"


@pytest.mark.parametrize("mode", PersistedMode)
def test_the_documents_of_the_server_s_own_page_run_in_every_mode(mode: PersistedMode) -> None:
    engine = GraphQLEngine(STRAWBERRY, persisted=PersistedDocuments(mode, own={DIGEST: HELLO}))
    assert engine.prepare(OperationRequest(document_id=DIGEST)).cost == 0
    other = sha256(b"{ b: hello }").hexdigest()
    with pytest.raises(RequestRejected):
        engine.prepare(OperationRequest(document_id=other))


def test_introspection_is_closed_where_it_is_off() -> None:
    engine = GraphQLEngine(STRAWBERRY)
    schema = OperationRequest(query="{ ...F } fragment F on Query { __schema { types { name } } }")
    with pytest.raises(RequestRejected) as caught:
        engine.prepare(schema, introspection=False)
    assert caught.value.errors[0]["extensions"] == {"code": "INTROSPECTION_DISABLED"}
    assert engine.prepare(schema).cost == 5
    assert engine.prepare(OperationRequest(query="{ __typename }"), introspection=False).cost == 0


def test_a_document_with_errors_is_never_run() -> None:
    engine = GraphQLEngine(STRAWBERRY)
    broken = DocumentCache(STRAWBERRY, Limits()).get("{ nothing }")
    prepared = engine.prepare(OperationRequest(query=HELLO))
    prepared = msgspec.structs.replace(prepared, document=broken)
    with pytest.raises(ValueError, match="cannot be run"):
        engine._executor(prepared, FakeContext())


def test_reaching_inside_strawberry_is_checked() -> None:
    class Other:
        _schema = None

    with pytest.raises(TypeError, match="no longer"):
        module.core_schema(Other())  # type: ignore[arg-type]


def test_refused_errors_are_graphql_errors_with_a_code() -> None:
    with pytest.raises(GraphQLError) as caught:
        PersistedDocuments().find_text("x")
    assert caught.value.extensions == {"code": "PERSISTED_QUERY_NOT_FOUND"}
