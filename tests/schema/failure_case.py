"""A failure of a mutation: its input, its caller, and the answer."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from penstock.datastore.roles import Caller
from tests.support.graphql_client import ROOT, as_caller

READER = as_caller("rita", "/=reader")
ABSENT = "01a1fd33-4531-77f0-8555-cdb912a93fef"


class Case(NamedTuple):
    """An input that ends in a failure; the names that `resources` gives stand for ids."""

    field: str
    input: dict[str, Any]
    code: str
    path: list[str] | None
    more: Mapping[str, Any] = MappingProxyType({})
    caller: Caller = ROOT
