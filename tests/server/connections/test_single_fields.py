"""A head names one host, one caller and one tenant, or is refused."""

import itertools

import pytest

from penstock.server.connections.refusals import MALFORMED, RefusedRequest
from penstock.server.connections.request_head import parse_head

SINGLE = {
    "Host": ("a", "b"),
    "Content-Length": ("0", "0"),
    "Content-Type": ("application/json", "text/plain"),
    "Authorization": ("Bearer a", "Bearer b"),
    "Origin": ("https://a", "https://b"),
    "Fiware-Service": ("a", "b"),
    "Fiware-ServicePath": ("/a", "/b"),
    "NGSILD-Tenant": ("a", "b"),
}


def head(*fields: str, target: str = "/a") -> bytes:
    return "\r\n".join((f"GET {target} HTTP/1.1", *fields, "", "")).encode("latin-1")


def is_refused(raw: bytes) -> bool:
    try:
        parse_head(raw)
    except RefusedRequest as refused:
        return refused.answer == MALFORMED
    return False


@pytest.mark.parametrize("name", SINGLE)
def test_a_field_that_occurs_once_is_refused_twice(name: str) -> None:
    one, other = SINGLE[name]
    host = () if name == "Host" else ("host: a",)
    assert not is_refused(head(*host, f"{name}: {one}"))
    spellings = (name, name.lower(), name.upper())
    for first, second in itertools.product(spellings, repeat=2):
        for value in (one, other):
            assert is_refused(head(*host, f"{first}: {one}", "x: y", f"{second}: {value}"))


def test_a_field_that_may_occur_often_is_handed_on() -> None:
    fields = ("host: a", "accept: a/b", "accept: c/d", "x-host: b", "x: host: b")
    assert parse_head(head(*fields)).raw == head(*fields)


@pytest.mark.parametrize(
    "host",
    ["", "a", "A.example", "a:80", "a:", "a_b:65535", "127.0.0.1:1", "[::1]", "[::1]:8000", "a%20"],
)
def test_a_host_with_or_without_a_port_is_handed_on(host: str) -> None:
    assert not is_refused(head(f"host: {host} "))


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1:43167:1",
        "localhost:99999",
        "localhost:65536",
        "localhost:000080",
        "localhost:-1",
        "localhost:a",
        "localhost/a",
        "localhost?a",
        "localhost#a",
        "localhost\\a",
        "a@localhost",
        "a b",
        "a\tb",
        "\xe4",
        "[::1",
        "::1",
        "[a.example]",
        "[::1]a",
        '"a"',
    ],
)
def test_what_is_no_host_is_refused(host: str) -> None:
    assert is_refused(head(f"host: {host}"))


@pytest.mark.parametrize(
    ("target", "refused"),
    [
        ("http://a:80/b", False),
        ("HTTPS://A:80/b", False),
        ("http://a:80", True),
        ("http://a:80?b", True),
        ("*", False),
        ("http://a/b", True),
        ("http://b:80/b", True),
        ("http://b@a:80/b", True),
        ("http://a:80@b/b", True),
        ("http:/a:80/b", True),
        ("ftp://a:80/b", True),
        ("a:80", True),
        ("b", True),
    ],
)
def test_a_whole_url_names_the_host_of_its_field(target: str, refused: bool) -> None:
    assert is_refused(head("host: a:80", target=target)) is refused
