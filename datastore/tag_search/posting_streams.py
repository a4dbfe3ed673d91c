"""The port of a search: streams of postings, of which each group has one for each tag value."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

TAGS_IN_ONE_READ = 100


class Posting(NamedTuple):
    """One posting: the id (UUIDv7 text) of a resource, and its whole tag set if it carries it.

    Tags are in comparison form: a key, and the escaped levels of its value joined by `#`. The name
    of the resource may be among them, under the key NAME.
    """

    id: str
    tags: Mapping[str, str] | None


class PostingPage(NamedTuple):
    """A page of a stream. `last` is the id up to which it is complete, None at the stream's end.

    `last` may be set although nothing follows, as on DynamoDB when exactly the limit was read.
    """

    rows: tuple[Posting, ...]
    last: str | None


class PostingStream(Protocol):
    """Postings in the search's direction, one per id."""

    @property
    def proves_tag(self) -> bool:
        """Whether each posting proves that its resource has the tag that the stream is for."""

    async def read(self, after: str | None, limit: int) -> PostingPage:
        """Read up to `limit` rows strictly beyond `after` (None: from the start), in one request.

        Fewer rows are allowed; a page without rows must be the end or have a `last` beyond `after`.
        """

    async def read_tags(self, ids: Sequence[str]) -> Mapping[str, Mapping[str, str]]:
        """Read the tag sets that postings do not carry, in one request for up to 100 ids.

        A resource that left the group has none.
        """

    async def count(self) -> int:
        """Count the rows of the whole stream. A wrong count costs reads, never results."""


class PostingSource(Protocol):
    """The postings of one group."""

    def tag(self, key: str, value: str) -> PostingStream:
        """The postings with the tag value or one below it."""

    def members(self) -> PostingStream:
        """The postings of all resources that are granted to the group."""
