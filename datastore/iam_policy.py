"""The permissions that a server needs on AWS, action by action, as an IAM policy.

IAM has no action TransactWriteItems: each operation of a transaction needs its own action. A batch,
on the other hand, has an action of its own.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from penstock.datastore.ngsi.name_encoding import CONCATENATOR
from penstock.datastore.table.port import INDEX

Statement: TypeAlias = Mapping[str, Any]
Policy: TypeAlias = dict[str, Any]

TABLE: Final = (
    "dynamodb:BatchGetItem",
    "dynamodb:BatchWriteItem",
    "dynamodb:DeleteItem",
    "dynamodb:DescribeTable",
    "dynamodb:DescribeTimeToLive",
    "dynamodb:GetItem",
    "dynamodb:PutItem",
    "dynamodb:UpdateItem",
)
TABLE_AND_INDEX: Final = ("dynamodb:Query",)
MOVES: Final = ("dynamodb:Scan",)
"""For commands that read whole tables; a server never does."""
TABLE_SETUP: Final = (
    "dynamodb:CreateTable",
    "dynamodb:DescribeContinuousBackups",
    "dynamodb:UpdateContinuousBackups",
    "dynamodb:UpdateTable",
    "dynamodb:UpdateTimeToLive",
)
DESTINATIONS: Final = (
    "dynamodb:BatchGetItem",
    "dynamodb:BatchWriteItem",
    "dynamodb:CreateTable",
    "dynamodb:DescribeTable",
    "dynamodb:DescribeTimeToLive",
    "dynamodb:Query",
    "dynamodb:UpdateTimeToLive",
)
DESTINATIONS_SETUP: Final = ("dynamodb:GetItem", "dynamodb:Scan")
DESTINATION_NAMES: Final = f"*{CONCATENATOR}*"
"""The names of destinations: each has the concatenator behind the service, as hardly any other
table's name has."""
BUCKET: Final = ("s3:ListBucket", "s3:ListBucketMultipartUploads")
"""Includes the permission of HeadBucket; without it S3 answers 403 for a file that does not
exist."""
BUCKET_SETUP: Final = ("s3:GetBucketCORS",)
FILES: Final = ("s3:AbortMultipartUpload", "s3:DeleteObject", "s3:GetObject", "s3:PutObject")
"""A signed URL permits no more than its signer may do."""
VAULT: Final = ("kms:Decrypt", "kms:Encrypt")
ROLES: Final = ("sts:AssumeRole",)


def server_policy(
    table: str,
    bucket: str | None = None,
    *,
    region: str | None = None,
    account: str | None = None,
    setup: bool = False,
) -> Policy:
    """Write the policy of a server.

    With `setup` it also allows to create and examine the table and the bucket. Without a region or
    an account, it holds for the table of that name in every one.
    """
    where = _table(table, region, account)
    statements = [
        _statement("Table", (*TABLE, *(TABLE_SETUP if setup else ())), where),
        _statement("TableAndIndex", TABLE_AND_INDEX, where, f"{where}/index/{INDEX}"),
    ]
    if bucket is not None:
        name = f"arn:{_partition(region)}:s3:::{bucket}"
        statements += [
            _statement("Bucket", (*BUCKET, *(BUCKET_SETUP if setup else ())), name),
            _statement("Files", FILES, f"{name}/*"),
        ]
    return {"Version": "2012-10-17", "Statement": statements}


def user_bucket_statements(
    kms_keys: Sequence[str], *, roles: bool, region: str | None, account: str | None
) -> list[Statement]:
    """Write the statements for users' own buckets: encrypting their keys, assuming their roles."""
    statements = []
    if kms_keys:
        keys = [_key_arn(key, region, account) for key in kms_keys]
        statements.append(_statement("Vault", VAULT, *keys))
    if roles:
        # The external id proves to the role for which user it is assumed, so it is required.
        asked = {"Null": {"sts:ExternalId": "false"}}
        statements.append({**_statement("Roles", ROLES, "*"), "Condition": asked})
    return statements


def with_destinations(
    policy: Policy, region: str, account: str | None = None, *, setup: bool = False
) -> Policy:
    """Add the statements for the sink's tables of samples, which are in this region.

    With `setup` it also allows to adopt the tables of other programs.
    """
    tables = _table(DESTINATION_NAMES, region, account)
    actions = (*DESTINATIONS, *(DESTINATIONS_SETUP if setup else ()))
    added = _statement("Destinations", actions, tables)
    return {**policy, "Statement": [*policy["Statement"], added]}


def with_moves(
    policy: Policy, table: str, region: str | None = None, account: str | None = None
) -> Policy:
    """Add the statement for commands that move or recount everything: table and samples."""
    tables = (_table(table, region, account), _table(DESTINATION_NAMES, region, account))
    added = _statement("Moves", MOVES, *tables)
    return {**policy, "Statement": [*policy["Statement"], added]}


def _table(name: str, region: str | None, account: str | None) -> str:
    return f"arn:{_partition(region)}:dynamodb:{region or '*'}:{account or '*'}:table/{name}"


def _statement(sid: str, actions: Sequence[str], *resources: str) -> Statement:
    return {"Sid": sid, "Effect": "Allow", "Action": sorted(actions), "Resource": list(resources)}


def _key_arn(key: str, region: str | None, account: str | None) -> str:
    if key.startswith("arn:"):
        return key
    return f"arn:{_partition(region)}:kms:{region or '*'}:{account or '*'}:key/{key}"


def _partition(region: str | None) -> str:
    match (region or "").split("-"):
        case ["cn", *_]:
            return "aws-cn"
        case ["us", "gov", *_]:
            return "aws-us-gov"
        case _:
            return "aws"
