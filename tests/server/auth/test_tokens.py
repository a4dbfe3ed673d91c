"""The caller that a token stands for, and every refusal of a token."""

import hashlib
import hmac
import json
from collections.abc import Mapping
from contextlib import nullcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st
from joserfc import jws
from joserfc.jwk import ECKey, Key, OKPKey, RSAKey
from starlette.datastructures import Headers

from penstock.datastore.roles import Role
from penstock.server.auth.tokens import TokenAuthenticator, TokenRules
from tests.server.auth.signed_tokens import (
    KEY,
    RULES,
    FixedKeys,
    bearer,
    claims,
    ec_key,
    encode_part,
    refusal,
    sign_claims,
)

RSA = RSAKey.generate_key(2048, {"kid": "rsa"})
EDWARDS = OKPKey.generate_key("Ed25519", {"kid": "edwards"})


ACCEPTED = TokenAuthenticator(
    TokenRules(**(RULES | {"algorithms": ("RS256", "ES256", "EdDSA", "Ed25519")})),
    FixedKeys(KEY, RSA, EDWARDS),
)


async def refusal_of(headers: Mapping[str, object]) -> str:
    return await refusal(ACCEPTED, headers)


async def test_a_token_names_its_user_and_roles() -> None:
    roles = {"/USA": "admin", "/usa/Northwest": "reader"}
    body = claims(**{"penstock:roles": roles, "penstock:defaultGroup": "/usa/northwest/x"})
    caller = await ACCEPTED.caller_of(bearer(sign_claims(KEY, body)))
    assert caller.user_id == "ana"
    assert dict(caller.roles) == {"/usa": Role.ADMIN, "/usa/northwest": Role.READER}
    assert caller.default_group == "/usa/northwest/x"


@pytest.mark.parametrize(
    ("key", "algorithm"), [(KEY, "ES256"), (RSA, "RS256"), (EDWARDS, "EdDSA"), (EDWARDS, "Ed25519")]
)
async def test_every_allowed_algorithm_is_accepted(key: Key, algorithm: str) -> None:
    with pytest.warns() if algorithm == "EdDSA" else nullcontext():  # when signing
        token = sign_claims(key, claims(), algorithm)
    assert (await ACCEPTED.caller_of(bearer(token))).user_id == "ana"


@pytest.mark.parametrize("name", ["authorization", "Authorization", "AUTHORIZATION"])
@pytest.mark.parametrize("scheme", ["Bearer ", "bearer ", " BEARER  "])
async def test_the_header_and_its_scheme_are_read_in_any_case(name: str, scheme: str) -> None:
    caller = await ACCEPTED.caller_of({name: scheme + sign_claims(KEY, claims())})
    assert caller.user_id == "ana"


async def test_headers_of_a_request_are_understood_and_must_not_repeat() -> None:
    value = f"Bearer {sign_claims(KEY, claims())}".encode()
    once = Headers(raw=[(b"authorization", value)])
    assert (await ACCEPTED.caller_of(once)).user_id == "ana"
    twice = Headers(raw=[(b"authorization", value), (b"authorization", value)])
    assert "given once" in await refusal_of(twice)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"cookie": "token"},
        {"authorization": ""},
        {"authorization": "Bearer"},
        {"authorization": "Bearer "},
        {"authorization": "Basic YTpi"},
        {"authorization": "Bearer ä.b.c"},
        {"authorization": "Bearer a b"},
        {"authorization": "Bearer a"},
        {"authorization": "Bearer a.b"},
        {"authorization": "Bearer a.b.c.d.e"},
        {"authorization": "Bearer ..."},
        {"authorization": ["Bearer a.b.c"]},
        {"authorization": None},
        {"authorization": "Bearer " + "a" * 200_000},
    ],
)
async def test_what_is_not_a_token_is_refused(headers: dict[str, object]) -> None:
    assert await refusal_of(headers)


def sign_text(payload: str) -> str:
    head = {"alg": "ES256", "kid": KEY.kid}
    return jws.serialize_compact(head, payload, KEY, algorithms=["ES256"])


@pytest.mark.parametrize(
    ("once", "twice"),
    [
        ('"sub":"ana"', '"sub":"ana","sub":"ben"'),
        ('"sub":"ana"', '"sub":"ana","sub":"ana"'),
        ('{"/usa":"reader"}', '{"/usa":"reader","/usa":"admin"}'),
    ],
)
async def test_claims_that_give_one_name_twice_are_refused(once: str, twice: str) -> None:
    text = json.dumps(claims(**{"penstock:roles": {"/usa": "reader"}}), separators=(",", ":"))
    assert once in text
    assert (await ACCEPTED.caller_of(bearer(sign_text(text)))).user_id == "ana"
    refused = await refusal_of(bearer(sign_text(text.replace(once, twice))))
    assert refused == "The token's claims give one name twice."


@pytest.mark.parametrize("end", ["\n", "\r", "\u2028", "\u2029", "\x85"])
async def test_a_user_id_of_two_lines_is_refused(end: str) -> None:
    assert await refusal_of(bearer(sign_claims(KEY, claims(sub=f"ana{end}ben"))))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
HEADER_NAMES = st.sampled_from(["alg", "kid", "typ", "crit", "b64", "jwk", "x5c", "zip"])
HEADERS = st.dictionaries(HEADER_NAMES, st.sampled_from(["ES256", "one", "none"]) | JSON) | JSON


@given(HEADERS, st.binary(max_size=8), st.binary(max_size=70))
async def test_no_header_or_signature_does_more_than_be_refused(
    header: object, payload: bytes, signature: bytes
) -> None:
    assert await refusal_of(
        bearer(f"{encode_part(header)}.{encode_part(payload)}.{encode_part(signature)}")
    )


@pytest.mark.parametrize("header", [b"[" * 380, b"\xff", b'{"alg":' + b"9" * 370 + b"}", b"alg"])
async def test_a_header_that_is_hard_to_read_is_refused(header: bytes) -> None:
    assert "malformed" in await refusal_of(bearer(f"{encode_part(header)}.e30.AA"))


@given(JSON)
async def test_signed_claims_of_any_form_make_no_caller(body: object) -> None:
    token = signed_bytes(json.dumps(body).encode())
    assert await refusal_of(bearer(token))


@pytest.mark.parametrize(
    "payload", [b"", b"\xff", b"null", b"[]", b"{}", b"[" * 90_000, b'{"sub":"\xed\xa0\x80"}']
)
async def test_signed_bytes_that_are_no_claims_make_no_caller(payload: bytes) -> None:
    assert await refusal_of(bearer(signed_bytes(payload)))


def signed_bytes(payload: bytes) -> str:
    return jws.serialize_compact({"alg": "ES256", "kid": "one"}, payload, KEY)


@pytest.mark.parametrize("algorithm", ["none", "None", "NONE", "", "HS256", "RS1"])
async def test_an_algorithm_off_the_list_is_refused(algorithm: str) -> None:
    head, body = encode_part({"alg": algorithm, "kid": "one"}), encode_part(claims())
    assert "its algorithm is none of those" in await refusal_of(bearer(f"{head}.{body}."))


@pytest.mark.parametrize("key", [KEY, RSA, EDWARDS])
async def test_a_public_key_is_no_secret_to_sign_with(key: ECKey | RSAKey | OKPKey) -> None:
    secrets = [key.as_pem(private=False), json.dumps(key.as_dict(private=False)).encode()]
    for secret in secrets:
        message = f"{encode_part({'alg': 'HS256', 'kid': key.kid})}.{encode_part(claims())}"
        mac = hmac.new(secret, message.encode(), hashlib.sha256).digest()
        assert "its algorithm is none of those" in await refusal_of(
            bearer(f"{message}.{encode_part(mac)}")
        )


async def test_a_key_of_one_kind_does_not_verify_for_another_algorithm() -> None:
    token = sign_claims(ec_key("rsa"), claims())
    assert await refusal_of(bearer(token)) == "The token is signed with an unknown key."
    token = sign_claims(KEY, claims(), kid="edwards")
    assert await refusal_of(bearer(token)) == "The token is signed with an unknown key."


async def test_a_changed_payload_breaks_the_signature() -> None:
    head, _, signature = sign_claims(KEY, claims()).split(".")
    forged = f"{head}.{encode_part(claims(sub='eve'))}.{signature}"
    assert await refusal_of(bearer(forged)) == "The token's signature does not hold."
    other = sign_claims(ec_key("one"), claims())
    assert await refusal_of(bearer(other)) == "The token's signature does not hold."


async def test_a_key_carried_by_the_token_is_not_trusted() -> None:
    eve = ec_key("one")
    token = sign_claims(eve, claims(), jwk=eve.as_dict(private=False, use="sig"))
    assert await refusal_of(bearer(token))


async def test_headers_that_are_not_known_are_ignored_unless_critical() -> None:
    token = signed_with_header({"alg": "ES256", "kid": "one", "client": "x"})
    assert (await ACCEPTED.caller_of(bearer(token))).user_id == "ana"
    assert await refusal_of(
        bearer(signed_with_header({"alg": "ES256", "kid": "one", "crit": ["x"]}))
    )


def signed_with_header(header: dict[str, object]) -> str:
    message = f"{encode_part(header)}.{encode_part(claims())}"
    signature = jws.JWSRegistry.algorithms["ES256"].sign(message.encode(), KEY)
    return f"{message}.{encode_part(signature)}"


async def test_a_token_without_key_id_needs_a_key_that_stands_alone() -> None:
    token = sign_claims(KEY, claims(), kid=None)
    assert (await ACCEPTED.caller_of(bearer(token))).user_id == "ana"
    two = TokenAuthenticator(TokenRules(**RULES), FixedKeys(KEY, ec_key("two")))
    assert await refusal(two, bearer(token)) == "The token is signed with an unknown key."
