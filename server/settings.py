"""Every environment variable, once: typed, checked together, frozen."""

import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from server.urls import is_secure

PREFIX = "PENSTOCK_"

Algorithm = Literal[
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512",
    "ES256", "ES384", "ES512", "EdDSA", "Ed25519",
]  # fmt: skip

_HOST = re.compile(r"(\*\.)?[a-z0-9.-]+|\[[0-9a-f:.]+\]|\*")
_ORIGIN = re.compile(r"https?://(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::\d+)?")


class InvalidSettings(Exception):
    """The settings make no sense; `problems` holds one sentence for every one that was found."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class Settings(BaseSettings):
    """What an operator may choose. Lists are comma-separated; an empty variable counts as unset."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, extra="forbid", frozen=True
    )

    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(
        8000, ge=0, le=65535, description="TCP port to listen on; 0 takes a free one."
    )
    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Host names that requests may be sent to, `*.example.org` for all below one. "
        "Empty allows every name, but only those of this machine while listening on loopback. "
        "The health endpoints answer under any name.",
    )
    allowed_origins: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Origins (`https://app.example.org`) of other sites whose pages may call the "
        "server. Empty allows its own pages only.",
    )
    data_dir: Path = Field(
        Path("data"),
        description="Directory for the embedded store and the development key; made when missing.",
    )
    store: Literal["sqlite", "dynamodb"] = Field(
        "sqlite",
        description="Where items are kept: `sqlite` (a file in the data directory) or `dynamodb`.",
    )
    table: str = Field(
        "penstock", pattern=r"^[A-Za-z0-9_.-]{3,255}$", description="Name of the DynamoDB table."
    )
    region: str | None = Field(
        None, description="AWS region. By default the one that the AWS configuration names."
    )
    endpoint_url: str | None = Field(
        None, pattern="^https?://", description="URL of DynamoDB, where it is not that of AWS."
    )
    bucket: str | None = Field(
        None, min_length=3, max_length=63, description="Name of the S3 bucket for files."
    )
    s3_endpoint_url: str | None = Field(
        None, pattern="^https?://", description="URL of S3, where it is not that of AWS."
    )
    seed: bool = Field(
        True,
        description="Whether an empty embedded store is filled with an example at first start.",
    )

    issuer: str | None = Field(
        None,
        description="URL of the OpenID Connect issuer whose tokens are accepted, exactly as in the "
        "`iss` claim. Without one the server accepts development tokens only.",
    )
    audience: str | None = Field(
        None,
        validate_default=True,
        description="The `aud` that tokens must be meant for. Required with an issuer.",
    )
    jwks_url: str | None = Field(
        None,
        description="URL of the issuer's keys. By default the one in its "
        "`/.well-known/openid-configuration`.",
    )
    algorithms: Annotated[tuple[Algorithm, ...], NoDecode] = Field(
        ("RS256", "PS256", "ES256", "EdDSA", "Ed25519"),
        description="Signature algorithms that the issuer's tokens may use.",
    )
    roles_claim: str = Field(
        "penstock:roles", min_length=1, description="Claim that holds the roles of the user."
    )
    default_group_claim: str = Field(
        "penstock:defaultGroup",
        min_length=1,
        description="Claim that names the group to use where a request names none.",
    )
    clock_skew_seconds: int = Field(
        60, ge=0, le=600, description="How far the issuer's clock may be off, in seconds."
    )

    api_key_max_days: int = Field(
        365, gt=0, le=3650, description="Longest life of an API key, in days."
    )
    api_key_cache_seconds: float = Field(
        5, ge=0, le=60, description="How long a revoked API key may still be accepted, in seconds."
    )

    graphiql: bool | None = Field(
        None,
        description="Whether the GraphiQL page is served. By default only without an issuer.",
    )
    introspection: Literal["authenticated", "off"] = Field(
        "authenticated", description="Who may read the schema by introspection."
    )
    http_statuses: Literal["2025", "draft"] = Field(
        "2025",
        description="Statuses of GraphQL answers: those of the published audit suite (`2025`), or "
        "422, 294 and 405 as in the working draft of GraphQL over HTTP (`draft`).",
    )
    max_body_bytes: int = Field(1_000_000, gt=0, description="Largest request body, in bytes.")
    max_document_chars: int = Field(
        50_000, gt=0, description="Longest GraphQL document, in characters."
    )
    max_tokens: int = Field(2_000, gt=0, description="Most tokens in a document.")
    max_comments: int = Field(200, ge=0, description="Most comments in a document.")
    max_depth: int = Field(12, gt=0, description="Deepest nesting of fields in an operation.")
    max_aliases: int = Field(30, ge=0, description="Most aliases in an operation.")
    max_directives: int = Field(50, ge=0, description="Most directives in an operation.")
    max_fields: int = Field(
        2_000,
        gt=0,
        description="Most fields in an operation, each fragment counted where it is used.",
    )
    max_operations: int = Field(10, gt=0, description="Most operations in a document.")
    max_mutation_fields: int = Field(10, gt=0, description="Most root fields in a mutation.")
    max_cost: int = Field(5_000, gt=0, description="Highest computed cost of an operation.")
    rate_limit_per_second: float = Field(
        2_000,
        ge=0,
        description="Cost that one caller may spend a second in each server process, so divide by "
        "their number; 0 for no limit. An operation spends its computed cost, 1 at least.",
    )
    rate_limit_burst: int = Field(
        20_000, gt=0, description="Cost that one caller may spend at once after a pause, likewise."
    )
    max_errors: int = Field(5, gt=0, description="Most errors reported for one document.")
    deadline_seconds: float = Field(
        10, gt=0, description="Time for an operation, in seconds; TIMEOUT afterwards."
    )
    body_read_seconds: float = Field(
        2, gt=0, description="Time for the client to send a request body, in seconds."
    )
    max_streams_per_caller: int = Field(
        20,
        gt=0,
        description="Most WebSocket connections and event streams that one caller may hold open in "
        "one server process.",
    )
    max_stream_operations: int = Field(
        50, gt=0, description="Most operations that run at once over one WebSocket connection."
    )
    stream_messages_per_second: int = Field(
        50,
        gt=0,
        description="Messages a second that are read from a WebSocket connection; a second's worth "
        "may come at once, more are left waiting.",
    )
    stream_queue: int = Field(
        16,
        gt=0,
        description="Answers kept for a stream whose client reads slowly. When they are as many, "
        "subscriptions wait; those to changes then skip to the latest.",
    )
    stream_init_seconds: float = Field(
        10,
        gt=0,
        description="Time for the client of a WebSocket connection to send `connection_init`, in "
        "seconds.",
    )
    change_poll_seconds: float = Field(
        1,
        gt=0,
        description="How often the store is asked for changes that somebody is subscribed to, in "
        "seconds. Each time costs half a read unit or more for each row that is followed.",
    )
    search_max_units: int = Field(
        500,
        gt=0,
        description="Read units a search by tags may use before it ends with a short page.",
    )
    search_max_round_trips: int = Field(
        50, gt=0, description="Round trips to the store a search by tags may make before it does."
    )
    metrics: bool = Field(
        True,
        description="Whether `/metrics` is served, to whoever can connect. It holds counts and "
        "times, and nothing that a client sent.",
    )
    access_log: bool = Field(
        True,
        description="Whether each operation is logged: its name, type and digest, how it went and "
        "what it cost.",
    )
    shutdown_seconds: int = Field(
        10,
        gt=0,
        description="Time for requests to be answered after the server is told to stop, in "
        "seconds. Those that are not get 503.",
    )
    log_format: Literal["text", "json"] = Field(
        "text", description="Form of the log: `text` for people, or one JSON object a line."
    )
    debug: bool = Field(
        False, description="Whether the command line shows the traceback of an unexpected failure."
    )

    @classmethod
    def load(cls, **given: Any) -> Self:
        """Read the environment, `given` values (flags; None where absent) first.

        Raises InvalidSettings with every problem.
        """
        try:
            return cls(**{name: value for name, value in given.items() if value is not None})
        except ValidationError as error:
            raise InvalidSettings(_problems(error)) from None

    @property
    def serves_graphiql(self) -> bool:
        return self.issuer is None if self.graphiql is None else self.graphiql

    @field_validator("allowed_hosts", "allowed_origins", "algorithms", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        return tuple(part.strip() for part in value.split(",") if part.strip())

    @field_validator("algorithms")
    @classmethod
    def _check_algorithms(cls, algorithms: tuple[Algorithm, ...]) -> tuple[Algorithm, ...]:
        if not algorithms:
            raise ValueError("must name at least one algorithm")
        return algorithms

    @field_validator("allowed_hosts")
    @classmethod
    def _check_hosts(cls, hosts: tuple[str, ...]) -> tuple[str, ...]:
        lower = tuple(host.lower() for host in hosts)
        if wrong := [host for host in lower if not _HOST.fullmatch(host)]:
            raise ValueError(f"{wrong[0]!r} is not a host name without a port")
        return lower

    @field_validator("allowed_origins")
    @classmethod
    def _check_origins(cls, origins: tuple[str, ...]) -> tuple[str, ...]:
        lower = tuple(origin.lower() for origin in origins)
        if wrong := [origin for origin in lower if not _ORIGIN.fullmatch(origin)]:
            raise ValueError(f"{wrong[0]!r} is not of the form https://host or https://host:port")
        return lower

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


def _problems(error: ValidationError) -> tuple[str, ...]:
    found = []
    for problem in error.errors(include_url=False):
        name = f"{PREFIX}{str(problem['loc'][0]).upper()}" if problem["loc"] else PREFIX
        message = problem["msg"].removeprefix("Value error, ")
        got = "" if problem["input"] is None else f" (got {str(problem['input'])[:60]!r})"
        found.append(f"{name}: {message[0].lower()}{message[1:]}{got}")
    return tuple(found)
