"""Tags: filters by them, and the keys and values in use."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from penstock.datastore import records
from penstock.datastore.filters import MAX_TERMS
from penstock.datastore.filters import TagFilter as Filter
from penstock.resolvers.tags import ResourceKind, tag_lists
from penstock.schema.common import After, Before, First, Info, InGroup, Last, TagInput, given
from penstock.schema.connections import Connection, connect, page_of

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
