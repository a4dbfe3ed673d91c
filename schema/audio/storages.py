"""Buckets of the caller's own: type, list and mutations; what is secret only goes in."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from penstock.datastore.audio import records
from penstock.datastore.errors import FieldProblem, Invalid
from penstock.datastore.objects.port import Credentials
from penstock.schema.core.context import After, Before, First, Info, Last, given
from penstock.schema.core.failures import (
    IllegalState,
    LimitExceeded,
    NotFound,
    NotPermitted,
    ValidationProblem,
)
from penstock.schema.core.relay import Connection, Node, connect, key_of, page_of
from penstock.schema.core.scalars import DateTime

strawberry.enum(
    records.ConnectionKind, name="StorageKind", description="How the server gets at a bucket."
)


@strawberry.type(description="A bucket of the caller's own that the server may read.")
class Storage(Node):
    name: str = strawberry.field(description="For the user, who may have given it twice.")
    kind: records.ConnectionKind = strawberry.field(description="How the server gets at it.")
    bucket: str = strawberry.field(description="The name of the bucket.")
    region: str = strawberry.field(description="Where it is.")
    endpoint: str | None = strawberry.field(description="The store, where it is not AWS's.")
    role_arn: str | None = strawberry.field(description="The role that the server assumes.")
    external_id: str | None = strawberry.field(
        description="What the trust policy of the role must ask for (`sts:ExternalId`)."
    )
    access_key_shown: str | None = strawberry.field(
        description="The beginning and the end of the id of the access key."
    )
    created_at: DateTime = strawberry.field(description="When it was connected.")

    @classmethod
    def is_type_of(cls, value: object, _info: object) -> bool:
        return type(value) is records.Connection


@strawberry.type
class StorageQuery:
    @strawberry.field(
        graphql_type=Connection[Storage] | None,
        description="The caller's own buckets, newest first. Not shown to who uses an API key.",
    )
    @staticmethod
    async def storages(
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.Connection]:
        return await connect(
            info,
            ("storages",),
            page_of(first, after, last, before),
            info.context.session.audio.connections.page,
        )


@strawberry.type(description="A bucket was connected.")
class CreateStorageConnectionPayload:
    storage: records.Connection = strawberry.field(graphql_type=Storage)


@strawberry.type(description="A bucket was disconnected; `storage` is what it was.")
class DeleteStorageConnectionPayload:
    storage: records.Connection = strawberry.field(graphql_type=Storage)


CreateStorageConnectionResult = Annotated[
    CreateStorageConnectionPayload
    | NotPermitted
    | ValidationProblem
    | LimitExceeded
    | IllegalState,
    strawberry.union(
        "CreateStorageConnectionResult", description="The bucket, or why it is not connected."
    ),
]
DeleteStorageConnectionResult = Annotated[
    DeleteStorageConnectionPayload | NotFound | NotPermitted,
    strawberry.union(
        "DeleteStorageConnectionResult", description="The bucket that was, or why it still is."
    ),
]


@strawberry.input(description="Keys of a bucket. They are kept encrypted and never shown again.")
class StorageKeysInput:
    access_key_id: str = strawberry.field(description="The id of the access key.")
    secret_access_key: str = strawberry.field(description="Its secret.")


@strawberry.input(description="The bucket to connect: by a role, or with keys.")
class CreateStorageConnectionInput:
    name: str = strawberry.field(description="For the user, who may give it twice.")
    bucket: str = strawberry.field(description="The name of the bucket.")
    region: str = strawberry.field(description="Where it is, such as `eu-west-1`.")
    endpoint: str | None = strawberry.field(
        default=UNSET,
        description="An https URL of scheme, host and port, for a store that is not AWS's; with "
        "keys.",
    )
    role_arn: str | None = strawberry.field(
        default=UNSET, description="A role for the server to assume, in place of keys."
    )
    keys: StorageKeysInput | None = strawberry.field(
        default=UNSET, description="Keys to use, in place of a role."
    )


@strawberry.input(description="The bucket to disconnect.")
class DeleteStorageConnectionInput:
    id: strawberry.ID = strawberry.field(description="The global id of the storage.")


@strawberry.type
class StorageMutation:
    @strawberry.mutation(
        graphql_type=CreateStorageConnectionResult,
        description="Connect a bucket of the caller's own, who uses a token and no API key. The "
        "trust policy of a role must then ask for the external id.",
    )
    @staticmethod
    async def create_storage_connection(
        info: Info, input: CreateStorageConnectionInput
    ) -> CreateStorageConnectionPayload:
        connections = info.context.session.audio.connections
        place = (input.name, input.bucket, input.region)
        role, keys, endpoint = given(input.role_arn), given(input.keys), given(input.endpoint)
        if (role is None) == (keys is None):
            raise Invalid([FieldProblem(["keys"], "are given, or `roleArn` is")])
        if keys is not None:
            held = Credentials(keys.access_key_id, keys.secret_access_key)
            made = await connections.add_keys(*place, held, endpoint)
        elif endpoint is not None:
            raise Invalid([FieldProblem(["endpoint"], "goes with keys")])
        else:
            made = await connections.add_role(*place, str(role))
        return CreateStorageConnectionPayload(storage=made)

    @strawberry.mutation(
        graphql_type=DeleteStorageConnectionResult,
        description="Forget a bucket of the caller's own with its keys; the caller uses a token "
        "and no API key. Its tracks stay in the library, and play no more.",
    )
    @staticmethod
    async def delete_storage_connection(
        info: Info, input: DeleteStorageConnectionInput
    ) -> DeleteStorageConnectionPayload:
        sources = info.context.session.audio.registering.sources
        deleted = await sources.disconnect(key_of("Storage", input.id))
        return DeleteStorageConnectionPayload(storage=deleted)
