"""What can be subscribed to, and the context that subscriptions need."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated, TypeAlias

import strawberry

from datastore import records
from datastore.access import Caller
from datastore.changes import Changes
from datastore.layout import PIPELINE
from datastore.store import Store
from resolvers import changes
from resolvers.loaders import Loaders
from schema.common import RequestContext
from schema.cursors import Cursors
from schema.nodes import key_of
from schema.pipelines import Pipeline


@dataclass(frozen=True, slots=True)
class StreamContext(RequestContext):
    """The context of a request that may also follow what changes."""

    changes: Changes

    @classmethod
    def over(
        cls, store: Store, caller: Caller, cursors: Cursors, changes: Changes
    ) -> "StreamContext":
        """Make the context of one request or of one event; loaders need its event loop."""
        view = store.seen_by(caller)
        return cls(view, Loaders.over(view), cursors, changes)


StreamInfo: TypeAlias = strawberry.Info[StreamContext, None]


@strawberry.type(description="What can be followed.")
class Subscription:
    @strawberry.subscription(
        graphql_type=Pipeline,
        description="The pipeline as it is now, then again after each change of its content, state "
        "or grants. A client that reads slowly misses changes, never the latest. Completes when "
        "the pipeline is deleted or the caller no longer sees it.",
    )
    @staticmethod
    def pipeline_changed(
        info: StreamInfo,
        id: Annotated[strawberry.ID, strawberry.argument(description="The global id.")],
    ) -> AsyncIterator[records.Pipeline]:
        return changes.resource(
            info.context, PIPELINE, info.context.changes, key_of("Pipeline", id)
        )
