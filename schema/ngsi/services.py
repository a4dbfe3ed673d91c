"""The types of NGSI services and service paths, and the fields that query them."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from penstock.datastore.ngsi import dead_letters as letter_records
from penstock.datastore.ngsi import directory, repository
from penstock.datastore.ngsi.counts import IngestCounts
from penstock.datastore.ngsi.name_encoding import Encoding
from penstock.datastore.ngsi.naming import rules as naming_rules
from penstock.datastore.ngsi.naming import table_names
from penstock.datastore.ngsi.reading.positions import Area, Position
from penstock.resolvers import ngsi
from penstock.schema.core.context import After, Before, First, Info, Last, unset_to_none
from penstock.schema.core.relay import Connection, page_from_arguments, read_connection
from penstock.schema.engine.cost import price_metadata
from penstock.schema.ngsi.dead_letters import (
    NgsiCounts,
    NgsiDeadLetter,
    NgsiDestination,
    NgsiNamingRules,
    NgsiPreview,
)
from penstock.schema.ngsi.entities import NgsiEntity
from penstock.schema.ngsi.positions import NgsiBoxInput, NgsiCircleInput, NgsiPosition

COUNTS_COST = 20
PREVIEW_COST = 20
POSITIONS_COST = 20

EncodingArgument = Annotated[
    Encoding | None,
    strawberry.argument(
        description="The encoding of the name; the one in the server's settings if left out."
    ),
]


@strawberry.type(
    description="A service path of an NGSI service. Its access rights are those of the group "
    "`/<service>/<path>`."
)
class NgsiServicePath:
    service: str = strawberry.field(description="The service, as written in the notification.")
    path: str = strawberry.field(description="The service path, as written in the notification.")

    @strawberry.field(
        graphql_type=Connection[NgsiEntity],
        description="The entities of the service path, sorted by id: all that were ever received, "
        "without those whose samples were all deleted.",
    )
    @staticmethod
    async def entities(
        of: strawberry.Parent[directory.ServicePath],
        info: Info,
        id_prefix: Annotated[
            str | None,
            strawberry.argument(
                description="Only entities with an id that begins with this text; all by default."
            ),
        ] = "",
        type: Annotated[
            str | None,
            strawberry.argument(
                description="Only entities of this type; those of any type if left out."
            ),
        ] = UNSET,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[directory.Entity]:
        prefix, wanted = id_prefix or "", unset_to_none(type)
        return await read_connection(
            info,
            ("entities", of, prefix, wanted),
            page_from_arguments(first, after, last, before),
            lambda window: ngsi.list_entities(info.context, of, window, prefix, wanted),
        )

    @strawberry.field(
        graphql_type=Connection[NgsiPosition],
        description="The latest positions of entities inside an area, sorted by the ids of the "
        "entities. A position is the latest value of an attribute if that is a point, written as "
        "`latitude, longitude` or as GeoJSON. A page examines at most 200 entities, so it may be "
        "short, or even empty, and have a next page.",
        metadata=price_metadata(POSITIONS_COST),
    )
    @staticmethod
    async def positions(
        of: strawberry.Parent[directory.ServicePath],
        info: Info,
        attribute: Annotated[
            str | None,
            strawberry.argument(
                description="The attribute that holds positions; `location` by default."
            ),
        ] = "location",
        type: Annotated[
            str | None,
            strawberry.argument(
                description="Only entities of this type; those of any type if left out."
            ),
        ] = UNSET,
        near: Annotated[
            NgsiCircleInput | None,
            strawberry.argument(description="Only positions inside this circle."),
        ] = UNSET,
        within: Annotated[
            NgsiBoxInput | None, strawberry.argument(description="Only positions inside this box.")
        ] = UNSET,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[Position]:
        circle, box = unset_to_none(near), unset_to_none(within)
        area = Area(
            attribute or "location",
            unset_to_none(type),
            None if circle is None else circle.read(),
            None if box is None else box.read(),
        )
        return await read_connection(
            info,
            ("positions", of, *area),
            page_from_arguments(first, after, last, before),
            lambda window: ngsi.list_positions(info.context, of, area, window),
        )

    @strawberry.field(
        graphql_type=NgsiEntity | None,
        description="The entity with the given id and type; null if it was never received, or if "
        "all its samples were deleted.",
    )
    @staticmethod
    async def entity(
        of: strawberry.Parent[directory.ServicePath],
        info: Info,
        id: Annotated[
            str,
            strawberry.argument(
                description="The id of the entity, as written in the notification."
            ),
        ],
        type: Annotated[
            str,
            strawberry.argument(
                description="The type of the entity, as written in the notification; may be empty."
            ),
        ],
    ) -> directory.Entity | None:
        return await ngsi.find_entity(info.context, of, id, type)

    @strawberry.field(
        graphql_type=NgsiCounts,
        description="The numbers of updates that were received, stored or rejected for this "
        "service path.",
    )
    @staticmethod
    async def counts(of: strawberry.Parent[directory.ServicePath], info: Info) -> IngestCounts:
        return await info.context.session.notifications.counts(of)

    @strawberry.field(
        graphql_type=Connection[NgsiDeadLetter],
        description="The dead letters of the service path, newest first; a new one may take a "
        "moment to appear.",
    )
    @staticmethod
    async def dead_letters(
        of: strawberry.Parent[directory.ServicePath],
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[letter_records.DeadLetter]:
        return await read_connection(
            info,
            ("deadLetters", of),
            page_from_arguments(first, after, last, before),
            lambda window: info.context.session.notifications.letters(of, window),
        )


@strawberry.type(
    description="An NGSI service, which is a tenant. Its access rights are those of the group "
    "`/<service>`."
)
class NgsiService:
    name: str = strawberry.field(
        description="The name of the service, as written in the notification."
    )

    @strawberry.field(
        graphql_type=Connection[NgsiServicePath],
        description="The service paths that the caller can see, each before the paths below it.",
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
        return await read_connection(
            info,
            ("servicePaths", service),
            page_from_arguments(first, after, last, before),
            lambda window: info.context.session.notifications.directory.paths(service, window),
        )

    @strawberry.field(
        graphql_type=NgsiServicePath | None,
        description="The service path with the given path; null if the caller cannot see it.",
    )
    @staticmethod
    async def service_path(
        service: strawberry.Parent[directory.Service],
        info: Info,
        path: Annotated[
            str, strawberry.argument(description="The service path, such as `/Madrid/Gardens`.")
        ],
    ) -> directory.ServicePath:
        return await ngsi.load_path(info.context, service, path)

    @strawberry.field(
        graphql_type=NgsiCounts | None,
        description="The sums of the counts of all service paths that the caller can see.",
        metadata=price_metadata(COUNTS_COST),
    )
    @staticmethod
    async def counts(service: strawberry.Parent[directory.Service], info: Info) -> IngestCounts:
        return await info.context.session.notifications.service_counts(service)

    @strawberry.field(
        graphql_type=Connection[NgsiDestination] | None,
        description="The destination tables of the service, sorted by name. The caller must be a "
        "reader of the whole service.",
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
        return await read_connection(
            info,
            ("destinations", service),
            page_from_arguments(first, after, last, before),
            lambda window: info.context.session.notifications.destinations(service, window),
        )

    @strawberry.field(
        graphql_type=list[NgsiPreview] | None,
        description="The destinations that the entities of a notification would have. Nothing is "
        "stored.",
        metadata=price_metadata(PREVIEW_COST),
    )
    @staticmethod
    async def preview_destination(
        service: strawberry.Parent[directory.Service],
        info: Info,
        notification: Annotated[
            str, strawberry.argument(description="The body of the notification, written as JSON.")
        ],
        service_path: Annotated[
            str | None,
            strawberry.argument(
                description="The value of the header `Fiware-ServicePath`; `/` by default."
            ),
        ] = "/",
        attrs_format: Annotated[
            str | None,
            strawberry.argument(
                description="The value of the header `Ngsiv2-AttrsFormat`; the format is detected "
                "if left out."
            ),
        ] = UNSET,
    ) -> list[repository.Preview]:
        request = repository.PreviewRequest(
            service, service_path or "/", unset_to_none(attrs_format), notification
        )
        return await info.context.loaders.previews.load(request)

    @strawberry.field(
        graphql_type=str | None,
        description="A text in the encoded form that is used in table names.",
    )
    @staticmethod
    def encode_name(
        info: Info,
        text: Annotated[
            str, strawberry.argument(description="The text to encode: one component of a name.")
        ],
        encoding: EncodingArgument = UNSET,
    ) -> str:
        return ngsi.encode_name(info.context, text, unset_to_none(encoding))

    @strawberry.field(
        graphql_type=list[str] | None, description="The decoded components of a table name."
    )
    @staticmethod
    def decode_name(
        info: Info,
        name: Annotated[str, strawberry.argument(description="The encoded name of a table.")],
        encoding: EncodingArgument = UNSET,
    ) -> list[str]:
        return ngsi.decode_name(info.context, name, unset_to_none(encoding))


@strawberry.type
class NgsiQuery:
    @strawberry.field(
        graphql_type=Connection[NgsiService],
        description="The NGSI services that the caller can see, sorted by the keys of their "
        "groups.",
    )
    @staticmethod
    async def ngsi_services(
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[directory.Service]:
        return await read_connection(
            info,
            ("ngsiServices",),
            page_from_arguments(first, after, last, before),
            info.context.session.notifications.directory.services,
        )

    @strawberry.field(
        graphql_type=NgsiService | None,
        description="The NGSI service with the given name; null if the caller cannot see it.",
    )
    @staticmethod
    async def ngsi_service(
        info: Info,
        name: Annotated[
            str,
            strawberry.argument(
                description="The name of the service, as written in the notification."
            ),
        ],
    ) -> directory.Service:
        return await info.context.session.notifications.directory.service(name)

    @strawberry.field(
        graphql_type=NgsiNamingRules | None,
        description="The naming rules of all services. The caller must be a reader of the root "
        "group.",
    )
    @staticmethod
    async def ngsi_naming_rules(info: Info) -> naming_rules.NamingDocuments:
        return await info.context.session.notifications.rules.documents()
