"""Bodies that are not a GraphQL request, or are too large."""

import gzip
import json

from tests.server.hostile.hostile_request import Offence

GOOD = b'{"query":"{ viewer { userId } }"}'


def bad(name: str, body: bytes, says: str = "BAD_REQUEST", status: int = 400) -> Offence:
    return Offence(name=f"body: {name}", body=body, status=status, says=says)


BODIES = (
    bad("empty", b""),
    bad("a brace", b"{"),
    bad("a number", b"7"),
    bad("null", b"null"),
    bad("a text", b'"{viewer{userId}}"'),
    bad("an empty list", b"[]"),
    bad("a batch of ten", b"[" + b",".join([GOOD] * 10) + b"]", "Batches"),
    bad("brackets without end", b"[" * 900_000),
    bad("objects in objects", b'{"a":' * 5_000 + b"1" + b"}" * 5_000),
    bad("NaN", b'{"query":"{viewer{userId}}","variables":{"a":NaN}}'),
    bad("minus infinity", b'{"query":"{viewer{userId}}","variables":{"a":-Infinity}}'),
    bad("bad UTF-8", b'{"query":"\xff\xfe"}'),
    bad("half a surrogate pair", b'{"query":"\\ud800"}'),
    bad("UTF-16", json.dumps({"query": "{viewer{userId}}"}).encode("utf-16")),
    bad("a byte order mark", b"\xef\xbb\xbf" + GOOD),
    bad("gzip that is not announced", gzip.compress(GOOD, mtime=0)),
    bad("zeros", bytes(100_000)),
    bad("a single quote", b"{'query':'{viewer{userId}}'}"),
    bad("a comment", b"/*" + b"*" * 500_000 + b"*/" + GOOD),
    bad("a query that is null", b'{"query":null}'),
    bad("a query that is a number", b'{"query":1e999999}'),
    bad("a query that is an object", b'{"query":{"$ne":null}}'),
    bad("variables in a list", b'{"query":"{viewer{userId}}","variables":[]}'),
    bad("variables in a text", b'{"query":"{viewer{userId}}","variables":"{}"}'),
    bad("a name that is a list", b'{"query":"{viewer{userId}}","operationName":["a"]}'),
    bad("extensions in a text", b'{"query":"{viewer{userId}}","extensions":"a"}'),
    bad("a query and an id", b'{"query":"{viewer{userId}}","documentId":"a"}'),
    bad("a path for an id", b'{"documentId":"../../etc/passwd"}', "PERSISTED_QUERY", 200),
    bad(
        "an odd digest",
        b'{"extensions":{"persistedQuery":{"sha256Hash":7}}}',
        "PERSISTED_QUERY_NOT_SUPPORTED",
        200,
    ),
    bad(
        "a digest in a list",
        b'{"extensions":{"persistedQuery":["a"]}}',
        "PERSISTED_QUERY_NOT_SUPPORTED",
        200,
    ),
    bad(
        "a digest of another text",
        b'{"query":"{viewer{userId}}","extensions":{"persistedQuery":{"version":1,"sha256Hash":"%b"}}}'
        % (b"a" * 64),
        "code",
        400,
    ),
    bad(
        "an unknown digest",
        b'{"extensions":{"persistedQuery":{"version":1,"sha256Hash":"%b"}}}' % (b"b" * 64),
        "PERSISTED_QUERY_NOT_FOUND",
        200,
    ),
    bad("a key given twice", b'{"query":"{nothing}","query":"{viewer{userId}}"}', "userId", 200),
    bad("spaces", b" " * 900_000 + GOOD, "userId", 200),
    bad("a million keys", b"{" + b'"a":1,' * 160_000 + GOOD[1:], "userId", 200),
    bad(
        "keys that some languages care for",
        b'{"__proto__":{"admin":true},"constructor":{},"__class__":1,' + GOOD[1:],
        "userId",
        200,
    ),
    bad(
        "a number of 900,000 digits",
        b'{"query":"query($a:Int){node(id:$a){id}}","variables":{"a":%b}}' % (b"9" * 900_000),
        "BAD_REQUEST",
    ),
    bad(
        "a name of 900,000 characters",
        b'{"query":"{viewer{userId}}","operationName":"%b"}' % (b"a" * 900_000),
        "OPERATION_RESOLUTION_FAILURE",
        200,
    ),
    Offence(
        name="body: larger than allowed",
        body=b'{"query":"' + b" " * 1_000_000 + b'"}',
        status=413,
        says="PAYLOAD_TOO_LARGE",
        keeps=False,
    ),
    Offence(
        name="body: announced as larger than allowed",
        headers=(("content-length", "999999999999"),),
        status=413,
        says="PAYLOAD_TOO_LARGE",
        keeps=False,
    ),
    Offence(
        name="body: larger than allowed, in chunks",
        headers=(("content-length", "ABSENT"), ("transfer-encoding", "chunked")),
        body=(b"186a0\r\n" + b" " * 100_000 + b"\r\n") * 11 + b"0\r\n\r\n",
        status=413,
        says="PAYLOAD_TOO_LARGE",
        keeps=False,
    ),
    Offence(
        name="body: 50,000 chunks of one byte",
        headers=(("content-length", "ABSENT"), ("transfer-encoding", "chunked")),
        body=b"1\r\n \r\n" * 50_000 + b"%x\r\n%b\r\n0\r\n\r\n" % (len(GOOD), GOOD),
        status=400,
        says="BAD_REQUEST",
        keeps=False,
    ),
    Offence(
        name="body: 900 chunks of one byte",
        headers=(("content-length", "ABSENT"), ("transfer-encoding", "chunked")),
        body=b"1\r\n \r\n" * 900 + b"%x\r\n%b\r\n0\r\n\r\n" % (len(GOOD), GOOD),
        status=200,
        says="userId",
    ),
    Offence(
        name="body: never comes",
        headers=(("content-length", "100"),),
        body=b"{",
        status=408,
        says="TIMEOUT",
        keeps=False,
    ),
)
