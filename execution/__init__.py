"""Compiled execution: operations of a GraphQL schema as generated Python.

Knows graphql-core and Strawberry, and nothing of what is served; `written`, which is for
servers, also msgspec and orjson.
"""

from penstock.execution.asked import attributes_asked, reads
from penstock.execution.batching import batched
from penstock.execution.compiled import Compiled
from penstock.execution.options import Options
from penstock.execution.reasons import Reason

__all__ = ["Compiled", "Options", "Reason", "attributes_asked", "batched", "reads"]
