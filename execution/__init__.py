"""Compiled execution: operations of a GraphQL schema as generated Python.

Knows graphql-core and Strawberry, and nothing of what is served; `execution.written`, which is for
servers, also msgspec and orjson.
"""

from execution.asked import attributes_asked, reads
from execution.batching import batched
from execution.compiled import Compiled
from execution.options import Options
from execution.reasons import Reason

__all__ = ["Compiled", "Options", "Reason", "attributes_asked", "batched", "reads"]
