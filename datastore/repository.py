"""Everything one caller can do with one kind of resource."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from penstock.datastore.layout import Kind
from penstock.datastore.records import Resource
from penstock.datastore.resources.deleting import Deleting
from penstock.datastore.resources.listing import Listing
from penstock.datastore.resources.reading import Reading
from penstock.datastore.resources.scope import Scope
from penstock.datastore.resources.tag_lists import TagLists
from penstock.datastore.resources.versions import Versions
from penstock.datastore.resources.writing import Writing

R = TypeVar("R", bound=Resource)


@dataclass(frozen=True, slots=True)
class Repository(Generic[R]):
    """The reads, lists, writes and deletes of one kind, bound to a caller."""

    kind: Kind[R]
    reading: Reading[R]
    versions: Versions[R]
    listing: Listing[R]
    writing: Writing[R]
    deleting: Deleting[R]
    tags: TagLists

    @classmethod
    def of(cls, kind: Kind[R], scope: Scope) -> "Repository[R]":
        return cls(
            kind,
            Reading(kind, scope),
            Versions(kind, scope),
            Listing(kind, scope),
            Writing(kind, scope),
            Deleting(kind, scope),
            TagLists(kind.letter, scope),
        )
