"""Documents of a schema: each text is parsed, measured and validated once and cached.

Persisted documents are named by an id instead of being sent.
"""

import re
from asyncio import get_running_loop
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from hashlib import sha256
from typing import Any, Final, NoReturn

from cachetools import LRUCache
from graphql import (
    DocumentNode,
    FieldsOnCorrectTypeRule,
    GraphQLError,
    GraphQLSchema,
    KnownArgumentNamesRule,
    ValuesOfCorrectTypeRule,
    parse,
    validate,
)
from strawberry import Schema

from penstock.datastore.errors import ErrorCode
from penstock.graphql_jit import CompiledOperation, PlanRoom
from penstock.schema.core.errors import (
    FormattedError,
    format_error,
    format_request_error,
    format_syntax_error,
)
from penstock.schema.engine.limits import (
    Limits,
    MeasuredOperation,
    measure_operations,
    rejection_error,
)
from penstock.schema.engine.validation import find_faults

_DIGEST: Final = re.compile(r"(?:sha256:)?([0-9a-f]{64})", re.ASCII)


class PersistedMode(StrEnum):
    """The documents that a client may name by an id.

    OFF: none. AUTOMATIC: those that were sent once with their digest. TRUSTED: those of a fixed
    list, and no other document runs at all.
    """

    OFF = "off"
    AUTOMATIC = "automatic"
    TRUSTED = "trusted"


class PersistedDocuments:
    """The texts of documents by id: a SHA-256 in hex, or any text of the trusted list.

    `own` are the documents of the server's own page, by digest, which run in every mode.
    """

    __slots__ = ("_automatic", "_digests", "_own", "_trusted", "mode")

    def __init__(
        self,
        mode: PersistedMode = PersistedMode.AUTOMATIC,
        trusted: Mapping[str, str] | None = None,
        *,
        own: Mapping[str, str] | None = None,
        count: int = 1_000,
        size: int = 8_000_000,
    ) -> None:
        self.mode = mode
        self._trusted = {_strip_prefix(key): text for key, text in (trusted or {}).items()}
        self._own = dict(own or {})
        listed = (*self._trusted.values(), *self._own.values())
        self._digests = frozenset(_digest_of_text(text) for text in listed)
        least = size // count
        self._automatic = LRUCache[str, str](size, lambda text: max(least, len(text.encode())))

    @property
    def cached_count(self) -> int:
        """The number of texts that are cached under the digests that came with them."""
        return len(self._automatic)

    def find_text(self, document_id: str) -> str:
        """Find the text of an id; GraphQLError with a code if there is none."""
        own = self._own.get(document_id)
        if own is not None:
            return own
        if self.mode is PersistedMode.OFF:
            _reject_persisted_query()
        known = self._trusted if self.mode is PersistedMode.TRUSTED else self._automatic
        text = known.get(_strip_prefix(document_id))
        if text is None:
            # Clients of automatic persisted queries look for exactly this message.
            raise rejection_error("PersistedQueryNotFound", ErrorCode.PERSISTED_QUERY_NOT_FOUND)
        return text

    def check_text(self, text: str, digest: str | None) -> None:
        """Reject a text that must not run or does not match its digest, with a GraphQLError."""
        if digest is not None and self.mode is PersistedMode.OFF:
            _reject_persisted_query()
        if digest is not None and _digest_of_text(text) != _strip_prefix(digest):
            raise rejection_error("The digest is not that of the query.", ErrorCode.BAD_REQUEST)
        if self.mode is PersistedMode.TRUSTED and _digest_of_text(text) not in self._digests:
            raise rejection_error(
                "Only trusted documents run here.", ErrorCode.PERSISTED_QUERY_NOT_FOUND
            )

    def remember(self, text: str, digest: str) -> None:
        """Cache a valid text under the digest that came with it."""
        if self.mode is PersistedMode.AUTOMATIC:
            with suppress(ValueError):  # one that weighs more than the bound is not kept
                self._automatic[_strip_prefix(digest)] = text


def read_digest(extensions: Mapping[str, object]) -> str | None:
    """Read `extensions.persistedQuery`; GraphQLError if its form is not that of version 1."""
    persisted_query = extensions.get("persistedQuery")
    if persisted_query is None:
        return None
    if not isinstance(persisted_query, dict) or persisted_query.get("version") != 1:
        _reject_persisted_query()
    digest = persisted_query.get("sha256Hash")
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        raise rejection_error("`sha256Hash` is a SHA-256 in lower-case hex.", ErrorCode.BAD_REQUEST)
    return digest


def _reject_persisted_query() -> NoReturn:
    raise rejection_error("PersistedQueryNotSupported", ErrorCode.PERSISTED_QUERY_NOT_SUPPORTED)


def _strip_prefix(document_id: str) -> str:
    found = _DIGEST.fullmatch(document_id)
    return found[1] if found else document_id


def _digest_of_text(text: str) -> str:
    return sha256(text.encode()).hexdigest()


_SUGGESTING_RULES: Final = (
    FieldsOnCorrectTypeRule,
    KnownArgumentNamesRule,
    ValuesOfCorrectTypeRule,
)
"""Rules that compare a wrong name with few others; that of types compares it with all types."""

_BYTES_PER_CHARACTER: Final = 320
"""Memory of a text that is parsed, measured and validated (140 to 320), without plans."""

_BYTES_PER_ENTRY: Final = 2_000

_LEAST_PLANNED: Final = 150
_CHARACTERS_PER_PLANNED: Final = 2
_MOST_PLANNED: Final = 4_000
"""A document's plans have so many fields, and one more for so many characters of its text.

A fragment is planned where it is used, and an operation for each set of conditions: without a
bound, plans of 3 KB of text took 75 MB.
"""

_BYTES_PER_PLANNED: Final = 2_500
"""Memory of a field of a plan (1,300 to 2,300)."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class ParsedDocument:
    """The parsed form of a text with its operations; only `errors` if it cannot be run.

    `digest` is the SHA-256 in hex of a text that can be run; each run logs it. `compiled` caches
    the compiled operations by name, whose plans share the `room`.
    """

    text: str
    ast: DocumentNode | None = None
    operations: tuple[MeasuredOperation, ...] = ()
    errors: tuple[FormattedError, ...] = ()
    digest: str | None = None
    compiled: dict[str | None, CompiledOperation] = field(default_factory=dict)
    room: PlanRoom = field(default_factory=partial(PlanRoom, 0))

    @property
    def memory_bytes(self) -> int:
        """Estimate the memory of the document without its plans, in bytes."""
        parsed = _BYTES_PER_CHARACTER if self.ast else 4
        return _BYTES_PER_ENTRY + len(self.text) * parsed

    @property
    def planned_bytes(self) -> int:
        """Estimate the memory of the plans, in bytes."""
        return self.room.taken * _BYTES_PER_PLANNED

    def forget_plans(self) -> None:
        """Drop the plans, and make none any more."""
        self.room.close()
        self.compiled.clear()


class _KeptDocuments(LRUCache[str, ParsedDocument]):
    """Documents by text; one that leaves the cache leaves its plans, whoever still runs it."""

    def popitem(self) -> tuple[str, ParsedDocument]:
        text, document = super().popitem()
        document.forget_plans()
        return text, document


class DocumentCache:
    """The documents of one schema, cached by text: at most `count`, of about `size` bytes in all.

    Each counts as a `count`-th of `size` or more, so that one bound covers both, and its plans
    count besides: `_grown` has the texts of those that got a plan since.
    """

    __slots__ = ("_grown", "_kept", "_limits", "_schema")

    def __init__(
        self, schema: Schema, limits: Limits, *, count: int = 1_000, size: int = 64_000_000
    ) -> None:
        self._schema = core_schema(schema)
        self._limits = limits
        least = size // count
        self._grown: list[str] = []
        self._kept = _KeptDocuments(
            size, lambda document: max(least, document.memory_bytes) + document.planned_bytes
        )

    def __len__(self) -> int:
        return len(self._kept)

    def __contains__(self, text: str) -> bool:
        return text in self._kept

    def get(self, text: str) -> ParsedDocument:
        """Return the document of a text; never raises for the content of the text."""
        self._weigh_grown()
        found = self._kept.get(text)
        if found is not None:
            return found
        if len(text) > self._limits.source_length:
            return ParsedDocument("", errors=(_too_long_error(self._limits.source_length),))
        document = self._read_document(text)
        self._store(document)
        return document

    async def read_in_executor(self, text: str, executor: Executor) -> None:
        """Parse and check a text in an executor instead of the event loop, if it is not cached."""
        if len(text) <= self._limits.source_length and self._kept.get(text) is None:
            self._store(
                await get_running_loop().run_in_executor(executor, self._read_document, text)
            )

    def _store(self, document: ParsedDocument) -> None:
        if document.text not in self._kept:
            self._weigh(document)

    def _weigh_grown(self) -> None:
        """Weigh the documents that got plans again, for which others may have to go."""
        while self._grown:
            document = self._kept.get(self._grown.pop())
            if document is not None:
                self._weigh(document)

    def _weigh(self, document: ParsedDocument) -> None:
        try:
            self._kept[document.text] = document
        except ValueError:  # one that weighs more than the bound is not kept
            self._kept.pop(document.text, None)
            document.forget_plans()

    def _read_document(self, text: str) -> ParsedDocument:
        try:
            ast = self._parse(text)
        except GraphQLError as error:
            return ParsedDocument(text, errors=(format_syntax_error(error),))
        try:
            operations = measure_operations(self._schema, ast, self._limits)
        except GraphQLError as error:
            return ParsedDocument(text, errors=(format_request_error(error),))
        most = self._limits.errors
        found = find_faults(self._schema, ast, most)
        if found:
            errors = self._suggest_names(ast, found[:most])
            return ParsedDocument(text, errors=tuple(map(format_request_error, errors)))
        digest = sha256(text.encode()).hexdigest()
        planned = min(_LEAST_PLANNED + len(text) // _CHARACTERS_PER_PLANNED, _MOST_PLANNED)
        room = PlanRoom(planned, note=partial(self._grown.append, text))
        return ParsedDocument(text, ast, operations, digest=digest, room=room)

    def _suggest_names(
        self, ast: DocumentNode, found: Sequence[GraphQLError]
    ) -> Iterator[GraphQLError]:
        """Yield the errors, the first of them with names that the author may have meant."""
        most = self._limits.suggestions
        hints: Sequence[GraphQLError] = ()
        if most:
            hints = validate(self._schema, ast, _SUGGESTING_RULES, most, hide_suggestions=False)
        for error in found:
            same = (
                hint
                for hint in hints[:most]
                if hint.locations == error.locations and hint.message.startswith(error.message)
            )
            yield next(same, error)

    def _parse(self, text: str) -> DocumentNode:
        return parse(
            text, max_lexical_tokens=self._limits.tokens, max_comments=self._limits.comments
        )


def core_schema(schema: Schema) -> GraphQLSchema:
    """Return the graphql-core schema, for which Strawberry has no public name."""
    inner: Any = schema._schema  # noqa: SLF001
    if not isinstance(inner, GraphQLSchema):
        raise TypeError("Strawberry no longer keeps its graphql-core schema in `_schema`.")
    return inner


def _too_long_error(most: int) -> FormattedError:
    return format_error(
        f"The document is longer than {most} characters.", ErrorCode.QUERY_TOO_LARGE
    )
