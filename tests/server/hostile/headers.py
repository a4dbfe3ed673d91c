"""Headers, methods and addresses that a proper client does not send."""

from base64 import urlsafe_b64encode

from tests.server.hostile.bodies import GOOD
from tests.server.hostile.hostile_request import ABSENT, Offence

URL = "/graphql?query=%7Bviewer%7BuserId%7D%7D"


def part(text: str) -> str:
    return urlsafe_b64encode(text.encode()).rstrip(b"=").decode()


CLAIMS = part('{"sub":"root","iss":"penstock-dev","aud":"penstock-dev"}')
UNSIGNED = part('{"alg":"none"}') + f".{CLAIMS}."
SYMMETRIC = part('{"alg":"HS256"}') + f".{CLAIMS}.{part('a')}"
NEVER_GIVEN = f"penstock_{'0' * 8}-0000-7000-8000-{'0' * 12}_{'a' * 43}"


def head(name: str, status: int, says: str, *headers: tuple[str, str]) -> Offence:
    return Offence(name=f"headers: {name}", body=GOOD, status=status, says=says, headers=headers)


def with_content_type(content_type: str) -> Offence:
    return head(content_type, 415, "UNSUPPORTED_MEDIA_TYPE", ("content-type", content_type))


def with_authorization(name: str, authorization: str) -> Offence:
    return head(name, 401, "UNAUTHENTICATED", ("authorization", authorization))


def malformed_head(name: str, *headers: tuple[str, str], target: str = "/graphql") -> Offence:
    """Return a head that two programs could read differently; the connection ends."""
    return Offence(
        name=f"headers: {name}",
        target=target,
        body=GOOD,
        status=400,
        says="BAD_REQUEST",
        headers=headers,
        keeps=False,
    )


def too_large(name: str, *headers: tuple[str, str]) -> Offence:
    """Return a head that is refused while it comes, before anybody is known."""
    return Offence(
        name=f"headers: {name}",
        body=GOOD,
        status=431,
        says="PAYLOAD_TOO_LARGE",
        headers=headers,
        keeps=False,
    )


def got(name: str, target: str, status: int, says: str, *headers: tuple[str, str]) -> Offence:
    return Offence(
        name=f"URL: {name}", method="GET", target=target, status=status, says=says, headers=headers
    )


HEADERS = (
    with_content_type(""),
    with_content_type("text/plain"),
    with_content_type("text/plain; a=application/json"),
    with_content_type("application/x-www-form-urlencoded"),
    with_content_type("multipart/form-data; boundary=application/json"),
    with_content_type("application/json, text/plain"),
    with_content_type("application/json; charset=utf-7"),
    with_content_type("application/graphql"),
    head("no type", 415, "UNSUPPORTED_MEDIA_TYPE", ("content-type", ABSENT)),
    head("gzip", 415, "UNSUPPORTED_MEDIA_TYPE", ("content-encoding", "gzip")),
    head("many codings", 415, "UNSUPPORTED", ("content-encoding", "gzip, " * 1_000 + "br")),
    head("HTML is wanted", 406, "NOT_ACCEPTABLE", ("accept", "text/html")),
    head("JSON is not wanted", 406, "NOT_ACCEPTABLE", ("accept", "application/json;q=0")),
    head("no quality", 406, "NOT_ACCEPTABLE", ("accept", "application/json;q=nan")),
    head("90 wishes", 200, "userId", ("accept", "a/b;q=0.1, " * 90 + "*/*")),
    head("100 wishes", 406, "NOT_ACCEPTABLE", ("accept", "a/b;q=0.1, " * 100 + "*/*")),
    head(
        "100 wishes in two fields",
        406,
        "NOT_ACCEPTABLE",
        ("accept", "a/b;q=0.1, " * 50 + "*/*"),
        ("accept", "a/b;q=0.1, " * 50 + "*/*"),
    ),
    head("100 wishes for events", 406, "NOT_ACCEPTABLE", ("accept", "text/event-stream," * 100)),
    head("only commas are accepted", 406, "NOT_ACCEPTABLE", ("accept", "," * 30_000)),
    too_large("40,000 wishes", ("accept", "a/b," * 40_000)),
    too_large("a value of 4 MB", ("x-a", "a" * 4_000_000)),
    too_large("a name of 100,000 letters", ("a" * 100_000, "a")),
    too_large("a hundred and one", *((f"x-{n}", "a") for n in range(101))),
    too_large("100,000 lines", *((f"x-{n}", "") for n in range(100_000))),
    head("a hundred", 200, "userId", *((f"x-{n}", "a") for n in range(94))),
    with_authorization("no proof", ABSENT),
    with_authorization("an empty token", "Bearer "),
    with_authorization("a password", "Basic cm9vdDpyb290"),
    with_authorization("no token", "Bearer null"),
    with_authorization("dots", "Bearer " + "." * 30_000),
    with_authorization("a token that is not signed", f"Bearer {UNSIGNED}"),
    with_authorization("a token signed with a known secret", f"Bearer {SYMMETRIC}"),
    with_authorization("a token of 30,000 letters", "Bearer " + "e" * 30_000 + ".e.e"),
    too_large("a token of 70,000 letters", ("authorization", "Bearer " + "e" * 70_000 + ".e.e")),
    with_authorization("a token in Latin-1", "Bearer \xe9\xff"),
    with_authorization("a key that was never given out", f"Bearer {NEVER_GIVEN}"),
    with_authorization("half a key", "Bearer penstock_"),
    malformed_head("two proofs", ("authorization", "Bearer TOKEN"), ("authorization", "Bearer a")),
    head("another host", 400, "", ("host", "evil.example.org")),
    malformed_head("a host with a path", ("host", "localhost/../evil")),
    malformed_head("a host with two ports", ("host", "127.0.0.1:80:1")),
    malformed_head("another server in the target", target="http://evil.example.org/graphql"),
    head("no host", 400, "", ("host", ABSENT)),
    head(
        "an id to be written into a log", 200, "userId", ("x-request-id", 'a" level=ERROR secret=1')
    ),
    head("a long id", 200, "userId", ("x-request-id", "a" * 30_000)),
    head("an odd trace", 200, "userId", ("traceparent", "00-" + "0" * 32 + "-" + "0" * 16 + "-01")),
    head("a long trace", 200, "userId", ("tracestate", "a=b," * 7_000)),
    too_large("a trace without end", ("tracestate", "a=b," * 20_000)),
    head("tracing", 200, "userId", ("x-apollo-tracing", "1")),
    head("another method", 200, "userId", ("x-http-method-override", "DELETE")),
    head(
        "another address",
        200,
        "userId",
        ("x-original-url", "/metrics"),
        ("x-forwarded-host", "evil.example.org"),
    ),
    head("a continuation", 200, "userId", ("expect", "100-continue")),
    *(
        head(f"Upgrade to {name}", 200, "userId", *headers)
        for name, headers in {
            "HTTP/2": (
                ("connection", "Upgrade, HTTP2-Settings"),
                ("upgrade", "h2c"),
                ("http2-settings", "AAMAAABkAAQCAAAAAAIAAAAA"),
            ),
            "a WebSocket": (("connection", "Upgrade"), ("upgrade", "websocket")),
            "a WebSocket, by capitals": (("Connection", "UPGRADE"), ("Upgrade", "WEBSOCKET")),
            "two things": (("connection", "upgrade"), ("upgrade", "h2c"), ("upgrade", "websocket")),
            "a list": (("connection", "keep-alive,upgrade"), ("upgrade", "websocket, h2c")),
            "a thing nobody knows": (("connection", "upgrade"), ("upgrade", "a/1")),
            "nothing": (("connection", "upgrade"), ("upgrade", "")),
        }.items()
    ),
    head("spaces behind a length", 200, "userId", ("content-length", f"{len(GOOD)} ")),
    head("tabs around a length", 200, "userId", ("content-length", f"\t{len(GOOD)}\t ")),
    head("spaces behind the type", 200, "userId", ("content-type", "application/json  ")),
    head("a space behind the wish", 200, "userId", ("accept", "application/json\t")),
    head("cookies", 200, "userId", ("cookie", "a=b; " * 6_000)),
    too_large("70,000 bytes of cookies", ("cookie", "a=b; " * 14_000)),
    *(
        Offence(
            name=f"method: {method}",
            method=method,
            status=405,
            says="" if method == "HEAD" else "METHOD_NOT_ALLOWED",
        )
        for method in ("HEAD", "PUT", "DELETE", "PATCH", "TRACE", "PROPFIND")
    ),
    Offence(
        name="method: OPTIONS of another site",
        method="OPTIONS",
        headers=(("origin", "https://evil.example.org"), ("access-control-request-method", "POST")),
        status=204,
    ),
)
URLS = (
    got(
        "a mutation",
        '/graphql?query=mutation%7BdeleteGroup(input:%7Bpath:"/usa"%7D)%7B__typename%7D%7D',
        405,
        "METHOD_NOT_ALLOWED",
    ),
    got(
        "a form of another site",
        URL,
        401,
        "UNAUTHENTICATED",
        ("authorization", ABSENT),
        ("cookie", "a=b"),
    ),
    got(
        "a text of another site", URL, 415, "UNSUPPORTED_MEDIA_TYPE", ("content-type", "text/plain")
    ),
    got("nothing", "/graphql", 400, "BAD_REQUEST"),
    got("a query given twice", URL + "&query=%7Bnothing%7D", 400, "BAD_REQUEST"),
    got("a hundred parameters", URL + "&a=b" * 100, 400, "BAD_REQUEST"),
    got("variables that are no JSON", URL + "&variables=%7B", 400, "BAD_REQUEST"),
    got("variables in a list", URL + "&variables=[]", 400, "BAD_REQUEST"),
    got("bad UTF-8", "/graphql?query=%ff%fe", 400, "BAD_REQUEST"),
    got("half a code", "/graphql?query=%7Bviewer%7BuserId%7D%7D%", 200, "GRAPHQL_PARSE_FAILED"),
    got("a zero", "/graphql?query=%00", 200, "GRAPHQL_PARSE_FAILED"),
    got("17,000 letters", "/graphql?query=" + "a" * 17_000, 414, "PAYLOAD_TOO_LARGE"),
    got("30,000 letters", "/graphql?query=" + "a" * 30_000, 414, "PAYLOAD_TOO_LARGE"),
    Offence(
        name="URL: 70,000 letters",
        method="GET",
        target="/graphql?query=" + "a" * 70_000,
        status=431,
        says="PAYLOAD_TOO_LARGE",
        keeps=False,
    ),
    got("the page of events", URL, 200, "userId", ("accept", "text/event-stream;q=0.1, */*")),
    got("a file above", "/graphql/../../../etc/passwd", 404, ""),
    got("a file above, in code", "/%2e%2e/%2e%2e/etc/passwd", 404, ""),
    got("a file above the page", "/graphiql/../../server/settings.py", 404, ""),
    got("a file above the page's files", "/graphiql/assets/..%2f..%2f..%2fpyproject.toml", 404, ""),
    got("a file with a zero", "/graphiql/assets/index.html%00.js", 404, ""),
    got("a file above the console", "/console/assets/..%2f..%2f..%2fpyproject.toml", 404, ""),
    got("settings", "/.env", 404, ""),
    got("the key", "/data/dev-key.json", 404, ""),
    got("an inside", "/debug/vars", 404, ""),
    got("the documents of a framework", "/openapi.json", 404, ""),
    got("the metrics under a name", "/metrics", 400, "", ("host", "evil.example.org")),
    Offence(name="URL: the health, written to", target="/healthz", body=GOOD, status=405, says=""),
)
