"""The fields that lead from a resource of any kind to its versions, and back."""

from typing import Annotated, Any, TypeVar

import strawberry
from strawberry import UNSET

from penstock.datastore import records
from penstock.datastore.errors import NotFound, Unreadable
from penstock.datastore.resources.version_diff import MAX_CHANGES, ValueChange
from penstock.datastore.resources.version_labels.labels import find_label
from penstock.datastore.resources.versions import VersionsRequest
from penstock.datastore.table.layout import KindDefinition
from penstock.graphql_jit import projected_attributes, reads_attributes
from penstock.resolvers import resources
from penstock.schema.core.context import After, Before, First, Info, Last
from penstock.schema.core.relay import Connection, page_from_arguments, read_connection
from penstock.schema.engine.cost import price_metadata
from penstock.schema.resources.resource import Change

R = TypeVar("R", bound=records.Resource)

VersionNumberArgument = Annotated[
    int, strawberry.argument(description="The number of the version, counted from 1.")
]
LabelArgument = Annotated[
    str, strawberry.argument(description="The label, in any spelling of upper and lower case.")
]
FromVersionArgument = Annotated[
    int, strawberry.argument(name="from", description="The number of the version to start from.")
]
ToVersionArgument = Annotated[
    int, strawberry.argument(description="The number of the version to compare with it.")
]


def versions_field(kind: KindDefinition[R], graphql_type: object) -> Any:
    """Declare the list of the versions of a resource."""

    async def versions(
        resource: strawberry.Parent[Any],
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[R]:
        pages = info.context.loaders.of(kind).version_pages
        projection = projected_attributes(info, kind.version_title)
        return await read_connection(
            info,
            ("versions", resource.id),
            page_from_arguments(first, after, last, before),
            lambda window: pages.load((resource, VersionsRequest(window, projection))),
        )

    return strawberry.field(
        resolver=versions, graphql_type=graphql_type, description="All versions, the newest first."
    )


def version_numbered_field(kind: KindDefinition[R], graphql_type: object) -> Any:
    """Declare the version of a resource that has a number."""

    async def version_numbered(
        resource: strawberry.Parent[Any], info: Info, version: VersionNumberArgument
    ) -> R | None:
        return await _find_version(info, kind, resource, version)

    return strawberry.field(
        resolver=version_numbered,
        graphql_type=graphql_type,
        description="The version with a given number; null if there is none.",
    )


def version_labelled_field(kind: KindDefinition[R], graphql_type: object) -> Any:
    """Declare the version of a resource that has a label."""

    async def version_labelled(
        resource: strawberry.Parent[Any], info: Info, label: LabelArgument
    ) -> R | None:
        found = find_label(resource, label)
        return await _find_version(info, kind, resource, found.version) if found else None

    return strawberry.field(
        resolver=version_labelled,
        graphql_type=graphql_type,
        description="The version with a given label; null if there is none.",
    )


async def _find_version(info: Info, kind: KindDefinition[R], resource: R, number: int) -> R | None:
    try:
        return await info.context.loaders.of(kind).versions.load((resource, number))
    except Unreadable:
        raise
    except NotFound:
        return None


def diff_field(kind: KindDefinition[R]) -> Any:
    """Declare the changes between two versions of a resource."""

    async def diff(
        resource: strawberry.Parent[Any],
        info: Info,
        from_: FromVersionArgument,
        to: ToVersionArgument,
    ) -> list[ValueChange]:
        return await resources.compare_versions(info.context, kind, resource, from_, to)

    return strawberry.field(
        resolver=diff,
        graphql_type=list[Change] | None,
        metadata=price_metadata(2),
        description=(
            "The changes that turn the content of the version `from` into that of the "
            "version `to`, in the order of the fields. List entries are compared by "
            "their keys: that of a transform is the key of its output. Without keys they are "
            "compared by their content, and in `attributes` by their positions. A field with "
            f"more than {MAX_CHANGES} changes is given as one change."
        ),
    )


def latest_version_field(kind: KindDefinition[R], graphql_type: object) -> Any:
    """Declare the resource in its latest version, as a field of each of its versions."""

    @reads_attributes({kind.version_title: ("id",)})
    async def latest_version(version: strawberry.Parent[Any], info: Info) -> R:
        projection = projected_attributes(info, kind.title)
        return await info.context.loaders.of(kind).latest(version.id, projection)

    return strawberry.field(
        resolver=latest_version,
        graphql_type=graphql_type,
        description=f"The {kind.noun} in its latest version.",
    )
