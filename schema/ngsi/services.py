"""Services of NGSI and their paths: types and query fields."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from penstock.datastore.ngsi import dead_letters as letters
from penstock.datastore.ngsi import directory, naming_rules, repository, table_names
from penstock.datastore.ngsi.counts import Counts
from penstock.datastore.ngsi.name_encoding import Encoding
from penstock.resolvers import ngsi
from penstock.schema.core.context import After, Before, First, Info, Last, given
from penstock.schema.core.relay import Connection, connect, page_of
from penstock.schema.engine.cost import costs
from penstock.schema.ngsi.dead_letters import (
    NgsiCounts,
    NgsiDeadLetter,
    NgsiDestination,
    NgsiNamingRules,
    NgsiPreview,
)
from penstock.schema.ngsi.entities import NgsiEntity

COUNTS_COST = 20
PREVIEW_COST = 20

InEncoding = Annotated[
    Encoding | None, strawberry.argument(description="That of the settings if absent.")
]


@strawberry.type(description="A path of a service; it is the group `/<service>/<path>`.")
class NgsiServicePath:
    service: str = strawberry.field(description="As notified.")
    path: str = strawberry.field(description="As notified.")

    @strawberry.field(
        graphql_type=Connection[NgsiEntity],
        description="Every entity that was ever notified of, in the order of their ids.",
    )
    @staticmethod
    async def entities(
        of: strawberry.Parent[directory.ServicePath],
        info: Info,
        id_prefix: Annotated[
            str | None, strawberry.argument(description="What the ids begin with.")
        ] = "",
        type: Annotated[
            str | None, strawberry.argument(description="Of this type; of any if absent.")
        ] = UNSET,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[directory.Entity]:
        prefix, wanted = id_prefix or "", given(type)
        return await connect(
            info,
            ("entities", of, prefix, wanted),
            page_of(first, after, last, before),
            lambda window: ngsi.entities(info.context, of, window, prefix, wanted),
        )

    @strawberry.field(graphql_type=NgsiEntity | None, description="One entity.")
    @staticmethod
    async def entity(
        of: strawberry.Parent[directory.ServicePath],
        info: Info,
        id: Annotated[str, strawberry.argument(description="As notified.")],
        type: Annotated[str, strawberry.argument(description="As notified; may be empty.")],
    ) -> directory.Entity | None:
        return await ngsi.entity(info.context, of, id, type)

    @strawberry.field(graphql_type=NgsiCounts, description="What came in, and what became of it.")
    @staticmethod
    async def counts(of: strawberry.Parent[directory.ServicePath], info: Info) -> Counts:
        return await info.context.session.notified.counts(of)

    @strawberry.field(
        graphql_type=Connection[NgsiDeadLetter],
        description="What could not be stored, newest first; one just made may be missing for a "
        "moment.",
    )
    @staticmethod
    async def dead_letters(
        of: strawberry.Parent[directory.ServicePath],
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[letters.DeadLetter]:
        return await connect(
            info,
            ("deadLetters", of),
            page_of(first, after, last, before),
            lambda window: info.context.session.notified.letters(of, window),
        )


@strawberry.type(description="A service: a tenant of NGSI. It is the group `/<service>`.")
class NgsiService:
    name: str = strawberry.field(description="As notified.")

    @strawberry.field(
        graphql_type=Connection[NgsiServicePath],
        description="The service paths that the caller may know, each before those below it.",
    )
    @staticmethod
    async def service_paths(
        service: strawberry.Parent[directory.Service],
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[directory.ServicePath]:
        return await connect(
            info,
            ("servicePaths", service),
            page_of(first, after, last, before),
            lambda window: info.context.session.notified.directory.paths(service, window),
        )

    @strawberry.field(graphql_type=NgsiServicePath | None, description="One service path.")
    @staticmethod
    async def service_path(
        service: strawberry.Parent[directory.Service],
        info: Info,
        path: Annotated[str, strawberry.argument(description="`/Madrid/Gardens`.")],
    ) -> directory.ServicePath:
        return await ngsi.path(info.context, service, path)

    @strawberry.field(
        graphql_type=NgsiCounts | None,
        description="The counts of all service paths that the caller may know, together.",
        metadata=costs(COUNTS_COST),
    )
    @staticmethod
    async def counts(service: strawberry.Parent[directory.Service], info: Info) -> Counts:
        return await info.context.session.notified.service_counts(service)

    @strawberry.field(
        graphql_type=Connection[NgsiDestination] | None,
        description="The tables of the service, in the order of their names; for readers of all "
        "of it.",
    )
    @staticmethod
    async def destinations(
        service: strawberry.Parent[directory.Service],
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[table_names.Destination]:
        return await connect(
            info,
            ("destinations", service),
            page_of(first, after, last, before),
            lambda window: info.context.session.notified.destinations(service, window),
        )

    @strawberry.field(
        graphql_type=list[NgsiPreview] | None,
        description="Where the entities of a notification would be stored; nothing is.",
        metadata=costs(PREVIEW_COST),
    )
    @staticmethod
    async def preview_destination(
        service: strawberry.Parent[directory.Service],
        info: Info,
        notification: Annotated[str, strawberry.argument(description="Its body.")],
        service_path: Annotated[
            str | None, strawberry.argument(description="As in the header.")
        ] = "/",
        attrs_format: Annotated[
            str | None, strawberry.argument(description="As in the header.")
        ] = UNSET,
    ) -> list[repository.Preview]:
        path, form = service_path or "/", given(attrs_format)
        return await info.context.session.notified.preview(service, path, notification, form)

    @strawberry.field(
        graphql_type=str | None, description="A text as it is written in names of tables."
    )
    @staticmethod
    def encode_name(
        info: Info,
        text: Annotated[str, strawberry.argument(description="One component of a name.")],
        encoding: InEncoding = UNSET,
    ) -> str:
        return ngsi.encoded(info.context, text, given(encoding))

    @strawberry.field(
        graphql_type=list[str] | None, description="The components that a name was made of."
    )
    @staticmethod
    def decode_name(
        info: Info,
        name: Annotated[str, strawberry.argument(description="The name of a table.")],
        encoding: InEncoding = UNSET,
    ) -> list[str]:
        return ngsi.decoded(info.context, name, given(encoding))


@strawberry.type
class NgsiQuery:
    @strawberry.field(
        graphql_type=Connection[NgsiService],
        description="The services that the caller may know, in the order of their groups' keys.",
    )
    @staticmethod
    async def ngsi_services(
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[directory.Service]:
        return await connect(
            info,
            ("ngsiServices",),
            page_of(first, after, last, before),
            info.context.session.notified.directory.services,
        )

    @strawberry.field(
        graphql_type=NgsiService | None, description="A service that the caller may know."
    )
    @staticmethod
    async def ngsi_service(
        info: Info, name: Annotated[str, strawberry.argument(description="As notified.")]
    ) -> directory.Service:
        return await info.context.session.notified.directory.service(name)

    @strawberry.field(
        graphql_type=NgsiNamingRules | None,
        description="The naming rules of all services, for readers of the root.",
    )
    @staticmethod
    async def ngsi_naming_rules(info: Info) -> naming_rules.Documents:
        return await info.context.session.notified.rules.documents()
