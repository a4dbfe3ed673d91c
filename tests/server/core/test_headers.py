"""Indexed header fields behave like Starlette's headers."""

from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers

from penstock.server.core.headers import IndexedHeaders, request_headers

NAMES = st.sampled_from(["accept", "host", "authorization", "x-a", "x-b"])
RAW = st.lists(st.tuples(NAMES, st.text("aä ,;=", max_size=5)))
ASKED = ("accept", "Accept", "HOST", "authorization", "x-a", "X-B", "none", "ä")


@given(RAW)
def test_fields_are_those_of_starlette(raw: list[tuple[str, str]]) -> None:
    scope = {"type": "http", "headers": [(n.encode(), v.encode("latin-1")) for n, v in raw]}
    fields, headers = IndexedHeaders(scope), Headers(scope=scope)
    for name in ASKED:
        assert fields.get(name) == headers.get(name)
        assert fields.get(name, "absent") == headers.get(name, "absent")
        assert fields.getlist(name) == headers.getlist(name)
        assert (name in fields) == (name in headers)
    assert fields.items() == headers.items()
    assert {name: fields[name] for name in fields} == {name: headers[name] for name in headers}


def test_fields_of_a_scope_are_read_once() -> None:
    scope = {"type": "http", "headers": [(b"host", b"a")]}
    assert request_headers(scope) is request_headers(scope)
