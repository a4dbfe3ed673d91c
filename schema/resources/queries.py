"""Tags: filters by them, and the keys and values in use.

The work of the query fields that every kind of resource has, and their arguments.
"""

from typing import Annotated, Final, TypeAlias, TypeVar

import strawberry
from strawberry import UNSET

from penstock.datastore import records
from penstock.datastore.resources.reading import Listed
from penstock.datastore.roles import GroupPath
from penstock.datastore.table.layout import Kind
from penstock.datastore.tag_search.tags import MAX_TERMS
from penstock.datastore.tag_search.tags import TagFilter as Filter
from penstock.graphql_jit import attributes_asked
from penstock.resolvers.resources import ResourceKind, tag_lists
from penstock.schema.core.context import (
    After,
    Before,
    First,
    Info,
    InGroup,
    Last,
    Order,
    PageArguments,
    TagInput,
    given,
)
from penstock.schema.core.relay import Connection, connect, key_of, page_of
from penstock.schema.core.scalars import DateTime

strawberry.enum(ResourceKind, description="What carries the tags.")

OfKind = Annotated[ResourceKind, strawberry.argument(description="What carries the tags.")]


@strawberry.input(
    description="Which tags to have: all of `all`, one of `any`, none of `none`. A value also "
    "stands for every value below it: `material` for `material/metal/steel`. At most "
    f"{MAX_TERMS} terms in all."
)
class TagFilter:
    all: list[TagInput] | None = strawberry.field(
        default=UNSET, description="Every one of these is there."
    )
    any: list[TagInput] | None = strawberry.field(
        default=UNSET,
        description="At least one of these is there; an empty list does not restrict.",
    )
    none: list[TagInput] | None = strawberry.field(
        default=UNSET, description="Not one of these is there."
    )

    def filter(self) -> Filter:
        return Filter(all=_tags(self.all), any=_tags(self.any), none=_tags(self.none))


@strawberry.type(description="A tag key in use.")
class TagKey:
    key: str = strawberry.field(description="The key in comparison form.")
    label: str = strawberry.field(description="The key as first written.")
    count: int = strawberry.field(description="How many resources carry it; exact.")


@strawberry.type(description="A tag value in use, at one level of the hierarchy.")
class TagValue:
    key: str = strawberry.field(description="The key in comparison form.")
    value: str = strawberry.field(
        description="The whole path in comparison form, as filters and `parent` take it."
    )
    label: str = strawberry.field(description="The last level as first written.")
    count: int = strawberry.field(
        description="How many resources carry it or a value below it; exact."
    )
    has_children: bool = strawberry.field(description="Whether some value goes on below it.")


@strawberry.type
class TagQuery:
    @strawberry.field(
        graphql_type=Connection[TagKey],
        description="The tag keys in use on what the group sees by its grants and those above.",
    )
    @staticmethod
    async def tag_keys(
        info: Info,
        kind: OfKind,
        group: InGroup = UNSET,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.TagKey]:
        tags, named = tag_lists(info.context, kind), given(group)
        return await connect(
            info,
            ("tagKeys", kind, named),
            page_of(first, after, last, before),
            lambda window: tags.keys(named, window),
        )

    @strawberry.field(
        graphql_type=Connection[TagValue],
        description="The values of a key: the top level, or the level below `parent`.",
    )
    @staticmethod
    async def tag_values(
        info: Info,
        kind: OfKind,
        key: Annotated[str, strawberry.argument(description="The key of the tags.")],
        parent: Annotated[
            str | None, strawberry.argument(description="The value to go below; the top if absent.")
        ] = UNSET,
        group: InGroup = UNSET,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[records.TagValue]:
        tags, named, above = tag_lists(info.context, kind), given(group), given(parent)
        return await connect(
            info,
            ("tagValues", kind, key, above, named),
            page_of(first, after, last, before),
            lambda window: tags.values(key, above, named, window),
        )


def _tags(inputs: list[TagInput] | None) -> tuple[records.Tag, ...]:
    return tuple(tag.record() for tag in given(inputs) or ())


R = TypeVar("R", bound=records.Resource)

OfId: TypeAlias = Annotated[strawberry.ID, strawberry.argument(description="The global id.")]
AsAt: TypeAlias = Annotated[
    DateTime | None,
    strawberry.argument(
        description="Give the version that was the latest at this time; there is none before the "
        "first. The grants of the latest version decide who may see it."
    ),
]
OfName: TypeAlias = Annotated[
    str, strawberry.argument(description="The name; upper and lower case are the same.")
]
WithTags: TypeAlias = Annotated[
    TagFilter | None,
    strawberry.argument(description="The tags to have; all are listed if this is left out."),
]
AlsoBelow: TypeAlias = Annotated[
    bool | None, strawberry.argument(description="Whether to look below the group as well.")
]
InOrder: TypeAlias = Annotated[
    Order | None, strawberry.argument(description="The order by the time of creation.")
]

LIST: Final = (
    "They are those that the group sees by its own grants and the grants above it; "
    "`includeChildGroups` adds those that are granted below it. A search that reads very much ends "
    "its page early, and its cursor goes on from there."
)


async def find_resource(info: Info, kind: Kind[R], id: str, as_at: str | None) -> R:
    """Read a resource by its global id, now or as it was at a time."""
    loaders, key, time = info.context.loaders.of(kind), key_of(kind.title, id), given(as_at)
    if time is None:
        return await loaders.latest(key, attributes_asked(info, kind.title))
    return await loaders.as_at(key, time)


def selection(
    info: Info,
    group: GroupPath | None,
    tags: TagFilter | None,
    include_child_groups: bool | None,
    order: Order | None,
) -> Listed:
    """The resources that the arguments of a list select, and their order."""
    return Listed(
        group=given(group) or info.context.caller.default_group,
        tags=(given(tags) or TagFilter()).filter(),
        include_child_groups=bool(include_child_groups),
        newest_first=order is not Order.OLDEST_FIRST,
    )


async def list_resources(
    info: Info, kind: Kind[R], selected: Listed, page: PageArguments
) -> Connection[R]:
    """Read a page of the resources that are selected."""
    asked = attributes_asked(info, kind.title)
    return await connect(
        info,
        (f"{kind.noun}s", selected),
        page,
        lambda window: info.context.loaders.of(kind).page(selected, window, asked),
    )
