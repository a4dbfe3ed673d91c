"""Tags and tag filters, and the query fields that all kinds of resources have."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Final, TypeAlias, TypeVar

import strawberry
from strawberry import UNSET

from penstock.datastore import records
from penstock.datastore.resources.reading import ListRequest
from penstock.datastore.roles import GroupPath
from penstock.datastore.table.pages import Slice, Window
from penstock.datastore.tag_search.tags import MAX_TERMS
from penstock.datastore.tag_search.tags import TagFilter as Filter
from penstock.graphql_jit import projected_attributes
from penstock.resolvers.resources import ResourceKind, TagPage, list_tag_keys, list_tag_values
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
from penstock.schema.core.name_filter import NameFilter, NameFilterArgument
from penstock.schema.core.relay import Connection, page_from_arguments, read_connection

strawberry.enum(ResourceKind, description="The kind of resource that has the tags.")
describe_values(
    ResourceKind,
    {
        ResourceKind.PIPELINE: "The tags are on pipelines.",
        ResourceKind.CALCULATION: "The tags are on calculations.",
        ResourceKind.REFERENCE_DATASET: "The tags are on reference datasets.",
        ResourceKind.METRIC: "The tags are on metrics.",
    },
)

KindArgument = Annotated[
    ResourceKind, strawberry.argument(description="The kind of resource that has the tags.")
]


@strawberry.input(
    description=(
        "The tags that resources must have: every tag in `all`, at least one in `any`, "
        "not one in `none`, and none with a key in `withoutKeys`. A value also matches the "
        "values below it: `material` matches `material/metal/steel`. The lists hold at most "
        f"{MAX_TERMS} entries together."
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
    without_keys: list[str] | None = strawberry.field(
        default=UNSET,
        description=(
            "The keys with which a resource must have no tag at all, whatever its value. The "
            "default is no restriction."
        ),
    )

    def filter(self) -> Filter:
        return Filter(
            all=_tag_records(self.all),
            any=_tag_records(self.any),
            none=_tag_records(self.none),
            without_keys=tuple(unset_to_none(self.without_keys) or ()),
        )


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


ResourceStatesArgument: TypeAlias = Annotated[
    list[records.State] | None,
    strawberry.argument(
        description="The states of which the resources must have one. The default is any state."
    ),
]
OwnerArgument: TypeAlias = Annotated[
    GroupPath | None,
    strawberry.argument(
        description="The path of the group that must own the resources. The default is any group."
    ),
]


@strawberry.type(description="A tag key that resources use.")
class TagKey:
    key: str = strawberry.field(description="The normalized key: trimmed, and in lower case.")
    label: str = strawberry.field(description="The key as its first author wrote it.")
    count: int | None = strawberry.field(
        description=(
            "The exact number of resources that have the key; null where the search for them "
            "ended early."
        )
    )


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
    count: int | None = strawberry.field(
        description=(
            "The exact number of resources that have the value or a value below it; null where "
            "the search for them ended early."
        )
    )
    has_children: bool = strawberry.field(description="True if there are values below this one.")


IS_COMPLETE: Final = (
    "Whether all resources were counted. False if the search for those that match ended "
    "early: then counts are null, and tags may be missing."
)
RESOURCE_COUNT: Final = (
    "The number of resources that were counted, with tags and without: those that lack a key are "
    "this less its `count`. Null if the search for them ended early, and for executions."
)


@strawberry.type(description="A page of a list of tag keys.")
class TagKeyConnection(Connection[TagKey]):
    is_complete: bool = strawberry.field(description=IS_COMPLETE)
    resource_count: int | None = strawberry.field(description=RESOURCE_COUNT)


@strawberry.type(description="A page of a list of tag values.")
class TagValueConnection(Connection[TagValue]):
    is_complete: bool = strawberry.field(description=IS_COMPLETE)
    resource_count: int | None = strawberry.field(description=RESOURCE_COUNT)


C = TypeVar("C", TagKeyConnection, TagValueConnection)
P = TypeVar("P", records.TagKey, records.TagValue)


async def read_tag_connection(
    made: type[C],
    info: Info,
    list_identity: tuple[object, ...],
    page: PageArguments,
    read_page: Callable[[Window], Awaitable[TagPage[P]]],
) -> C:
    """Read a page of tags as a connection that says whether all of them were counted."""
    is_complete, resource_count = True, None

    async def read_slice(window: Window) -> Slice[P]:
        nonlocal is_complete, resource_count
        found, is_complete, resource_count = await read_page(window)
        return found

    read: Connection[Any] = await read_connection(info, list_identity, page, read_slice)
    return made(
        edges=read.edges,
        nodes=read.nodes,
        page_info=read.page_info,
        is_complete=is_complete,
        resource_count=resource_count,
    )


@strawberry.type
class TagQuery:
    @strawberry.field(
        graphql_type=TagKeyConnection,
        description=(
            "The tag keys of the resources to which a grant of the group, or of a group "
            "above it, gives access. With `tags`, `includeChildGroups`, `states`, `owner` or "
            "`name`, those of the resources that a search with these finds."
        ),
    )
    @staticmethod
    async def tag_keys(
        info: Info,
        kind: KindArgument,
        group: GroupArgument = UNSET,
        tags: TagsArgument = UNSET,
        include_child_groups: ChildGroupsArgument = UNSET,
        states: ResourceStatesArgument = UNSET,
        owner: OwnerArgument = UNSET,
        name: NameFilterArgument = UNSET,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> TagKeyConnection:
        listed = resource_selection(
            info, group, tags, include_child_groups, name=name, states=states, owner=owner
        )
        return await read_tag_connection(
            TagKeyConnection,
            info,
            ("tagKeys", kind, listed),
            page_from_arguments(first, after, last, before),
            lambda window: list_tag_keys(
                info.context,
                kind,
                listed,
                window,
                with_resource_count=_reads_resource_count(info, "TagKeyConnection"),
            ),
        )

    @strawberry.field(
        graphql_type=TagValueConnection,
        description=(
            "The values of a tag key: those of the top level, or those one level below `parent`. "
            "`tags`, `includeChildGroups`, `states`, `owner` and `name` work as for `tagKeys`."
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
        tags: TagsArgument = UNSET,
        include_child_groups: ChildGroupsArgument = UNSET,
        states: ResourceStatesArgument = UNSET,
        owner: OwnerArgument = UNSET,
        name: NameFilterArgument = UNSET,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> TagValueConnection:
        listed = resource_selection(
            info, group, tags, include_child_groups, name=name, states=states, owner=owner
        )
        above = unset_to_none(parent)
        return await read_tag_connection(
            TagValueConnection,
            info,
            ("tagValues", kind, key, above, listed),
            page_from_arguments(first, after, last, before),
            lambda window: list_tag_values(
                info.context,
                kind,
                listed,
                (key, above),
                window,
                with_resource_count=_reads_resource_count(info, "TagValueConnection"),
            ),
        )


def _reads_resource_count(info: Info, connection: str) -> bool:
    """Whether an answer says how many resources were counted; so too where that is not known."""
    attributes = projected_attributes(info, connection)
    return attributes is None or "resource_count" in attributes


def _tag_records(inputs: list[TagInput] | None) -> tuple[records.Tag, ...]:
    return tuple(tag.record() for tag in unset_to_none(inputs) or ())


def resource_selection(
    info: Info,
    group: GroupPath | None,
    tags: TagFilter | None,
    include_child_groups: bool | None,
    order: Order | None = None,
    name: NameFilter | None = None,
    *,
    states: list[records.State] | None = None,
    owner: GroupPath | None = None,
) -> ListRequest:
    """Return the selection of resources, and their order, that the arguments of a list describe."""
    return ListRequest(
        group=unset_to_none(group) or info.context.caller.default_group,
        tags=(unset_to_none(tags) or TagFilter()).filter(),
        include_child_groups=bool(include_child_groups),
        newest_first=order is not Order.OLDEST_FIRST,
        name=name.filter() if name else None,
        states=tuple(sorted({*(unset_to_none(states) or ())})),
        owner=unset_to_none(owner),
    )
