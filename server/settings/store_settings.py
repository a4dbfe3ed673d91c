"""The settings of the store: its table, its bucket, the buckets of users, and conversions."""

from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationInfo, field_validator
from pydantic_settings import BaseSettings

from penstock.datastore.dynamodb.protocol import DEFAULT_CLIENT, ClientKind

DATABASE = "penstock.db"
_ENDPOINT = r"^https?://[^/?#@\s]+(/[^?#\s]*)?$"
"""A URL without credentials and without a query, which may hold a secret."""


class StoreSettings(BaseSettings):
    """The places of items and files, and the ways to reach them."""

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
        None,
        pattern=r"^[a-z0-9-]{1,64}$",
        description="AWS region. By default that of `AWS_REGION`, `AWS_DEFAULT_REGION` or the AWS "
        "configuration.",
    )
    endpoint_url: str | None = Field(
        None, pattern=_ENDPOINT, description="URL of DynamoDB, if it is not AWS's."
    )
    dynamodb_client: ClientKind = Field(
        DEFAULT_CLIENT,
        description="DynamoDB client: `thin`, or AWS's library (`stock`), which proxies always "
        "need.",
    )
    dynamodb_connections: int = Field(
        64, gt=0, le=1000, description="Most connections of a process to DynamoDB."
    )
    dynamodb_connect_seconds: float = Field(
        1, gt=0, le=60, description="Longest time to connect to DynamoDB, in seconds."
    )
    dynamodb_read_seconds: float = Field(
        3,
        gt=0,
        le=60,
        description="Longest time without a byte of an answer of DynamoDB, in seconds; then the "
        "request is sent again.",
    )
    dynamodb_call_seconds: float = Field(
        8,
        gt=0,
        le=60,
        description="Longest time of a call of DynamoDB with all its repetitions, in seconds.",
    )
    bucket: str | None = Field(
        None,
        validate_default=True,
        pattern=r"^[A-Za-z0-9._-]{3,63}$",
        description="Name of the S3 bucket for files.",
    )
    s3_endpoint_url: str | None = Field(
        None, pattern=_ENDPOINT, description="URL of S3, if it is not AWS's."
    )
    kms_key: str | None = Field(
        None,
        pattern="^[A-Za-z0-9:/_-]{1,2048}$",
        description="Id or ARN of the KMS key that encrypts the access keys of users' own buckets, "
        "on `dynamodb`. Without it the server stores no such access keys. The embedded store uses "
        "a key in the data directory.",
    )
    previous_kms_key: str | None = Field(
        None,
        pattern="^[A-Za-z0-9:/_-]{1,2048}$",
        description="Id or ARN of the KMS key before, while `penstock table reseal` has not yet "
        "encrypted everything anew: what it encrypted can still be used.",
    )
    assume_roles: bool = Field(
        False,
        description="Whether users may connect their own buckets by IAM roles that the server "
        "assumes, on `dynamodb`.",
    )
    private_endpoints: bool = Field(
        False,
        description="Whether users may connect buckets at addresses that are not public, and over "
        "http. Every user who can sign in then makes the server send requests on its own network.",
    )
    ffmpeg: str | None = Field(
        None,
        min_length=1,
        description="Path or name of the program FFmpeg, by which the server converts audio to "
        "another format or a lower bit rate. Without it audio is served as it is.",
    )
    ffmpeg_processes: int = Field(
        1,
        ge=1,
        le=64,
        description="Most conversions of audio that run at once in one server process. Each uses "
        "one core, and up to 2 GiB of addresses.",
    )
    seed: bool = Field(
        True,
        description="Whether an empty embedded store is filled with an example at first start.",
    )

    @field_validator("bucket")
    @classmethod
    def _check_bucket(cls, bucket: str | None, info: ValidationInfo) -> str | None:
        if info.data.get("ngsi") and info.data.get("store") == "dynamodb" and bucket is None:
            raise ValueError("is required with PENSTOCK_NGSI=true: what is taken is kept there")
        return bucket
