"""A verified token is not verified again, and is refused as early as any other."""

from unittest.mock import patch

import pytest
from joserfc import jws
from joserfc.jwk import Key

from penstock.server.auth.jwks import pick_key
from penstock.server.auth.tokens import (
    MAX_CACHED_ROLES,
    TokenAuthenticator,
    TokenCache,
    TokenRules,
    VerifiedToken,
)
from tests.server.auth.signed_tokens import KEY, RULES, bearer, claims, ec_key, refusal, sign_claims

SKEW = RULES["clock_skew"]


class World:
    """An authenticator with keys and a clock that a test may change."""

    def __init__(self) -> None:
        self.keys: tuple[Key, ...] = (KEY,)
        self.body = claims()
        self.now = float(self.body["iat"])
        self.authenticator = TokenAuthenticator(TokenRules(**RULES), self, lambda: self.now)

    async def find(self, kid: str | None, algorithm: str) -> Key | None:
        return pick_key(self.keys, kid, algorithm)

    def current_keys(self) -> object:
        return self.keys

    async def is_accepted(self, token: str) -> bool:
        return (await self.authenticator.caller_of(bearer(token))).user_id == "ana"

    async def refusal(self, token: str) -> str:
        return await refusal(self.authenticator, bearer(token))


async def test_a_signature_is_computed_once_for_any_number_of_requests() -> None:
    world = World()
    tokens = [sign_claims(KEY, world.body), sign_claims(KEY, world.body | {"jti": "other"})]
    with patch.object(jws, "validate_compact", wraps=jws.validate_compact) as computed:
        for token in tokens * 3:
            assert await world.is_accepted(token)
    assert computed.call_count == 2


async def test_the_session_is_the_same_each_time() -> None:
    world = World()
    token = bearer(sign_claims(KEY, world.body))
    first, second = [await world.authenticator.authenticate(token) for _ in range(2)]
    assert first == second
    assert second.expires_at == world.body["exp"] + SKEW


async def test_a_token_is_refused_from_the_second_in_which_it_expires() -> None:
    world = World()
    token = sign_claims(KEY, world.body)
    assert await world.is_accepted(token)
    world.now = world.body["exp"] + SKEW - 0.001
    assert await world.is_accepted(token)
    world.now = world.body["exp"] + SKEW
    assert await world.refusal(token) == "The token has expired."


@pytest.mark.parametrize("claim", ["nbf", "iat"])
async def test_a_token_is_refused_when_the_clock_is_set_to_before_it(claim: str) -> None:
    world = World()
    token = sign_claims(KEY, world.body | {claim: world.now})
    assert await world.is_accepted(token)
    world.now -= SKEW
    assert await world.is_accepted(token)
    world.now -= 1
    assert "The token is not accepted" in await world.refusal(token)


async def test_a_token_is_refused_when_its_key_is_withdrawn() -> None:
    world = World()
    token = sign_claims(KEY, world.body)
    assert await world.is_accepted(token)
    world.keys = ()
    assert "unknown key" in await world.refusal(token)


async def test_a_token_is_refused_when_its_key_id_names_another_key() -> None:
    world = World()
    token = sign_claims(KEY, world.body)
    assert await world.is_accepted(token)
    world.keys = (ec_key("one"),)
    assert "signature does not hold" in await world.refusal(token)


async def test_the_same_key_fetched_anew_verifies_anew() -> None:
    world = World()
    token = sign_claims(KEY, world.body)
    assert await world.is_accepted(token)
    world.keys = (type(KEY).import_key(KEY.as_dict(private=False)),)
    with patch.object(jws, "validate_compact", wraps=jws.validate_compact) as computed:
        assert await world.is_accepted(token)
        assert await world.is_accepted(token)
    assert computed.call_count == 1


async def test_no_other_signature_profits_from_a_proven_one() -> None:
    world = World()
    token = sign_claims(KEY, world.body)
    assert await world.is_accepted(token)
    other = sign_claims(KEY, world.body | {"sub": "eve"}).rpartition(".")[0]
    assert "signature does not hold" in await world.refusal(f"{other}.{token.rpartition('.')[2]}")


async def test_a_refused_token_is_refused_again() -> None:
    world = World()
    token = sign_claims(ec_key("one"), world.body)
    for _ in range(2):
        assert "signature does not hold" in await world.refusal(token)


async def test_tokens_of_many_roles_push_each_other_out() -> None:
    kept = TokenCache(lambda: 0.0)
    world = World()
    caller = await world.authenticator.caller_of(bearer(sign_claims(KEY, world.body)))
    roles = {f"/g{n}": next(iter(caller.roles.values())) for n in range(MAX_CACHED_ROLES // 2)}
    large = type(caller)("ana", roles)  # type: ignore[arg-type]
    for token in (b"one", b"two", b"three"):
        kept.put(token, VerifiedToken(large, 0, 1, (KEY,)))
    assert [kept.get(token) is not None for token in (b"one", b"two", b"three")] == [
        False,
        True,
        True,
    ]
