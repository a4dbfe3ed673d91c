"""Tags and tag filters, and the query fields that all kinds of resources have."""

from typing import Annotated, Final, TypeAlias, TypeVar

import strawberry
from strawberry import UNSET

from penstock.datastore import records
from penstock.datastore.resources.reading import ListRequest
from penstock.datastore.roles import GroupPath
from penstock.datastore.table.layout import KindDefinition
from penstock.datastore.tag_search.tags import MAX_TERMS
from penstock.datastore.tag_search.tags import TagFilter as Filter
from penstock.graphql_jit import projected_attributes
from penstock.resolvers.resources import ResourceKind, tag_lists
from penstock.schema.core.context import (
    After,
    Before,
    First,
    GroupArgument,
    Info,
    Last,
    Order,
    PageArguments,
    TagInput,
    unset_to_none,
)
from penstock.schema.core.descriptions import describe_values
from penstock.schema.core.name_filter import NameFilter
from penstock.schema.core.relay import Connection, page_from_arguments, parse_key, read_connection
from penstock.schema.core.scalars import DateTime

strawberry.enum(ResourceKind, description="The kind of resource that has the tags.")
describe_values(
    ResourceKind,
    {
        ResourceKind.PIPELINE: "The tags are on pipelines.",
        ResourceKind.CALCULATION: "The tags are on calculations.",
        ResourceKind.REFERENCE_DATASET: "The tags are on reference datasets.",
    },
)

KindArgument = Annotated[
    ResourceKind, strawberry.argument(description="The kind of resource that has the tags.")
]


@strawberry.input(
    description=(
        "The tags that resources must have: every tag in `all`, at least one in `any` "
        "and not one in `none`. A value also matches the values below it: `material` "
        f"matches `material/metal/steel`. The three lists hold at most {MAX_TERMS} tags "
        "together."
    )
)
class TagFilter:
    all: list[TagInput] | None = strawberry.field(
        default=UNSET,
        description="The tags that a resource must all have. The default is no restriction.",
    )
    any: list[TagInput] | None = strawberry.field(
        default=UNSET,
        description=(
            "The tags of which a resource must have at least one. The default and an empty "
            "list are no restriction."
        ),
    )
    none: list[TagInput] | None = strawberry.field(
        default=UNSET,
        description="The tags of which a resource must have none. The default is no restriction.",
    )

    def filter(self) -> Filter:
        return Filter(
            all=_tag_records(self.all), any=_tag_records(self.any), none=_tag_records(self.none)
        )


@strawberry.type(description="A tag key that resources use.")
class TagKey:
    key: str = strawberry.field(description="The normalized key: trimmed, and in lower case.")
    label: str = strawberry.field(description="The key as its first author wrote it.")
    count: int = strawberry.field(description="The exact number of resources that have the key.")


@strawberry.type(description="A tag value that resources use, at one level of the hierarchy.")
class TagValue:
    key: str = strawberry.field(description="The normalized key: trimmed, and in lower case.")
    value: str = strawberry.field(
        description=(
            "The value with all levels above it, normalized like the key. "
            "Filters and `parent` take it."
        )
    )
    label: str = strawberry.field(
        description="The last level of the value as its first author wrote it."
    )
    count: int = strawberry.field(
        description="The exact number of resources that have the value or a value below it."
    )
    has_children: bool = strawberry.field(description="True if there are values below this one.")


@strawberry.type
class TagQuery:
    @strawberry.field(
        graphql_type=Connection[TagKey],
        description=(
            "The tag keys of the resources to which a grant of the group, or of a group "
            "above it, gives access."
        ),
    )
    @staticmethod
    async def tag_keys(
        info: Info,
        kind: KindArgument,
        group: GroupArgument = UNSET,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.TagKey]:
        tags, named = tag_lists(info.context, kind), unset_to_none(group)
        return await read_connection(
            info,
            ("tagKeys", kind, named),
            page_from_arguments(first, after, last, before),
            lambda window: tags.keys(named, window),
        )

    @strawberry.field(
        graphql_type=Connection[TagValue],
        description=(
            "The values of a tag key: those of the top level, or those one level below `parent`."
        ),
    )
    @staticmethod
    async def tag_values(
        info: Info,
        kind: KindArgument,
        key: Annotated[str, strawberry.argument(description="The key of the tags.")],
        parent: Annotated[
            str | None,
            strawberry.argument(
                description="The value whose next level is listed. The default is the top level."
            ),
        ] = UNSET,
        group: GroupArgument = UNSET,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.TagValue]:
        tags, named, above = (
            tag_lists(info.context, kind),
            unset_to_none(group),
            unset_to_none(parent),
        )
        return await read_connection(
            info,
            ("tagValues", kind, key, above, named),
            page_from_arguments(first, after, last, before),
            lambda window: tags.values(key, above, named, window),
        )


def _tag_records(inputs: list[TagInput] | None) -> tuple[records.Tag, ...]:
    return tuple(tag.record() for tag in unset_to_none(inputs) or ())


R = TypeVar("R", bound=records.Resource)

IdArgument: TypeAlias = Annotated[
    strawberry.ID, strawberry.argument(description="The global id of the resource.")
]
TimeArgument: TypeAlias = Annotated[
    DateTime | None,
    strawberry.argument(
        description=(
            "Return the version that was the latest at this time. Before the creation of the "
            "resource there is none. The grants of the latest version decide who may see it. "
            "The default is now."
        )
    ),
]
NameArgument: TypeAlias = Annotated[
    str,
    strawberry.argument(description="The name of the resource. Upper and lower case are the same."),
]
TagsArgument: TypeAlias = Annotated[
    TagFilter | None,
    strawberry.argument(
        description="The tags that the resources must have. The default is no restriction."
    ),
]
ChildGroupsArgument: TypeAlias = Annotated[
    bool | None,
    strawberry.argument(
        description=(
            "Whether to include the resources of the groups below. The default is not to "
            "include them."
        )
    ),
]
OrderArgument: TypeAlias = Annotated[
    Order | None,
    strawberry.argument(description="The order by time of creation. The default is newest first."),
]

LIST_RULES: Final = (
    "The group sees them by its own grants and by the grants of the groups above "
    "it; `includeChildGroups` adds those of the groups below it. A search that "
    "reads very much ends its page early, and the cursor continues it."
)


async def find_resource(info: Info, kind: KindDefinition[R], id: str, as_at: str | None) -> R:
    """Read a resource by its global id, as it is now or as it was at a given time."""
    loaders, key, time = (
        info.context.loaders.of(kind),
        parse_key(kind.title, id),
        unset_to_none(as_at),
    )
    if time is None:
        return await loaders.latest(key, projected_attributes(info, kind.title))
    return await loaders.as_at(key, time)


def resource_selection(
    info: Info,
    group: GroupPath | None,
    tags: TagFilter | None,
    include_child_groups: bool | None,
    order: Order | None,
    name: NameFilter | None,
) -> ListRequest:
    """Return the selection of resources, and their order, that the arguments of a list describe."""
    return ListRequest(
        group=unset_to_none(group) or info.context.caller.default_group,
        tags=(unset_to_none(tags) or TagFilter()).filter(),
        include_child_groups=bool(include_child_groups),
        newest_first=order is not Order.OLDEST_FIRST,
        name=name.filter() if name else None,
    )


async def list_resources(
    info: Info, kind: KindDefinition[R], selected: ListRequest, page: PageArguments
) -> Connection[R]:
    """Read a page of the selected resources."""
    projection = projected_attributes(info, kind.title)
    return await read_connection(
        info,
        (f"{kind.noun}s", selected),
        page,
        lambda window: info.context.loaders.of(kind).page(selected, window, projection),
    )
