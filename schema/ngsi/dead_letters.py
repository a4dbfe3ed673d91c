"""The types of NGSI counts, dead letters, destinations, previews and naming rules."""

import strawberry

from penstock.datastore.errors import ErrorCode
from penstock.datastore.ngsi.dead_letters import DeadEvent, DeadLetter
from penstock.datastore.ngsi.name_encoding import Encoding
from penstock.datastore.ngsi.options import DataModel
from penstock.schema.core.context import Info
from penstock.schema.core.descriptions import describe_values
from penstock.schema.core.scalars import DateTime, Long
from penstock.schema.engine.cost import price_metadata

CONTENTS_COST = 20

strawberry.enum(
    DataModel,
    name="NgsiDataModel",
    description="The data model: the rule that decides which samples share a table.",
)
describe_values(
    DataModel,
    {
        DataModel.BY_ENTITY: "Every entity has a table of its own.",
        DataModel.BY_SERVICE_PATH: (
            "Every service path has a table of its own, shared by its entities."
        ),
    },
)
strawberry.enum(
    Encoding, name="NgsiEncoding", description="The rule that encodes texts in table names."
)
describe_values(
    Encoding,
    {
        Encoding.CYGNUS: (
            "The encoding that Cygnus documents; some names cannot be decoded unambiguously."
        ),
        Encoding.STRICT: "An encoding from which every text can be decoded again.",
    },
)


@strawberry.type(
    description="The numbers of received entity updates; `received` is the sum of persisted, "
    "duplicates, dead-lettered and pending updates."
)
class NgsiCounts:
    received: Long = strawberry.field(description="The number of updates received.")
    persisted: Long = strawberry.field(description="The number of updates that are stored.")
    duplicates: Long = strawberry.field(
        description="The number of updates that were received more than once and stored only once."
    )
    dead_lettered: Long = strawberry.field(
        description="The number of updates that are in dead letters."
    )
    pending: Long = strawberry.field(
        description="The number of updates that are accepted and not yet stored."
    )
    items: Long = strawberry.field(
        description="The number of table items in which the persisted updates are stored."
    )


@strawberry.type(description="An entity that could not be stored.")
class NgsiDeadEntity:
    reason: str = strawberry.field(description="The reason why the entity could not be stored.")
    code: ErrorCode | None = strawberry.field(
        description="The reason as a code, for programs; null in dead letters of older servers."
    )
    entity: str = strawberry.field(description="The entity, written as JSON.")


@strawberry.type(description="A dead letter: updates of one service path that could not be stored.")
class NgsiDeadLetter:
    id: strawberry.ID = strawberry.field(
        description="The id of the dead letter, to be given to `replayDeadLetters`."
    )
    service: str = strawberry.field(description="The service, as written in the notification.")
    path: str = strawberry.field(description="The service path, as written in the notification.")
    reason: str = strawberry.field(
        description="The reason why the first of the updates could not be stored."
    )
    code: ErrorCode | None = strawberry.field(
        description="The reason as a code, for programs; null in dead letters of older servers."
    )
    events: int = strawberry.field(description="The number of updates in the dead letter.")
    attempts: int = strawberry.field(
        description="The number of attempts to store the updates; 0 for updates that could not be "
        "read."
    )
    first_seen: DateTime = strawberry.field(
        description="The time when the first of the updates was received, in UTC."
    )
    created_at: DateTime = strawberry.field(
        description="The time when the server gave up storing the updates, in UTC."
    )

    @strawberry.field(
        graphql_type=list[NgsiDeadEntity] | None,
        description="The entities in the dead letter, each with the reason of its failure.",
        metadata=price_metadata(CONTENTS_COST),
    )
    @staticmethod
    async def entities(letter: strawberry.Parent[DeadLetter], info: Info) -> list[DeadEvent]:
        return await info.context.session.notifications.letter_events(letter)


@strawberry.type(
    description="A destination: a table that stores samples, and the parts of its name."
)
class NgsiDestination:
    table: str = strawberry.field(description="The name of the table.")
    data_model: DataModel = strawberry.field(
        description="The data model by which the table was chosen."
    )
    encoding: Encoding = strawberry.field(description="The rule that encodes the table's name.")
    named_service: str = strawberry.field(description="The service in the table's name.")
    named_path: str = strawberry.field(description="The service path in the table's name.")
    named_entity: str = strawberry.field(
        description="The entity id in the table's name; may be empty."
    )
    named_type: str = strawberry.field(
        description="The entity type in the table's name; may be empty."
    )
    created_at: DateTime = strawberry.field(
        description="The time when the destination was registered, in UTC."
    )


@strawberry.type(description="The destination that an entity of a notification would have.")
class NgsiPreview:
    entity_id: str | None = strawberry.field(
        description="The id of the entity; null if it cannot be read."
    )
    entity_type: str | None = strawberry.field(
        description="The type of the entity; null if it cannot be read."
    )
    path: str = strawberry.field(description="The service path of the entity.")
    table: str | None = strawberry.field(
        description="The name of the table that would store the entity; null if it would become a "
        "dead letter."
    )
    problem: str | None = strawberry.field(
        description="The reason why no table would store the entity; null if one would."
    )


@strawberry.type(description="The documents of rules that change the names of destinations.")
class NgsiNamingRules:
    mappings: str | None = strawberry.field(
        description="The name mappings, written as JSON; null if there are none."
    )
    grouping: str | None = strawberry.field(
        description="The grouping rules, written as JSON; null if there are none."
    )
