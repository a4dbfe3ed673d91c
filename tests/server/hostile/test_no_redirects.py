"""Paths with a slash too many or too few, and below the path of the public URL."""

from collections.abc import Iterator

import pytest

from tests.server.hostile.raw_connection import Reply, Talk
from tests.support.server_process import RunningServer, running_server

pytestmark = pytest.mark.runs_together("no redirects")

SECRET = "penstock_SECRET"
QUERY = f"?apiKey={SECRET}&c=x&code={SECRET}"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    data_dir = tmp_path_factory.mktemp("redirects") / "data"
    with running_server(
        data_dir,
        ["--no-seed", "--opensubsonic"],
        PENSTOCK_PUBLIC_URL="https://music.example/base",
        PENSTOCK_ALLOWED_HOSTS="music.example,127.0.0.1,localhost",
    ) as server:
        yield server


def ask(server: RunningServer, path: str, method: str = "GET") -> Reply:
    with Talk(server.url) as talk:
        talk.say(f"{method} {path} HTTP/1.1\r\nhost: music.example\r\n\r\n".encode())
        return talk.reply()


@pytest.mark.parametrize("prefix", ["", "/base"])
@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(
    "path", ["/files", "/stream", "/healthz/", "/metrics/", "/schema.graphql/", "/errors/"]
)
def test_no_path_is_mended_by_a_redirect(
    server: RunningServer, prefix: str, method: str, path: str
) -> None:
    answer = ask(server, prefix + path + QUERY, method)
    assert (answer.status, "location" in answer.headers) == (404, False)
    assert SECRET.encode() not in answer.raw


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_call_of_no_name_is_answered_with_and_without_a_slash(
    server: RunningServer, method: str
) -> None:
    for path in ("/rest", "/rest/", "/base/rest", "/base/rest/"):
        answer = ask(server, path + QUERY, method)
        assert (answer.status, answer.headers["cache-control"]) == (404, "no-store")
        assert b"The server does not have this call." in answer.body
        assert SECRET.encode() not in answer.raw
        assert "location" not in answer.headers


@pytest.mark.parametrize("path", ["/graphiql/", "/graphql/", "/base/graphiql/", "/base/graphql/"])
def test_a_browser_is_led_to_the_page_without_the_query(server: RunningServer, path: str) -> None:
    answer = ask(server, path + QUERY)
    assert (answer.status, answer.headers["location"]) == (302, "/base/graphiql")
    assert answer.headers["cache-control"] == "no-store"
    assert SECRET.encode() not in answer.raw


def test_the_path_of_the_public_url_is_taken_away_once(server: RunningServer) -> None:
    assert ask(server, "/healthz").status == 200
    assert ask(server, "/base/healthz").status == 200
    assert ask(server, "/base/graphql", "POST").status == 401
    assert ask(server, "/base/graphiql").status == 200
    for path in ("/healthz", "/metrics", "/graphql", "/graphiql", "/", "/files/a"):
        assert ask(server, f"/base/base{path}").status == 404


SPELLINGS = (
    "/metrics%0a",
    "/%6detrics",
    "/healthz%0A",
    "/schema.graphql%0a",
    "/graphiql%0a",
    "/graphql%0a",
    "/graphq%6c",
    "/errors%0a",
    "/errors/NOT%5fFOUND",
    "/rest%2fping",
    "/rest/ping%0a",
    "/v2/notify%0a",
    "/%63onsole/pipelines",
    "/console/%70ipelines",
    "/console/%61ssets/licences.txt",
    "/console/assets/%6cicences.txt",
    "/console/%2e%2e/healthz",
    "/%66iles/a",
)


@pytest.mark.parametrize("prefix", ["", "/base"])
@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("path", SPELLINGS)
def test_a_path_has_one_spelling(
    server: RunningServer, prefix: str, method: str, path: str
) -> None:
    answer = ask(server, prefix + path, method)
    assert (answer.status, b"There is nothing at this path" in answer.body) == (404, True)


@pytest.mark.parametrize("path", ["/metrics#", "/graphql#x", "/base/healthz#%0a", "/healthz?a#b"])
def test_a_target_has_no_fragment(server: RunningServer, path: str) -> None:
    assert ask(server, path).status == 400
    assert ask(server, path, "POST").status == 400


def test_no_websocket_begins_at_another_spelling(server: RunningServer) -> None:
    fields = "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n"
    fields += "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    fields += "sec-websocket-protocol: graphql-transport-ws\r\n"
    statuses = {}
    for path in ("/graphql", "/graphql%0a", "/%67raphql"):
        with Talk(server.url) as talk:
            talk.say(f"GET {path} HTTP/1.1\r\nhost: music.example\r\n{fields}\r\n".encode())
            statuses[path] = talk.reply().status
    assert statuses == {"/graphql": 101, "/graphql%0a": 403, "/%67raphql": 403}


def test_names_in_a_path_may_have_any_characters(server: RunningServer) -> None:
    assert ask(server, "/console/pipelines/a%20b%2Fc").status == 200
    assert ask(server, "/files/a%20b").status == 403
