"""A GraphQL executor that compiles each operation to Python functions.

The package depends on graphql-core and Strawberry and not on the rest of Penstock. Only the module
`msgspec_lists`, which servers use, also needs msgspec and orjson.
"""

from penstock.graphql_jit.executor import Compiled
from penstock.graphql_jit.field_source import batched
from penstock.graphql_jit.plan import Options, Reason
from penstock.graphql_jit.projection import attributes_asked, reads

__all__ = ["Compiled", "Options", "Reason", "attributes_asked", "batched", "reads"]
