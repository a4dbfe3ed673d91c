"""The issuer's keys, against an issuer served on a loopback port."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from structlog.testing import capture_logs

from penstock.datastore.errors import NotAuthenticated, Unavailable
from penstock.datastore.roles import ROOT, Role
from penstock.server.auth.dev_tokens import DEV_ISSUER, DEV_TOKEN_LIFETIME, dev_key, sign_dev_token
from penstock.server.auth.jwks import (
    MAX_BYTES,
    MAX_NETWORK_BYTES,
    MAX_PIECES,
    FetchFailed,
    JsonDocument,
    Jwks,
    fetch_json,
)
from penstock.server.auth.tokens import TokenAuthenticator, TokenRules, open_authenticator
from penstock.server.settings.settings import Settings
from tests.server.auth.fake_issuer import DISCOVERY, Issuer, open_issuer
from tests.server.auth.signed_tokens import AUDIENCE, bearer, claims, ec_key, sign_claims
from tests.support.patience import HUNG_SECONDS, until
from tests.support.server_process import VERIFY_TLS


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
async def issuer() -> AsyncIterator[Issuer]:
    async with open_issuer() as issuer:
        yield issuer


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(timeout=HUNG_SECONDS, verify=VERIFY_TLS) as client:
        yield client


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def jwks(issuer: Issuer, http: httpx.AsyncClient, clock: Clock) -> Jwks:
    return Jwks(http, issuer.url, clock=clock)


async def test_keys_are_found_through_the_issuers_configuration(issuer: Issuer, jwks: Jwks) -> None:
    issuer.keys = [ec_key("one"), ec_key("two")]
    assert issuer.requests == []
    found = await jwks.find("two", "ES256")
    assert found is not None
    assert found.thumbprint() == issuer.keys[1].thumbprint()
    assert issuer.requests == [DISCOVERY, "/jwks"]


async def test_a_known_url_of_keys_makes_the_configuration_needless(
    issuer: Issuer, http: httpx.AsyncClient
) -> None:
    issuer.keys = [ec_key("one")]
    assert await Jwks(http, issuer.url, f"{issuer.url}/jwks").find("one", "ES256") is not None
    assert issuer.requests == ["/jwks"]


async def test_a_rotated_key_is_fetched_when_a_token_names_it(
    issuer: Issuer, jwks: Jwks, clock: Clock
) -> None:
    issuer.keys = [ec_key("old")]
    assert await jwks.find("old", "ES256") is not None
    issuer.keys = [ec_key("new")]
    clock.now += 60
    assert await jwks.find("new", "ES256") is not None
    assert await jwks.find("old", "ES256") is None
    assert issuer.fetches == 2


async def test_unknown_keys_are_asked_for_at_most_once_a_minute(
    issuer: Issuer, jwks: Jwks, clock: Clock
) -> None:
    issuer.keys = [ec_key("one")]
    assert await jwks.find("one", "ES256") is not None
    for second in range(121):
        clock.now = 1000.0 + second
        assert await jwks.find(f"forged{second}", "ES256") is None
    assert issuer.fetches == 3


async def test_a_storm_of_unknown_keys_shares_one_fetch(
    issuer: Issuer, jwks: Jwks, clock: Clock
) -> None:
    issuer.keys = [ec_key("one")]
    assert await jwks.find("one", "ES256") is not None
    issuer.seconds = 0.05
    issuer.keys = [ec_key("two")]
    clock.now += 60
    found = await asyncio.gather(*(jwks.find("two", "ES256") for _ in range(100)))
    assert all(found)
    assert issuer.fetches == 2


async def test_a_cancelled_request_does_not_end_the_fetch_of_the_others(
    issuer: Issuer, jwks: Jwks
) -> None:
    issuer.keys = [ec_key("one")]
    issuer.seconds = 0.05
    impatient = asyncio.create_task(jwks.find("one", "ES256"))
    patient = asyncio.create_task(jwks.find("one", "ES256"))
    await until(lambda: issuer.fetches == 1)
    impatient.cancel()
    assert await patient is not None
    assert issuer.fetches == 1


@pytest.mark.parametrize(
    ("cache_control", "seconds"),
    [
        (None, 600),
        ("public, max-age=300", 300),
        ("max-age=1", 60),
        ("max-age=31536000, immutable", 3600),
        ("no-store", 60),
        ("s-maxage=5", 600),
        ("max-age=banana", 600),
    ],
)
async def test_keys_are_kept_as_long_as_the_issuer_says_within_bounds(
    issuer: Issuer, jwks: Jwks, clock: Clock, cache_control: str | None, seconds: int
) -> None:
    issuer.keys = [ec_key("one")]
    issuer.jwks_headers = {"cache-control": cache_control} if cache_control else {}
    await jwks.find("one", "ES256")
    clock.now = 1000.0 + seconds - 1
    await jwks.find("one", "ES256")
    assert issuer.fetches == 1
    clock.now = 1000.0 + seconds
    await jwks.find("one", "ES256")
    await until(lambda: issuer.fetches == 2)


@pytest.fixture
def held_fetches(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Fetches of documents end when the event is set."""
    may_end = asyncio.Event()
    may_end.set()

    async def fetch_later(http: httpx.AsyncClient, url: str) -> JsonDocument:
        await may_end.wait()
        return await fetch_json(http, url)

    monkeypatch.setattr("penstock.server.auth.jwks.fetch_json", fetch_later)
    return may_end


async def test_nobody_waits_while_stale_keys_are_renewed_but_for_an_unknown_key(
    issuer: Issuer, jwks: Jwks, clock: Clock, held_fetches: asyncio.Event
) -> None:
    issuer.keys = [ec_key("one")]
    one = await jwks.find("one", "ES256")
    known = jwks.current_keys()
    held_fetches.clear()
    issuer.keys = [ec_key("two")]
    clock.now += 600 + 59
    for _ in range(3):
        assert jwks.current_keys() is known
        assert await jwks.find("one", "ES256") is one
    waiting = asyncio.create_task(jwks.find("two", "ES256"))
    await asyncio.sleep(0)
    assert not waiting.done()
    held_fetches.set()
    assert await waiting is not None
    assert await jwks.find("one", "ES256") is None
    assert issuer.fetches == 2


async def test_keys_that_have_been_stale_for_a_minute_are_renewed_before_they_are_used(
    issuer: Issuer, jwks: Jwks, clock: Clock
) -> None:
    issuer.keys = [ec_key("one")]
    await jwks.find("one", "ES256")
    issuer.keys = [ec_key("two")]
    clock.now += 600 + 60
    assert jwks.current_keys() is None
    assert await jwks.find("one", "ES256") is None
    assert issuer.fetches == 2


async def test_nobody_waits_for_an_issuer_that_has_failed_since_the_keys_were_fresh(
    issuer: Issuer, jwks: Jwks, clock: Clock, held_fetches: asyncio.Event
) -> None:
    issuer.keys = [ec_key("one")]
    await jwks.find("one", "ES256")
    issuer.down = True
    clock.now += 86_400
    assert await jwks.find("one", "ES256") is not None
    held_fetches.clear()
    clock.now += 60
    assert jwks.current_keys() is not None
    assert await jwks.find("one", "ES256") is not None
    held_fetches.set()


async def test_so_many_callers_wait_for_a_fetch_and_more_are_told_to_come_again(
    issuer: Issuer, jwks: Jwks, held_fetches: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.server.auth.jwks.MOST_WAITING", 2)
    issuer.keys = [ec_key("one")]
    held_fetches.clear()
    waiting = [asyncio.create_task(jwks.find("one", "ES256")) for _ in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(Unavailable, match="Too many wait") as refused:
        await jwks.find("one", "ES256")
    assert refused.value.retry_after == 1
    held_fetches.set()
    assert None not in await asyncio.gather(*waiting)
    assert await jwks.find("one", "ES256") is not None
    assert issuer.fetches == 1


async def test_stale_keys_are_used_while_the_issuer_is_down(
    issuer: Issuer, jwks: Jwks, clock: Clock
) -> None:
    issuer.keys = [ec_key("one")]
    await jwks.find("one", "ES256")
    issuer.down = True
    asked = len(issuer.requests)
    clock.now += 86_400
    for _ in range(5):
        assert await jwks.find("one", "ES256") is not None
    assert len(issuer.requests) == asked + 1
    issuer.down = False
    issuer.keys = [ec_key("two")]
    clock.now += 60
    assert await jwks.find("two", "ES256") is not None
    assert await jwks.find("one", "ES256") is None


async def test_without_any_key_the_answer_is_unavailable_until_the_issuer_is_up(
    issuer: Issuer, jwks: Jwks, clock: Clock
) -> None:
    issuer.down = True
    for _ in range(3):
        with pytest.raises(Unavailable) as raised:
            await jwks.find("one", "ES256")
    assert raised.value.retry_after == 5
    assert len(issuer.requests) == 1
    issuer.down = False
    issuer.keys = [ec_key("one")]
    clock.now += 5
    assert await jwks.find("one", "ES256") is not None


async def test_an_issuer_that_hangs_is_given_up(
    issuer: Issuer, jwks: Jwks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.server.auth.jwks.FETCH_SECONDS", 0.05)
    issuer.seconds = 1.0
    with pytest.raises(Unavailable):
        await jwks.find("one", "ES256")


BAD_ANSWERS: list[tuple[str, Any]] = [
    ("jwks_body", b"[" * 1000),
    ("jwks_body", b"[" * 200_000),
    ("jwks_body", b"\xff"),
    ("jwks_body", b"[]"),
    ("jwks_body", b'{"keys": {}}'),
    ("jwks_body", b'{"keys": []}' + b" " * MAX_BYTES),
    ("jwks_status", 500),
    ("jwks_status", 302),
    ("configuration", {"issuer": "https://other.example.org", "jwks_uri": "https://x.example"}),
    ("configuration", {"jwks_uri": 7}),
    ("configuration", []),
]


@pytest.mark.parametrize(("attribute", "value"), BAD_ANSWERS)
async def test_a_bad_answer_leaves_the_keys_as_they_were(
    issuer: Issuer, jwks: Jwks, clock: Clock, attribute: str, value: object
) -> None:
    issuer.keys = [ec_key("one")]
    issuer.jwks_headers = {"location": f"{issuer.url}/jwks"}
    await jwks.find("one", "ES256")
    setattr(issuer, attribute, value)
    clock.now += 3600
    assert await jwks.find("one", "ES256") is not None
    assert await jwks.find("two", "ES256") is None
    assert issuer.requests.count(DISCOVERY) == 2


CHUNKED = b"HTTP/1.1 200 X\r\ntransfer-encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("first", "again", "reason"),
    [
        (b"", b"HTTP/1.1 103 X\r\nlink: " + b"a" * 2_000 + b"\r\n\r\n", "of status 1xx"),
        (b"", b"HTTP/1.1 100 X\r\n\r\n" * 100, "of status 1xx"),
        (CHUNKED, b"1;" + b"a" * 1_000 + b"\r\n \r\n", f"sent more than {MAX_NETWORK_BYTES}"),
        (CHUNKED, b"1\r\n \r\n" * 200, f"in more than {MAX_PIECES} pieces"),
        (CHUNKED + b"0\r\n", b"x: " + b"a" * 1_000 + b"\r\n", "RemoteProtocolError"),
    ],
)
async def test_what_stands_around_the_keys_is_read_only_so_far(
    issuer: Issuer, http: httpx.AsyncClient, first: bytes, again: bytes, reason: str
) -> None:
    issuer.endless = first, again
    with pytest.raises(FetchFailed, match=reason):
        await fetch_json(http, f"{issuer.url}/jwks")
    assert issuer.requests == ["/jwks"]


async def test_keys_are_read_behind_a_few_interim_answers_and_in_many_pieces(
    issuer: Issuer, http: httpx.AsyncClient
) -> None:
    document = b'{"keys": []}' + b" " * 2_000
    pieces = b"".join(b"1\r\n%c\r\n" % byte for byte in document)
    issuer.jwks_raw = b"HTTP/1.1 103 X\r\n\r\n" * 3 + CHUNKED + pieces + b"0\r\n\r\n"
    assert (await fetch_json(http, f"{issuer.url}/jwks")).value == {"keys": []}


async def test_keys_are_not_fetched_without_tls_from_another_machine(
    issuer: Issuer, jwks: Jwks
) -> None:
    issuer.configuration["jwks_uri"] = "http://issuer.example.org/jwks"
    with pytest.raises(Unavailable):
        await jwks.find("one", "ES256")
    assert issuer.requests == [DISCOVERY]


UNFETCHED = [
    ("{issuer}/jwks?sig=s3cret", {"down": True}, "{issuer}/jwks?(hidden): RemoteProtocolError"),
    ("{issuer}/jwks?sig=s3cret", {"jwks_status": 403}, "{issuer}/jwks?(hidden) answered 403"),
    (
        "{issuer}/jwks?sig=s3cret",
        {"jwks_body": b"<html>"},
        "{issuer}/jwks?(hidden) did not answer with JSON",
    ),
    (
        "http://127.0.0.1:9/?sig=s3cret",
        {},
        "http://127.0.0.1:9/?(hidden): ConnectError: Connection refused",
    ),
    ("http://other/?sig=s3cret", {}, "http://other/?(hidden) is not an https URL"),
    ("other/jwks?sig=s3cret", {}, "(hidden) is not an https URL"),
    ("https://me:s3cret@other/jwks", {}, "https://(hidden)@other/jwks is not an https URL"),
    ("https://xn--/?sig=s3cret", {}, "https://xn--/?(hidden) has no name of a host"),
]


@pytest.mark.parametrize("is_discovered", [False, True])
@pytest.mark.parametrize(("url", "answer", "reason"), UNFETCHED)
async def test_the_log_says_why_keys_were_not_fetched_without_the_query_of_their_url(
    issuer: Issuer,
    http: httpx.AsyncClient,
    url: str,
    answer: dict[str, Any],
    reason: str,
    is_discovered: bool,
) -> None:
    url = url.format(issuer=issuer.url)
    if is_discovered and "down" not in answer:
        issuer.configuration["jwks_uri"] = url
        jwks = Jwks(http, issuer.url)
    else:
        jwks = Jwks(http, issuer.url, url)
    for name, value in answer.items():
        setattr(issuer, name, value)
    with capture_logs() as logged, pytest.raises(Unavailable):
        await jwks.find("one", "ES256")
    assert [(one["event"], one["issuer"], one["reason"]) for one in logged] == [
        ("keys of the issuer not fetched", issuer.url, reason.format(issuer=issuer.url))
    ]


AWKWARD_HOSTS = [
    "xn--",
    "xn--zzzzzzzzzzzzzzzz99999999",
    "a..b",
    "a" * 64,
    "é" * 70,
    "x\u2028",
    "%00",
]


@pytest.mark.parametrize("host", AWKWARD_HOSTS)
async def test_an_address_of_keys_with_a_name_that_is_none_leaves_the_keys_as_they_were(
    issuer: Issuer, jwks: Jwks, clock: Clock, host: str
) -> None:
    issuer.keys = [ec_key("one")]
    assert await jwks.find("one", "ES256") is not None
    issuer.configuration["jwks_uri"] = f"https://{host}/jwks"
    clock.now += 2 * 3600
    assert await jwks.find("one", "ES256") is not None
    assert await jwks.find("two", "ES256") is None


async def test_an_answer_is_not_unpacked(issuer: Issuer, jwks: Jwks) -> None:
    issuer.keys = [ec_key("one")]
    issuer.jwks_headers = {"content-encoding": "gzip"}
    assert await jwks.find("one", "ES256") is not None


async def test_tokens_without_a_key_id_are_told_apart_by_nothing_and_fetch_nothing(
    issuer: Issuer, jwks: Jwks, clock: Clock
) -> None:
    issuer.keys = [ec_key("one"), ec_key("two")]
    await jwks.find("one", "ES256")
    clock.now += 60
    assert await jwks.find(None, "ES256") is None
    assert issuer.fetches == 1


async def test_a_token_of_the_issuer_makes_a_caller(
    issuer: Issuer, http: httpx.AsyncClient
) -> None:
    key = ec_key("one")
    issuer.keys = [key]
    rules = TokenRules(issuer=issuer.url, audience=AUDIENCE, algorithms=("ES256",), clock_skew=60)
    authenticator = TokenAuthenticator(rules, Jwks(http, issuer.url))
    caller = await authenticator.caller_of(bearer(sign_claims(key, claims(iss=issuer.url))))
    assert (caller.user_id, caller.default_group) == ("ana", "/usa")
    with pytest.raises(NotAuthenticated, match="unknown key"):
        await authenticator.caller_of(bearer(sign_claims(ec_key("two"), claims(iss=issuer.url))))


async def test_a_token_with_a_refused_algorithm_never_reaches_the_issuer(
    issuer: Issuer, http: httpx.AsyncClient
) -> None:
    rules = TokenRules(issuer=issuer.url, audience=AUDIENCE, algorithms=("RS256",), clock_skew=60)
    authenticator = TokenAuthenticator(rules, Jwks(http, issuer.url))
    with pytest.raises(NotAuthenticated, match="its algorithm is none of those"):
        await authenticator.caller_of(bearer(sign_claims(ec_key("one"), claims(iss=issuer.url))))
    assert issuer.requests == []


async def test_the_settings_open_an_authenticator_before_the_issuer_is_up(issuer: Issuer) -> None:
    issuer.down = True
    key = ec_key("one")
    issuer.keys = [key]
    settings = Settings.load(issuer=issuer.url, audience=AUDIENCE, jwks_url=f"{issuer.url}/jwks")
    async with open_authenticator(settings) as authenticator:
        assert issuer.requests == []
        token = bearer(sign_claims(key, claims(iss=issuer.url)))
        with pytest.raises(Unavailable):
            await authenticator.caller_of(token)
    issuer.down = False
    async with open_authenticator(settings) as authenticator:
        assert (await authenticator.caller_of(token)).user_id == "ana"


async def test_a_server_with_an_issuer_takes_no_development_token(
    issuer: Issuer, tmp_path: Path
) -> None:
    issuer.keys = [ec_key("one")]
    token = sign_dev_token(dev_key(tmp_path), "ana", {ROOT: Role.ADMIN}, None, DEV_TOKEN_LIFETIME)
    settings = Settings.load(issuer=issuer.url, audience=DEV_ISSUER, data_dir=tmp_path)
    async with open_authenticator(settings) as authenticator:
        with pytest.raises(NotAuthenticated, match="unknown key"):
            await authenticator.caller_of(bearer(token))
        issuer.keys = [dev_key(tmp_path)]
    async with open_authenticator(settings) as authenticator:
        with pytest.raises(NotAuthenticated, match="iss"):
            await authenticator.caller_of(bearer(token))
