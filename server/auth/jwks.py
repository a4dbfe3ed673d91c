"""The issuer's signing keys (JWKS): fetched when needed, and cached while they are fresh.

While the issuer is down, stale keys stay in use. Each document comes over TLS, has a bounded size,
and comes from the requested URL without redirects.
"""

import asyncio
import re
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

import httpx
import msgspec
import structlog
from cryptography.exceptions import UnsupportedAlgorithm
from joserfc.errors import JoseError
from joserfc.jwk import JWKRegistry, Key
from joserfc.jws import JWSRegistry

from penstock.datastore.errors import Unavailable
from penstock.datastore.logged_errors import describe_error
from penstock.datastore.unreadable_json import JSON_ERRORS
from penstock.server.core.http_client import AnswerTooLong, BoundedReading
from penstock.server.settings.secure_urls import is_secure, show_url

MAX_BYTES = 256 * 1024

MAX_NETWORK_BYTES = MAX_BYTES + 64 * 1024
"""The most bytes that are read for a document, with all that stands around its own."""

MAX_PIECES = 2_048
"""The most chunks of a document."""

MAX_KEYS = 64
"""The most entries of a key set. Reading a key takes the event loop 1.5 ms."""

_MAX_AGE = re.compile(r"(?:^|[,\s])max-age=\"?(\d{1,9})")


class FetchFailed(Exception):
    """The document could not be fetched; the message gives the reason for the log."""


class JsonDocument(NamedTuple):
    """A decoded JSON value, and its `max-age` in seconds; None if the sender gave none."""

    value: object
    max_age: int | None


async def fetch_json(http: httpx.AsyncClient, url: str) -> JsonDocument:
    """Fetch the document without following redirects. Raises FetchFailed."""
    place = show_url(url)
    if not is_secure(url):
        raise FetchFailed(f"{place} is not an https URL")
    try:
        body, headers = await _fetch(http, url)
        return JsonDocument(msgspec.json.decode(body), _max_age(headers))
    except AnswerTooLong as error:
        raise FetchFailed(f"{place} {error}") from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise FetchFailed(f"{place}: {describe_error(error)}") from error
    except JSON_ERRORS as error:
        raise FetchFailed(f"{place} did not answer with JSON") from error
    except UnicodeError as error:
        # Of a name that cannot be one of a host, httpx lets through what its library raises.
        raise FetchFailed(f"{place} has no name of a host") from error


async def _fetch(http: httpx.AsyncClient, url: str) -> tuple[bytes, httpx.Headers]:
    # The request declines compression: a small compressed answer could exceed the bound.
    # A connection is used once, because its reading is bounded.
    wanted = {"accept": "application/json", "accept-encoding": "identity", "connection": "close"}
    bounds = BoundedReading(MAX_NETWORK_BYTES).extensions
    async with http.stream(
        "GET", url, headers=wanted, follow_redirects=False, extensions=bounds
    ) as response:
        if response.status_code != httpx.codes.OK:
            raise FetchFailed(f"{show_url(url)} answered {response.status_code}")
        body, pieces = bytearray(), 0
        async for chunk in response.aiter_raw():
            body += chunk
            pieces += 1
            if pieces > MAX_PIECES:
                raise FetchFailed(f"{show_url(url)} answered in more than {MAX_PIECES} pieces")
            if len(body) > MAX_BYTES:
                raise FetchFailed(f"{show_url(url)} answered with more than {MAX_BYTES} bytes")
        return bytes(body), response.headers


def _max_age(headers: httpx.Headers) -> int | None:
    directives = headers.get("cache-control", "").lower()
    if "no-store" in directives or "no-cache" in directives:
        return 0
    found = _MAX_AGE.search(directives)
    return int(found[1]) if found else None


SHORTEST_AGE = 60
USUAL_AGE = 600
LONGEST_AGE = 3600
"""Bounds of the time for which keys count as fresh, in seconds."""

PAUSE = 60
PAUSE_WITHOUT_KEYS = 5
"""Minimum time between two fetches, in seconds."""

FETCH_SECONDS = 3

STALE_SECONDS = 60
"""The time for which stale keys are used while they are renewed, in seconds."""

MOST_WAITING = 256
"""The most callers who wait for a fetch at a time."""

_DISCOVERY = "/.well-known/openid-configuration"
_MODULUS_OF_2048_BITS = 342  # characters of base64url
_LARGEST_NUMBER = 2_731
"""The characters of a modulus of 16,384 bits, beyond which no signature is verified."""

_PUBLIC_MEMBERS = frozenset(
    ("kty", "kid", "use", "alg", "key_ops", "n", "e", "crv", "x", "y"),
)
"""The members of an entry that are read."""

_log = structlog.get_logger(__name__)


class Jwks:
    """The keys of one issuer, fetched when the first token needs them."""

    def __init__(
        self,
        http: httpx.AsyncClient,
        issuer: str,
        url: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._http = http
        self._issuer = issuer
        self._url = url
        self._clock = clock
        self._keys: tuple[Key, ...] | None = None
        self._fresh_until = self._next_fetch = clock()
        self._fetching: asyncio.Task[None] | None = None
        self._has_failed = False
        self._waiting = 0

    async def find(self, kid: str | None, algorithm: str) -> Key | None:
        """Return the key for a token's header; None if the issuer has no such key.

        Stale keys are renewed behind the caller's back; only for a key that is unknown, and for
        keys that have been stale for long, a caller waits. Raises Unavailable if no fetch has
        succeeded yet, or too many wait for one.
        """
        if (fetch := self._renew_stale_keys()) is not None:
            await self._wait_for(fetch)
        key = pick_key(self._keys or (), kid, algorithm)
        if key is None and kid is not None and (fetch := self._begin_fetch()) is not None:
            await self._wait_for(fetch)
            key = pick_key(self._keys or (), kid, algorithm)
        if self._keys is None:
            raise Unavailable("The issuer of tokens does not answer.", PAUSE_WITHOUT_KEYS)
        return key

    def current_keys(self) -> object | None:
        """Return the keys as one object; None when `find` would wait for a fetch."""
        return self._keys if self._renew_stale_keys() is None else None

    def _renew_stale_keys(self) -> asyncio.Task[None] | None:
        """Begin to fetch keys in place of stale ones; return a fetch that must be waited for.

        Where the issuer failed since the keys were fresh, nothing is better than they are.
        """
        now = self._clock()
        if now < self._fresh_until:
            return None
        fetch = self._begin_fetch()
        is_usable = self._keys is not None and (
            self._has_failed or now < self._fresh_until + STALE_SECONDS
        )
        return None if is_usable else fetch

    def _begin_fetch(self) -> asyncio.Task[None] | None:
        """Fetch the keys, unless a fetch has just happened; concurrent calls share one fetch."""
        if self._fetching is None and self._clock() >= self._next_fetch:
            self._fetching = asyncio.create_task(self._fetch())
        return self._fetching

    async def _wait_for(self, fetch: asyncio.Task[None]) -> None:
        """Wait for a fetch; raises Unavailable if many others do."""
        if self._waiting >= MOST_WAITING:
            raise Unavailable("Too many wait for the keys of the issuer.", 1)
        self._waiting += 1
        try:
            # The cancellation of one request must not end the fetch for the others.
            await asyncio.shield(fetch)
        finally:
            self._waiting -= 1

    async def _fetch(self) -> None:
        try:
            async with asyncio.timeout(FETCH_SECONDS):
                url = self._url or await keys_url(self._http, self._issuer)
                document = await fetch_json(self._http, url)
            self._keys = keys_from(document.value)
            age = USUAL_AGE if document.max_age is None else document.max_age
            self._fresh_until = self._clock() + min(max(age, SHORTEST_AGE), LONGEST_AGE)
            self._has_failed = False
        except FetchFailed as error:
            self._note_failure(str(error))
        except TimeoutError:
            self._note_failure(f"it did not answer within {FETCH_SECONDS} s")
        finally:
            pause = PAUSE_WITHOUT_KEYS if self._keys is None else PAUSE
            self._next_fetch = self._clock() + pause
            self._fetching = None

    def _note_failure(self, reason: str) -> None:
        self._has_failed = True
        issuer = show_url(self._issuer)
        _log.warning("keys of the issuer not fetched", issuer=issuer, reason=reason)


async def keys_url(http: httpx.AsyncClient, issuer: str) -> str:
    """Read the URL of the issuer's keys from its OpenID configuration. Raises FetchFailed."""
    document = await fetch_json(http, issuer.rstrip("/") + _DISCOVERY)
    match document.value:
        case {"issuer": str(named), "jwks_uri": str(url)} if named == issuer:
            return url
        case _:
            raise FetchFailed(f"the configuration is not that of the issuer {show_url(issuer)}")


def pick_key(keys: Iterable[Key], kid: str | None, algorithm: str) -> Key | None:
    """Return the fitting key with that id; without an id, the only fitting one."""
    fitting = [key for key in keys if kid in (None, key.kid) and _fits_algorithm(key, algorithm)]
    return fitting[0] if len(fitting) == 1 or (fitting and kid is not None) else None


def keys_from(value: object) -> tuple[Key, ...]:
    """Read the public parts of a key set (RFC 7517); raises FetchFailed where it is none.

    Keys that cannot verify are left out.
    """
    match value:
        case {"keys": [*entries]} if len(entries) > MAX_KEYS:
            raise FetchFailed(f"the key set has more than {MAX_KEYS} keys")
        case {"keys": [*entries]}:
            return tuple(key for entry in entries if (key := _key_from(entry)) is not None)
        case _:
            raise FetchFailed("the document is not a key set")


def _key_from(entry: object) -> Key | None:
    if not isinstance(entry, dict) or not _can_verify(entry):
        return None
    try:
        # Of private parts, the library computes the others, for seconds.
        public = {name: value for name, value in entry.items() if name in _PUBLIC_MEMBERS}
        key = JWKRegistry.import_key(public)
        key.get_op_key("verify")
    except (JoseError, ValueError, TypeError, KeyError, AttributeError, UnsupportedAlgorithm):
        return None
    return key


def _can_verify(entry: dict[str, object]) -> bool:
    numbers = (entry.get(name) for name in ("n", "e", "x", "y"))
    if any(isinstance(one, str) and len(one) > _LARGEST_NUMBER for one in numbers):
        return False
    match entry:
        case {"kty": "RSA", "n": str(modulus)}:
            return len(modulus) >= _MODULUS_OF_2048_BITS
        case {"kty": "EC"} | {"kty": "OKP", "crv": "Ed25519" | "Ed448"}:
            return True
        case _:
            return False


def _fits_algorithm(key: Key, algorithm: str) -> bool:
    if key.get("use") not in (None, "sig") or key.get("alg") not in (None, algorithm):
        return False
    try:
        JWSRegistry.algorithms[algorithm].check_key(key)
    except JoseError:
        return False
    return True
