"""The settings by which callers prove who they are."""

from typing import Literal

from pydantic import Field, ValidationInfo, field_validator
from pydantic_settings import BaseSettings

from penstock.server.settings.comma_lists import CommaList
from penstock.server.settings.secure_urls import is_secure

Algorithm = Literal[
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512",
    "ES256", "ES384", "ES512", "EdDSA", "Ed25519",
]  # fmt: skip


class SignInSettings(BaseSettings):
    """The issuer of tokens, the claims that are read in them, and API keys."""

    issuer: str | None = Field(
        None,
        description="URL of the OpenID Connect issuer whose tokens are accepted, exactly as in the "
        "`iss` claim. Without one the server accepts development tokens only.",
    )
    audience: str | None = Field(
        None,
        validate_default=True,
        description="The `aud` claim that tokens must have. Required with an issuer.",
    )
    jwks_url: str | None = Field(
        None,
        description="URL of the issuer's keys. By default the one in its "
        "`/.well-known/openid-configuration`.",
    )
    algorithms: CommaList[Algorithm] = Field(
        ("RS256", "PS256", "ES256", "EdDSA", "Ed25519"),
        description="Signature algorithms that the issuer's tokens may use.",
    )
    roles_claim: str = Field(
        "penstock:roles", min_length=1, description="Claim that holds the roles of the user."
    )
    default_group_claim: str = Field(
        "penstock:defaultGroup",
        min_length=1,
        description="Claim with the group of requests that name none.",
    )
    clock_skew_seconds: int = Field(
        60, ge=0, le=600, description="Largest difference to the issuer's clock, in seconds."
    )

    api_key_max_days: int = Field(
        365, gt=0, le=3650, description="Longest life of an API key, in days."
    )
    api_key_cache_seconds: float = Field(
        5,
        ge=0,
        le=60,
        description="Longest time for which a revoked API key may still be accepted, in seconds.",
    )

    @field_validator("algorithms")
    @classmethod
    def _check_algorithms(cls, algorithms: tuple[Algorithm, ...]) -> tuple[Algorithm, ...]:
        if not algorithms:
            raise ValueError("must name at least one algorithm")
        return algorithms

    @field_validator("issuer", "jwks_url")
    @classmethod
    def _check_url(cls, url: str | None, info: ValidationInfo) -> str | None:
        if url is not None and not is_secure(url):
            raise ValueError("must be an https URL (http only for this machine)")
        if url is not None and info.field_name == "jwks_url" and not info.data.get("issuer", url):
            raise ValueError("has no meaning without an issuer")
        return url

    @field_validator("audience")
    @classmethod
    def _check_audience(cls, audience: str | None, info: ValidationInfo) -> str | None:
        if info.data.get("issuer") and not audience:
            raise ValueError("is required with an issuer, or tokens for other services would pass")
        return audience
