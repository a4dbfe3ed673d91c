"""Services of others choose neither cookies of the server nor where its requests go."""

from pathlib import Path

import pytest

from penstock.server.core.http_client import (
    MAX_INTERIM,
    AnswerTooLong,
    BoundedReading,
    open_http_client,
)
from tests.server.auth.fake_issuer import open_issuer

SERVER = Path(__file__).parents[3] / "server"
OWN_SERVER = {
    "commands/client/graphql_client.py": "asks the server that its user names",
}


async def test_no_cookie_is_kept_and_no_redirect_followed() -> None:
    async with open_issuer() as service, open_http_client() as client:
        service.jwks_status = 302
        service.jwks_headers = {"set-cookie": "a=b; Path=/", "location": f"{service.url}/elsewhere"}
        for _ in range(2):
            answer = await client.get(f"{service.url}/jwks")
            assert (answer.status_code, answer.headers["set-cookie"]) == (302, "a=b; Path=/")
            assert list(client.cookies.jar) == []
        assert service.requests == ["/jwks", "/jwks"]


async def test_the_bounds_of_one_answer_begin_anew_with_the_next_one() -> None:
    async with open_issuer() as service, open_http_client() as client:
        reading = BoundedReading(1_000)
        interim = b"HTTP/1.1 103 X\r\n\r\n" * MAX_INTERIM
        body = b"HTTP/1.1 200 X\r\ncontent-length: 600\r\n\r\n" + b"a" * 600
        service.jwks_raw = interim + body
        for _ in range(2):
            reading.begin()
            answer = await client.get(f"{service.url}/jwks", extensions=reading.extensions)
            assert len(answer.content) == 600
        service.jwks_raw = interim * 2
        with pytest.raises(AnswerTooLong, match="sent more than 3 answers of status 1xx"):
            await client.get(f"{service.url}/jwks", extensions=reading.extensions)
        reading.begin()
        service.jwks_raw = body.replace(b"600", b"2000") + b"a" * 1_400
        with pytest.raises(AnswerTooLong, match="sent more than 1000 bytes"):
            await client.get(f"{service.url}/jwks", extensions=reading.extensions)


def test_services_of_others_are_asked_by_no_other_client() -> None:
    clients = {
        str(file.relative_to(SERVER))
        for file in SERVER.rglob("*.py")
        if "httpx.AsyncClient(" in file.read_text() or "httpx.Client(" in file.read_text()
    }
    assert clients == {"core/http_client.py", *OWN_SERVER}
