"""What came in of NGSI and what became of it: counts, dead letters, destinations; types."""

import strawberry

from penstock.datastore.ngsi.dead_letters import Dead, DeadLetter
from penstock.datastore.ngsi.name_encoding import Encoding
from penstock.datastore.ngsi.options import DataModel
from penstock.schema.core.context import Info
from penstock.schema.core.scalars import DateTime, Long
from penstock.schema.engine.cost import costs

CONTENTS_COST = 20

strawberry.enum(DataModel, name="NgsiDataModel", description="What has a table of its own.")
strawberry.enum(Encoding, name="NgsiEncoding", description="How texts are written in names.")


@strawberry.type(
    description="Updates of entities that were received: persisted, duplicates, dead-lettered and "
    "pending together."
)
class NgsiCounts:
    received: Long = strawberry.field(description="All of them.")
    persisted: Long = strawberry.field(description="Those that are stored.")
    duplicates: Long = strawberry.field(description="Those that were sent again.")
    dead_lettered: Long = strawberry.field(description="Those in dead letters.")
    pending: Long = strawberry.field(description="Those that are kept and yet to be stored.")
    items: Long = strawberry.field(description="The items that the persisted ones are stored as.")


@strawberry.type(description="An entity that could not be stored.")
class NgsiDeadEntity:
    reason: str = strawberry.field(description="Why.")
    entity: str = strawberry.field(description="The entity as JSON.")


@strawberry.type(description="Updates of one service path that could not be stored together.")
class NgsiDeadLetter:
    id: strawberry.ID = strawberry.field(description="For `replayDeadLetters`.")
    service: str = strawberry.field(description="As notified.")
    path: str = strawberry.field(description="The service path, as notified.")
    reason: str = strawberry.field(description="Why, of the first of them.")
    events: int = strawberry.field(description="How many updates.")
    attempts: int = strawberry.field(description="How often they were tried; 0 for unreadable.")
    first_seen: DateTime = strawberry.field(description="When the first of them arrived.")
    created_at: DateTime = strawberry.field(description="When they were given up.")

    @strawberry.field(
        graphql_type=list[NgsiDeadEntity] | None,
        description="What is in it.",
        metadata=costs(CONTENTS_COST),
    )
    @staticmethod
    async def entities(letter: strawberry.Parent[DeadLetter], info: Info) -> list[Dead]:
        return await info.context.session.notified.entities_of(letter)


@strawberry.type(description="A table of samples, and what it is named after.")
class NgsiDestination:
    table: str = strawberry.field(description="Its name.")
    data_model: DataModel = strawberry.field(description="What it is a table of.")
    encoding: Encoding = strawberry.field(description="How the name is written.")
    named_service: str = strawberry.field(description="The service in the name.")
    named_path: str = strawberry.field(description="The service path in the name.")
    named_entity: str = strawberry.field(description="The entity's id in the name; may be empty.")
    named_type: str = strawberry.field(description="The entity's type in the name; may be empty.")
    created_at: DateTime = strawberry.field(description="When it was registered.")


@strawberry.type(description="Where an entity of a notification would be stored.")
class NgsiPreview:
    entity_id: str | None = strawberry.field(description="Absent where it cannot be read.")
    entity_type: str | None = strawberry.field(description="Absent where it cannot be read.")
    path: str = strawberry.field(description="Its service path.")
    table: str | None = strawberry.field(description="Absent where it would be a dead letter.")
    problem: str | None = strawberry.field(description="Why there is no table.")


@strawberry.type(description="The documents that change what destinations are named after.")
class NgsiNamingRules:
    mappings: str | None = strawberry.field(description="The name mappings, as JSON.")
    grouping: str | None = strawberry.field(description="The grouping rules, as JSON.")
