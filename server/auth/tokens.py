"""Authenticates requests by signed tokens (JWT), and caches tokens whose signature was verified."""

import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from hashlib import sha256
from typing import Any, Final, NamedTuple, Protocol

import msgspec
from cachetools import LRUCache
from joserfc import jws
from joserfc.errors import (
    ClaimError,
    ExpiredTokenError,
    JoseError,
    MissingClaimError,
    UnsupportedAlgorithmError,
)
from joserfc.jwk import Key
from joserfc.jws import CompactSignature, JWSRegistry
from joserfc.jwt import JWTClaimsRegistry
from starlette.datastructures import Headers

from penstock.datastore.errors import BadArgument, NotAuthenticated
from penstock.datastore.roles import Caller
from penstock.server.auth.claims import DEFAULT_GROUP_CLAIM, ROLES_CLAIM, caller_from
from penstock.server.auth.dev_tokens import DEV_ALGORITHM, DEV_ISSUER, dev_key
from penstock.server.auth.jwks import Jwks, pick_key
from penstock.server.core.headers import IndexedHeaders
from penstock.server.core.http_client import open_http_client
from penstock.server.settings.settings import Settings

MAX_CACHED_TOKENS: Final = 10_000
MAX_CACHED_ROLES: Final = 50_000


class VerifiedToken(NamedTuple):
    """The caller that a token proves from `since` until `until`, in seconds since 1970.

    It is valid only while the key source's `current_keys` still returns the object `keys`.
    """

    caller: Caller
    since: float
    until: float
    keys: object


class TokenCache:
    """A cache of verified tokens by digest, which drops the least recently used one first."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._kept = LRUCache[bytes, VerifiedToken](MAX_CACHED_ROLES, _role_weight)

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, digest: bytes) -> VerifiedToken | None:
        """Return the entry for a digest; None if the token must be verified."""
        found = self._kept.get(digest)
        if found is None or not found.since <= int(self._now()) < found.until:
            return None
        return found

    def put(self, digest: bytes, proven: VerifiedToken) -> None:
        with suppress(ValueError):  # a token with too many roles for the cache is not cached
            self._kept[digest] = proven


def _role_weight(proven: VerifiedToken) -> int:
    """Return the number of roles, which decides the size of a token in memory.

    The minimum bounds the cache to MAX_CACHED_TOKENS.
    """
    return max(MAX_CACHED_ROLES // MAX_CACHED_TOKENS, len(proven.caller.roles))


class Authentication(msgspec.Struct, frozen=True):
    """A caller, and the time when their token expires: seconds since 1970, None for never."""

    caller: Caller
    expires_at: float | None


class Authenticator(Protocol):
    """Finds the caller of a request."""

    async def caller_of(self, headers: Mapping[str, object]) -> Caller:
        """Return the caller from the `Authorization` header, whose name may be in any case.

        Raises NotAuthenticated, and Unavailable while the issuer's keys cannot be fetched.
        """

    def authenticate(self, headers: Mapping[str, object]) -> Awaitable[Authentication]:
        """Return the caller as `caller_of` does, with the end of the session."""


class KeySource(Protocol):
    """The keys that may have signed a token."""

    async def find(self, kid: str | None, algorithm: str) -> Key | None:
        """Return the key that a token's header names; None if there is none."""

    def current_keys(self) -> object | None:
        """Return an object for the current keys, which is another one after any change.

        Returns None if `find` would fetch first.
        """


class DevKeys:
    """A key source whose only key is the development key."""

    def __init__(self, key: Key) -> None:
        self._key = key

    async def find(self, kid: str | None, algorithm: str) -> Key | None:
        return pick_key((self._key,), kid, algorithm)

    def current_keys(self) -> object:
        return self._key


class TokenRules(msgspec.Struct, frozen=True, kw_only=True):
    """The required claims and algorithms of a token, and the names of the claims with roles."""

    issuer: str
    audience: str
    algorithms: tuple[str, ...]
    clock_skew: int
    """The tolerated difference between the clocks, in seconds."""
    roles_claim: str = ROLES_CLAIM
    default_group_claim: str = DEFAULT_GROUP_CLAIM


class TokenAuthenticator:
    """Accepts signed tokens (JWT) sent as `Authorization: Bearer`.

    It caches verified tokens, but checks time and keys again for each request.
    """

    def __init__(
        self, rules: TokenRules, keys: KeySource, now: Callable[[], float] = time.time
    ) -> None:
        self._rules = rules
        self._keys = keys
        self._now = now
        self._cache = TokenCache(now)
        self._registry = _AlgorithmRegistry(algorithms=rules.algorithms, strict_check_header=False)

    async def caller_of(self, headers: Mapping[str, object]) -> Caller:
        """Verify the token and read the caller from its claims."""
        return (await self.authenticate(headers)).caller

    async def authenticate(self, headers: Mapping[str, object]) -> Authentication:
        """Verify the token; the session ends when a new request with it would fail."""
        token = bearer_token(headers)
        digest = sha256(token).digest()
        proven, keys = self._cache.get(digest), self._keys.current_keys()
        if proven is None or keys is None or proven.keys is not keys:
            proven = await self._verify(token)
            self._cache.put(digest, proven)
        return Authentication(proven.caller, proven.until)

    async def _verify(self, token: bytes) -> VerifiedToken:
        try:
            signed, keys = await self._verify_signature(token)
            claims = _claims_of(signed.payload)
            self._check_claims(claims)
            rules = self._rules
            return VerifiedToken(
                caller=caller_from(claims, rules.roles_claim, rules.default_group_claim),
                since=max(claims.get("nbf", 0), claims.get("iat", 0)) - rules.clock_skew,
                until=claims["exp"] + rules.clock_skew,
                keys=keys,
            )
        except BadArgument as error:
            raise NotAuthenticated(f"The token is not accepted: {error.message}") from error
        except JoseError as error:
            raise NotAuthenticated(_describe_refusal(error)) from error

    async def _verify_signature(self, token: bytes) -> tuple[CompactSignature, object]:
        """Return the parsed token and the current keys, if the signature is valid."""
        signed = self._parse_token(token)
        header = signed.headers()
        key = await self._keys.find(header.get("kid"), header["alg"])
        keys = self._keys.current_keys()
        if key is None:
            raise NotAuthenticated("The token is signed with an unknown key.")
        if not jws.validate_compact(signed, key, self._rules.algorithms, self._registry):
            raise NotAuthenticated("The token's signature does not hold.")
        return signed, keys

    def _parse_token(self, token: bytes) -> CompactSignature:
        """Parse the token; check that its header is well-formed and its algorithm allowed."""
        try:
            signed = jws.extract_compact(token, registry=self._registry)
            self._registry.check_header(signed.headers())
        except (JoseError, ValueError, TypeError, AttributeError, RecursionError) as error:
            raise NotAuthenticated("The token is malformed.") from error
        self._registry.get_alg(signed.headers()["alg"])
        return signed

    def _check_claims(self, claims: dict[str, Any]) -> None:
        JWTClaimsRegistry(
            now=int(self._now()),
            leeway=self._rules.clock_skew,
            iss={"essential": True, "value": self._rules.issuer},
            aud={"essential": True, "value": self._rules.audience},
            sub={"essential": True},
            exp={"essential": True},
        ).validate(claims)


class _AlgorithmRegistry(JWSRegistry):
    """Allows the listed algorithms only, whatever the library recommends or deprecates.

    Issuers still write `EdDSA`, for which the library would warn at each token.
    """

    def get_alg(self, name: str) -> Any:
        if name not in (self.allowed or ()):
            raise UnsupportedAlgorithmError
        return self.algorithms[name]


@asynccontextmanager
async def open_authenticator(settings: Settings) -> AsyncIterator[Authenticator]:
    """Accept the issuer's tokens, or without an issuer those of `penstock token`.

    It does not wait for the issuer. Raises dev_tokens.BadDevKey.
    """
    if settings.issuer is None or settings.audience is None:
        yield dev_authenticator(settings)
        return
    async with open_http_client() as http:
        rules = TokenRules(
            issuer=settings.issuer,
            audience=settings.audience,
            algorithms=settings.algorithms,
            clock_skew=settings.clock_skew_seconds,
            roles_claim=settings.roles_claim,
            default_group_claim=settings.default_group_claim,
        )
        yield TokenAuthenticator(rules, Jwks(http, settings.issuer, settings.jwks_url))


def dev_authenticator(settings: Settings) -> Authenticator:
    """Accept tokens signed with the development key in the data directory."""
    rules = TokenRules(
        issuer=DEV_ISSUER,
        audience=DEV_ISSUER,
        algorithms=(DEV_ALGORITHM,),
        clock_skew=settings.clock_skew_seconds,
    )
    return TokenAuthenticator(rules, DevKeys(dev_key(settings.data_dir)))


def bearer_token(headers: Mapping[str, object]) -> bytes:
    """Return the token after `Bearer`, in ASCII; raises NotAuthenticated for any other header."""
    # The check of the exact type is quick; that of an abstract class runs in Python.
    if isinstance(headers, (IndexedHeaders, Headers)):
        found: Sequence[object] = headers.getlist("authorization")
    else:
        found = [value for name, value in headers.items() if name.lower() == "authorization"]
    if not found:
        raise NotAuthenticated("The request carries no Authorization header.")
    scheme, _, token = str(found[0]).strip().partition(" ")
    token = token.strip()
    if len(found) > 1 or scheme.lower() != "bearer" or not token.isascii() or not token:
        raise NotAuthenticated("The Authorization header must be 'Bearer <token>', given once.")
    return token.encode()


_WANTED: Final = {"exp": "a time", "iat": "a time that has come", "nbf": "a time that has come"}


def _describe_refusal(error: JoseError) -> str:
    """Say why a token is refused, in words that stay when the library has others."""
    match error:
        case ExpiredTokenError():
            return "The token has expired."
        case MissingClaimError():
            return f"The token is not accepted: it has no claim `{error.claim}`."
        case ClaimError():
            wanted = _WANTED.get(error.claim, "the one that is wanted")
            return f"The token is not accepted: its claim `{error.claim}` is not {wanted}."
        case UnsupportedAlgorithmError():
            return "The token is not accepted: its algorithm is none of those that are allowed."
    return "The token is not accepted: it cannot be verified."


def _claims_of(payload: bytes) -> dict[str, Any]:
    try:
        claims = msgspec.json.decode(payload, type=dict[str, Any])
        json.loads(payload, object_pairs_hook=_require_distinct_names)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise NotAuthenticated("The token's claims are not a JSON object.") from error
    return claims


def _require_distinct_names(members: Sequence[tuple[str, object]]) -> None:
    """Refuse an object that gives one name two values: readers differ in the one that they take."""
    if len(dict(members)) != len(members):
        raise NotAuthenticated("The token's claims give one name twice.")
