"""The required claims of a token, and the caller they describe."""

from typing import Any

import pytest

from penstock.datastore.errors import NotAuthenticated
from penstock.datastore.roles import Role
from penstock.server.auth.tokens import TokenAuthenticator, TokenRules
from tests.server.auth.signed_tokens import (
    ISSUER,
    KEY,
    RULES,
    FixedKeys,
    bearer,
    refusal,
    sign_claims,
)
from tests.server.auth.signed_tokens import claims as usual_claims

AUDIENCE_AND_MORE = ["other", RULES["audience"]]
NOW = 1_800_000_000
"""The time of every test; a time that is read at import would be old when a test runs."""

ACCEPTED = TokenAuthenticator(TokenRules(**RULES), FixedKeys(KEY), lambda: NOW)


def claims(**changes: Any) -> dict[str, Any]:
    """Return claims that are valid now, with changes."""
    return usual_claims(**({"iat": NOW, "exp": NOW + 300} | changes))


async def refusal_of(**changes: Any) -> str:
    return await refusal(ACCEPTED, bearer(sign_claims(KEY, claims(**changes))))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"exp": NOW - 120}, "expired"),
        ({"exp": None}, "The token is not accepted: it has no claim `exp`."),
        ({"exp": "soon"}, "The token is not accepted: its claim `exp` is not a time."),
        ({"exp": True}, "exp"),
        ({"nbf": NOW + 600}, "its claim `nbf` is not a time that has come."),
        ({"nbf": "x"}, "its claim `nbf` is not a time that has come."),
        ({"iat": NOW + 600}, "its claim `iat` is not a time that has come."),
        ({"iat": []}, "iat"),
        ({"iss": None}, "iss"),
        ({"iss": ISSUER + "/"}, "iss"),
        ({"iss": [ISSUER]}, "iss"),
        (
            {"iss": "penstock-dev"},
            "The token is not accepted: its claim `iss` is not the one that is wanted.",
        ),
        ({"aud": None}, "aud"),
        ({"aud": "other"}, "aud"),
        ({"aud": ["other", "more"]}, "aud"),
        ({"aud": []}, "aud"),
        ({"sub": None}, "sub"),
        ({"sub": ""}, "sub"),
        ({"sub": "  "}, "empty"),
        ({"sub": 7}, "sub"),
        ({"sub": "a\nb"}, "U+000A"),
        ({"sub": "a" * 256}, "255"),
        ({"sub": "ann\u200b"}, "U+200B"),
        ({"sub": "a\u202eb"}, "U+202E"),
    ],
)
async def test_a_claim_that_does_not_hold_is_refused(changes: dict[str, Any], words: str) -> None:
    assert words in await refusal_of(**changes)


async def test_the_clocks_may_differ_by_the_skew() -> None:
    late = claims(exp=NOW - 50, nbf=NOW + 50, iat=NOW + 50)
    assert (await ACCEPTED.caller_of(bearer(sign_claims(KEY, late)))).user_id == "ana"
    rules = TokenRules(**(RULES | {"clock_skew": 0}))
    strict = TokenAuthenticator(rules, FixedKeys(KEY), lambda: NOW)
    with pytest.raises(NotAuthenticated, match="expired"):
        await strict.caller_of(bearer(sign_claims(KEY, claims(exp=NOW - 1))))


async def test_one_of_several_audiences_suffices() -> None:
    body = claims(aud=AUDIENCE_AND_MORE)
    assert (await ACCEPTED.caller_of(bearer(sign_claims(KEY, body)))).user_id == "ana"


@pytest.mark.parametrize(
    ("claim", "roles"),
    [
        ({"/": "admin"}, {"/": Role.ADMIN}),
        (["/usa=admin", "/Emea=reader"], {"/usa": Role.ADMIN, "/emea": Role.READER}),
        (["/usa|||contributor"], {"/usa": Role.CONTRIBUTOR}),
        (["/a=b=reader"], {"/a=b": Role.READER}),
        (["/a=b|||reader"], {"/a=b": Role.READER}),
        (["/usa=admin", "/USA=admin"], {"/usa": Role.ADMIN}),
        ({}, {}),
        ([], {}),
        (None, {}),
    ],
)
async def test_roles_are_read_in_each_of_their_forms(claim: Any, roles: dict[str, Role]) -> None:
    body = claims(**{"penstock:roles": claim})
    caller = await ACCEPTED.caller_of(bearer(sign_claims(KEY, body)))
    assert dict(caller.roles) == roles


@pytest.mark.parametrize(
    "claim",
    [
        "admin",
        7,
        True,
        {"/usa": "Admin"},
        {"/usa": "owner"},
        {"/usa": 3},
        {"/usa": None},
        {"/usa": ["admin"]},
        {"usa": "admin"},
        {"/usa/": "admin"},
        {"": "admin"},
        {"/usa": "admin", "/emea/": "reader"},
        {"/usa": "admin", "/USA": "reader"},
        ["/usa"],
        ["/usa=admin", 7],
        ["/usa=admin", "/usa=reader"],
        ["admin=/usa"],
        ["=admin"],
        ["/usa= admin"],
        [["/usa", "admin"]],
    ],
)
async def test_malformed_roles_are_refused_never_skipped(claim: Any) -> None:
    assert (await refusal_of(**{"penstock:roles": claim})).startswith("The token is not accepted")


@pytest.mark.parametrize(
    ("roles", "group"),
    [
        ({"/usa/northwest": "reader"}, "/usa/northwest"),
        ({"/usa/b": "reader", "/zoo": "reader", "/emea": "admin"}, "/emea"),
        ({"/usa": "reader", "/": "reader"}, "/"),
        ({}, None),
    ],
)
async def test_without_the_claim_the_shallowest_group_is_the_default(
    roles: dict[str, str], group: str | None
) -> None:
    body = claims(**{"penstock:roles": roles})
    assert (await ACCEPTED.caller_of(bearer(sign_claims(KEY, body)))).default_group == group


@pytest.mark.parametrize("group", ["/", "/usa2", "/emea", "usa", "/usa/", "", 7, ["/usa"]])
async def test_a_default_group_that_the_roles_do_not_cover_is_refused(group: object) -> None:
    assert "The token is not accepted" in await refusal_of(**{"penstock:defaultGroup": group})


async def test_claims_may_have_other_names() -> None:
    rules = TokenRules(**RULES, roles_claim="groups", default_group_claim="home")
    body = claims(groups=["/emea=reader"], home="/emea/x")
    caller = await TokenAuthenticator(rules, FixedKeys(KEY), lambda: NOW).caller_of(
        bearer(sign_claims(KEY, body))
    )
    assert (dict(caller.roles), caller.default_group) == ({"/emea": Role.READER}, "/emea/x")
