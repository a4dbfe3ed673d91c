"""The caller's own buckets: their type, list and mutations. Secrets are never returned."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from penstock.datastore.audio import records
from penstock.datastore.audio.connections import MAX_NAME
from penstock.datastore.errors import FieldProblem, Invalid
from penstock.datastore.objects.port import Credentials
from penstock.schema.core.context import After, Before, First, Info, Last, unset_to_none
from penstock.schema.core.descriptions import InputOf, describe_values
from penstock.schema.core.failures import (
    IllegalState,
    LimitExceeded,
    NotFound,
    NotPermitted,
    ValidationProblem,
)
from penstock.schema.core.relay import (
    Connection,
    Node,
    page_from_arguments,
    parse_key,
    read_connection,
)
from penstock.schema.core.scalars import DateTime

strawberry.enum(
    records.ConnectionKind,
    name="StorageKind",
    description="The kind of access that the server has to a bucket.",
)
describe_values(
    records.ConnectionKind,
    {
        records.ConnectionKind.ROLE: "The server assumes an IAM role.",
        records.ConnectionKind.KEYS: "The server uses the access keys that the user gave it.",
    },
)


@strawberry.type(description="A bucket of the caller that the server may read audio files from.")
class Storage(Node):
    name: str = strawberry.field(
        description="The name that the user gave the storage; several storages may have the same "
        "name."
    )
    kind: records.ConnectionKind = strawberry.field(
        description="The kind of access that the server has to the bucket."
    )
    bucket: str = strawberry.field(description="The name of the bucket.")
    region: str = strawberry.field(description="The region of the bucket, such as `eu-west-1`.")
    endpoint: str | None = strawberry.field(
        description="The https URL of an S3-compatible store; null for AWS."
    )
    role_arn: str | None = strawberry.field(
        description="The ARN of the IAM role that the server assumes; null for access with keys."
    )
    external_id: str | None = strawberry.field(
        description="The external id that the trust policy of the role must require "
        "(`sts:ExternalId`); null for access with keys."
    )
    access_key_shown: str | None = strawberry.field(
        description="The first and last characters of the access key's id; null for access by a "
        "role."
    )
    created_at: DateTime = strawberry.field(
        description="The time when the bucket was connected, in UTC."
    )

    @classmethod
    def is_type_of(cls, value: object, _info: object) -> bool:
        return type(value) is records.BucketConnection


@strawberry.type
class StorageQuery:
    @strawberry.field(
        graphql_type=Connection[Storage] | None,
        description="The caller's own connected buckets, newest first; null for a caller who uses "
        "an API key.",
    )
    @staticmethod
    async def storages(
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.BucketConnection]:
        return await read_connection(
            info,
            ("storages",),
            page_from_arguments(first, after, last, before),
            info.context.session.audio.connections.page,
        )


@strawberry.type(description="The result of connecting a bucket.")
class CreateStoragePayload:
    storage: records.BucketConnection = strawberry.field(
        graphql_type=Storage, description="The bucket that was connected."
    )


@strawberry.type(description="The result of disconnecting a bucket.")
class DeleteStoragePayload:
    storage: records.BucketConnection = strawberry.field(
        graphql_type=Storage, description="The bucket as it was before it was disconnected."
    )


CreateStorageResult = Annotated[
    CreateStoragePayload | NotPermitted | ValidationProblem | LimitExceeded | IllegalState,
    strawberry.union(
        "CreateStorageResult",
        description="The connected bucket, or the reason why it was not connected.",
    ),
]
DeleteStorageResult = Annotated[
    DeleteStoragePayload | NotFound | NotPermitted,
    strawberry.union(
        "DeleteStorageResult",
        description="The disconnected bucket, or the reason why it is still connected.",
    ),
]


@strawberry.input(
    description="The access keys of a bucket. They are stored encrypted and never returned."
)
class StorageKeysInput:
    access_key_id: str = strawberry.field(description="The id of the access key.")
    secret_access_key: str = strawberry.field(
        description="The secret access key that belongs to the id."
    )


@strawberry.input(description="The bucket to connect, with a role or with access keys.")
class CreateStorageInput:
    name: str = strawberry.field(
        description=f"A name for the storage: 1 to {MAX_NAME} characters. Several storages may "
        "have the same name."
    )
    bucket: str = strawberry.field(description="The name of the bucket.")
    region: str = strawberry.field(description="The region of the bucket, such as `eu-west-1`.")
    endpoint: str | None = strawberry.field(
        default=UNSET,
        description="The https URL (scheme, host and port) of an S3-compatible store, allowed "
        "only together with `keys`; AWS if left out.",
    )
    role_arn: str | None = strawberry.field(
        default=UNSET,
        description="The ARN of an IAM role for the server to assume; give either `roleArn` or "
        "`keys`.",
    )
    keys: StorageKeysInput | None = strawberry.field(
        default=UNSET,
        description="The access keys for the server to use; give either `roleArn` or `keys`.",
    )


@strawberry.input(description="The bucket to disconnect.")
class DeleteStorageInput:
    id: strawberry.ID = strawberry.field(description="The global id of the storage.")


async def connect_bucket(info: Info, input: CreateStorageInput) -> records.BucketConnection:
    """Return the connected bucket; raises the failures of CreateStorageResult."""
    connections = info.context.session.audio.connections
    place = (input.name, input.bucket, input.region)
    role, keys, endpoint = (
        unset_to_none(input.role_arn),
        unset_to_none(input.keys),
        unset_to_none(input.endpoint),
    )
    if (role is None) == (keys is None):
        raise Invalid([FieldProblem(["keys"], "are given, or `roleArn` is")])
    if keys is not None:
        held = Credentials(keys.access_key_id, keys.secret_access_key)
        made = await connections.add_keys(*place, held, endpoint)
    elif endpoint is not None:
        raise Invalid([FieldProblem(["endpoint"], "goes with keys")])
    else:
        made = await connections.add_role(*place, str(role))
    return made


async def disconnect_bucket(info: Info, input: DeleteStorageInput) -> records.BucketConnection:
    """Return the bucket as it was; raises the failures of DeleteStorageResult."""
    sources = info.context.session.audio.registering.sources
    return await sources.disconnect(parse_key("Storage", input.id))


@strawberry.type
class StorageMutation:
    @strawberry.mutation(
        graphql_type=CreateStorageResult,
        description="Connect a bucket of the caller, who must use an access token and not an API "
        "key. For access by a role, the role's trust policy must then require the returned "
        "external id.",
    )
    @staticmethod
    async def create_storage(
        info: Info, input: InputOf[CreateStorageInput]
    ) -> CreateStoragePayload:
        return CreateStoragePayload(storage=await connect_bucket(info, input))

    @strawberry.mutation(
        graphql_type=DeleteStorageResult,
        description="Disconnect a bucket of the caller and delete its keys; the caller must use "
        "an access token and not an API key. The tracks of the bucket remain in the library but "
        "can no longer be played.",
    )
    @staticmethod
    async def delete_storage(
        info: Info, input: InputOf[DeleteStorageInput]
    ) -> DeleteStoragePayload:
        return DeleteStoragePayload(storage=await disconnect_bucket(info, input))
