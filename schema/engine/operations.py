"""Operations on their way: as requested, as prepared, as refused, and as answered."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec
from graphql import DocumentNode, OperationType

from penstock.schema.core.errors import FormattedError
from penstock.schema.engine.documents import ParsedDocument
from penstock.schema.engine.limits import MeasuredOperation


class OperationRequest(msgspec.Struct, frozen=True):
    """An operation that a client requests, independent of the transport.

    `consistency_token` comes from the answer to an earlier mutation of the client.
    """

    query: str | None = None
    document_id: str | None = None
    operation_name: str | None = None
    variables: Mapping[str, Any] = MappingProxyType({})
    extensions: Mapping[str, Any] = MappingProxyType({})
    consistency_token: str | None = None


class PreparedOperation(msgspec.Struct, frozen=True):
    """An operation that may run: valid, within the limits, and reading at most `cost` objects."""

    document: ParsedDocument
    operation: MeasuredOperation
    variables: dict[str, Any]
    cost: int
    consistency_token: str | None = None

    @property
    def ast(self) -> DocumentNode:
        """The document; raises ValueError for one with errors, which cannot run."""
        if self.document.ast is None:
            raise ValueError("a document with errors cannot be run")
        return self.document.ast

    @property
    def is_subscription(self) -> bool:
        return self.operation.kind is OperationType.SUBSCRIPTION

    @property
    def is_mutation(self) -> bool:
        return self.operation.kind is OperationType.MUTATION


class RequestRejected(Exception):
    """The operation cannot run; `errors` are in the form of the answer."""

    def __init__(self, *errors: FormattedError) -> None:
        super().__init__(errors[0]["message"])
        self.errors = list(errors)


class OperationResult(msgspec.Struct, frozen=True):
    """The `data` and `errors` of a response, and the seconds to wait if the store was away.

    `size` is that of its data in bytes, roughly, and `units` is the work of making it.
    """

    body: dict[str, Any]
    retry_after: int | None = None
    size: int = 0
    units: int = 0
