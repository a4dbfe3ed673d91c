"""The mutations of storages under their former names, which look like those of a Relay connection.

`StorageConnection` is the list of storages; what these mutations make is a `Storage`.
"""

from typing import Annotated, Final

import strawberry

from penstock.datastore.audio import records
from penstock.schema.audio.storages import (
    CreateStorageInput,
    DeleteStorageInput,
    Storage,
    connect_bucket,
    disconnect_bucket,
)
from penstock.schema.core.context import Info
from penstock.schema.core.descriptions import InputOf
from penstock.schema.core.failures import (
    IllegalState,
    LimitExceeded,
    NotFound,
    NotPermitted,
    ValidationProblem,
)

_SINCE: Final = "Since 2026-11-23: use `{}`. Removed on 2027-12-01 at the earliest."


@strawberry.type(description="The result of connecting a bucket.")
class CreateStorageConnectionPayload:
    storage: records.BucketConnection = strawberry.field(
        graphql_type=Storage, description="The bucket that was connected."
    )


@strawberry.type(description="The result of disconnecting a bucket.")
class DeleteStorageConnectionPayload:
    storage: records.BucketConnection = strawberry.field(
        graphql_type=Storage, description="The bucket as it was before it was disconnected."
    )


CreateStorageConnectionResult = Annotated[
    CreateStorageConnectionPayload
    | NotPermitted
    | ValidationProblem
    | LimitExceeded
    | IllegalState,
    strawberry.union(
        "CreateStorageConnectionResult",
        description="The connected bucket, or the reason why it was not connected.",
    ),
]
DeleteStorageConnectionResult = Annotated[
    DeleteStorageConnectionPayload | NotFound | NotPermitted,
    strawberry.union(
        "DeleteStorageConnectionResult",
        description="The disconnected bucket, or the reason why it is still connected.",
    ),
]


@strawberry.input(description="The bucket to connect, with a role or with access keys.")
class CreateStorageConnectionInput(CreateStorageInput):
    pass


@strawberry.input(description="The bucket to disconnect.")
class DeleteStorageConnectionInput(DeleteStorageInput):
    pass


@strawberry.type
class OldStorageMutation:
    @strawberry.mutation(
        graphql_type=CreateStorageConnectionResult,
        deprecation_reason=_SINCE.format("createStorage"),
        description="Connect a bucket of the caller, as `createStorage` does.",
    )
    @staticmethod
    async def create_storage_connection(
        info: Info, input: InputOf[CreateStorageConnectionInput]
    ) -> CreateStorageConnectionPayload:
        return CreateStorageConnectionPayload(storage=await connect_bucket(info, input))

    @strawberry.mutation(
        graphql_type=DeleteStorageConnectionResult,
        deprecation_reason=_SINCE.format("deleteStorage"),
        description="Disconnect a bucket of the caller, as `deleteStorage` does.",
    )
    @staticmethod
    async def delete_storage_connection(
        info: Info, input: InputOf[DeleteStorageConnectionInput]
    ) -> DeleteStorageConnectionPayload:
        return DeleteStorageConnectionPayload(storage=await disconnect_bucket(info, input))
