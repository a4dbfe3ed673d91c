"""Compiled execution: operations of a GraphQL schema as generated Python.

Knows graphql-core and Strawberry, and nothing of what is served; `written`, which is for
servers, also msgspec and orjson.
"""

from penstock.graphql_jit.executor import Compiled
from penstock.graphql_jit.field_source import batched
from penstock.graphql_jit.plan import Options, Reason
from penstock.graphql_jit.projection import attributes_asked, reads

__all__ = ["Compiled", "Options", "Reason", "attributes_asked", "batched", "reads"]
