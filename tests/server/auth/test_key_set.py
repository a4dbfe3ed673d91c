"""The entries of a key set that are usable keys, and the keys that may verify a token."""

from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from joserfc.jwk import Key, OctKey, OKPKey, RSAKey

from penstock.server.auth.jwks import MAX_KEYS, FetchFailed, keys_from, pick_key
from tests.server.auth.signed_tokens import ec_key


def test_keys_that_cannot_verify_are_left_out() -> None:
    with pytest.warns(match="2048"):
        short = RSAKey.generate_key(1024, {"kid": "short"})
    secret = OctKey.generate_key(256, {"kid": "secret"})
    key = ec_key("one")
    entries = [
        short.as_dict(private=False),
        secret.as_dict(private=True),
        {"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA", "kid": "off the curve"},
        {"kty": "EC", "crv": 7, "kid": "no curve"},
        {"kty": "OKP", "crv": "X25519", "x": "A" * 43, "kid": "exchange"},
        {"kty": "ML-DSA", "kid": "later"},
        {"kty": []},
        "not a key",
        key.as_dict(private=False),
    ]
    keys = keys_from({"keys": entries})
    assert pick_key(keys, "one", "ES256") is keys[-1]
    assert [key.kid for key in keys] == ["one"]


def test_a_set_of_very_many_keys_is_refused_before_one_is_read() -> None:
    key = ec_key("one").as_dict(private=False)
    assert len(keys_from({"keys": [key] * MAX_KEYS})) == MAX_KEYS
    with pytest.raises(FetchFailed, match="more than 64 keys"):
        keys_from({"keys": [key] * MAX_KEYS + [None]})


@pytest.mark.parametrize("name", ["n", "e"])
def test_a_key_of_a_very_large_number_is_left_out(name: str) -> None:
    key = RSAKey.generate_key(2048, {"kid": "one"}).as_dict(private=False)
    assert len(keys_from({"keys": [key]})) == 1
    assert keys_from({"keys": [{**key, name: "_" * 2_732}]}) == ()


PRIVATE: Final = ("d", "p", "q", "dp", "dq", "qi", "oth")


@pytest.mark.parametrize(
    ("kty", "members"),
    [("RSA", PRIVATE), ("RSA", ("d",)), ("EC", ("d",)), ("OKP", ("d",)), ("EC", ("x5c",))],
)
def test_of_a_key_only_its_public_part_is_read(kty: str, members: tuple[str, ...]) -> None:
    made: dict[str, Key] = {
        "RSA": RSAKey.generate_key(2048, {"kid": "one"}),
        "EC": ec_key("one"),
        "OKP": OKPKey.generate_key("Ed25519", {"kid": "one"}),
    }
    public = made[kty].as_dict(private=False)
    # The library would look for the primes that fit, and find none.
    (key,) = keys_from({"keys": [public | dict.fromkeys(members, "w" * 342)]})
    assert not key.is_private
    assert key.as_dict() == public


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just("A" * 43),
    lambda inner: st.lists(inner, max_size=2),
    max_leaves=3,
)


@given(
    st.sampled_from(["RSA", "EC", "OKP", "oct"]),
    st.sampled_from(["P-256", "Ed25519", "X448", "secp256k1", "none", 7]),
    st.dictionaries(
        st.sampled_from(["n", "e", "x", "y", "d", "kid", "use", "alg", "key_ops"]), JSON
    ),
)
def test_no_entry_of_a_key_set_spoils_the_others(
    kty: str, crv: object, members: dict[str, object]
) -> None:
    good = ec_key("one").as_dict(private=False)
    keys = keys_from({"keys": [{"kty": kty, "crv": crv} | members, good]})
    assert [pick_key([key], None, "ES256") for key in keys][-1] is not None


def test_a_key_must_be_meant_for_the_algorithm() -> None:
    rsa = RSAKey.generate_key(2048, {"kid": "r", "alg": "RS256"})
    key = ec_key("e")
    edwards = OKPKey.generate_key("Ed25519", {"kid": "o", "use": "enc"})
    keys = (rsa, key, edwards)
    assert pick_key(keys, "r", "RS256") is rsa
    assert pick_key(keys, "r", "PS256") is None
    assert pick_key(keys, "r", "ES256") is None
    assert pick_key(keys, "e", "ES256") is key
    assert pick_key(keys, "e", "ES384") is None
    assert pick_key(keys, "o", "Ed25519") is None


def test_without_an_id_only_the_one_fitting_key_is_taken() -> None:
    one, two = ec_key("one"), ec_key("two")
    rsa = RSAKey.generate_key(2048, {"kid": "r"})
    assert pick_key((one, rsa), None, "ES256") is one
    assert pick_key((one, two), None, "ES256") is None
    assert pick_key((), None, "ES256") is None


def test_a_key_set_may_be_empty() -> None:
    assert keys_from({"keys": []}) == ()
