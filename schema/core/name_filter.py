"""The filter of lists by a part of the name."""

from typing import Annotated, TypeAlias

import strawberry
from strawberry import UNSET

from penstock.datastore.name_search.words import MAX_FILTER, MAX_WORDS
from penstock.datastore.name_search.words import NameFilter as Filter
from penstock.schema.core.context import unset_to_none


@strawberry.input(
    description=(
        "A part of a name: exactly one of both fields is given. Upper and lower case are the "
        "same, and so are letters with and without accents. A word is a run of letters and "
        f"digits; names are found by the first {MAX_WORDS} different ones."
    )
)
class NameFilter:
    starts_with: str | None = strawberry.field(
        default=UNSET,
        description=f"The beginning of the whole name, with at most {MAX_FILTER} characters.",
    )
    contains: str | None = strawberry.field(
        default=UNSET,
        description=(
            "Beginnings of words of the name, in any order: `rep sal` finds `Sales report`. It "
            f"has at most {MAX_FILTER} characters."
        ),
    )

    def filter(self) -> Filter:
        return Filter(
            starts_with=unset_to_none(self.starts_with), contains=unset_to_none(self.contains)
        )


NameFilterArgument: TypeAlias = Annotated[
    NameFilter | None,
    strawberry.argument(description="A part of the names. The default is no restriction."),
]
