"""What can be changed of NGSI: dead letters are tried again, naming rules replaced."""

from typing import Annotated

import strawberry

from penstock.datastore.ngsi import replay
from penstock.datastore.ngsi.naming_rules import Documents
from penstock.resolvers import ngsi
from penstock.schema.core.context import Info
from penstock.schema.core.failures import LimitExceeded, NotFound, NotPermitted, ValidationProblem
from penstock.schema.engine.cost import costs
from penstock.schema.ngsi.dead_letters import NgsiDeadLetter, NgsiNamingRules


@strawberry.type(description="What became of a dead letter that was tried again.")
class NgsiReplayed:
    letter: NgsiDeadLetter = strawberry.field(description="What it was; it is gone.")
    events: int = strawberry.field(description="How many updates are to be stored now.")
    dead: int = strawberry.field(description="How many are in a new dead letter.")


@strawberry.type(description="Dead letters were tried again.")
class ReplayDeadLettersPayload:
    replayed: list[replay.Replayed] = strawberry.field(graphql_type=list[NgsiReplayed])


@strawberry.type(description="The name mappings were replaced.")
class PutNameMappingsPayload:
    naming_rules: Documents = strawberry.field(graphql_type=NgsiNamingRules)


@strawberry.type(description="The grouping rules were replaced.")
class PutGroupingRulesPayload:
    naming_rules: Documents = strawberry.field(graphql_type=NgsiNamingRules)


ReplayDeadLettersResult = Annotated[
    ReplayDeadLettersPayload | NotFound | NotPermitted | LimitExceeded,
    strawberry.union("ReplayDeadLettersResult", description="The letters, or why they stay."),
]
PutNameMappingsResult = Annotated[
    PutNameMappingsPayload | NotFound | NotPermitted | ValidationProblem,
    strawberry.union("PutNameMappingsResult", description="The rules, or why they stay."),
]
PutGroupingRulesResult = Annotated[
    PutGroupingRulesPayload | NotFound | NotPermitted | ValidationProblem,
    strawberry.union("PutGroupingRulesResult", description="The rules, or why they stay."),
]


@strawberry.input(description="The dead letters to try again.")
class ReplayDeadLettersInput:
    ids: list[strawberry.ID] = strawberry.field(description="At most 100; all of them or none.")


@strawberry.input(description="The name mappings to go by.")
class PutNameMappingsInput:
    document: str = strawberry.field(description='JSON: `{"serviceMappings": [...]}`.')


@strawberry.input(description="The grouping rules to go by.")
class PutGroupingRulesInput:
    document: str = strawberry.field(description='JSON: `{"grouping_rules": [...]}`.')


@strawberry.type
class NgsiMutation:
    @strawberry.mutation(
        graphql_type=ReplayDeadLettersResult,
        description="Try dead letters again, by the rules and settings of now; the caller is "
        "contributor at their service paths. What fails once more is in a new letter.",
        metadata=costs(1, "input"),
    )
    @staticmethod
    async def replay_dead_letters(
        info: Info, input: ReplayDeadLettersInput
    ) -> ReplayDeadLettersPayload:
        replayed = await info.context.session.notified.replay(input.ids)
        return ReplayDeadLettersPayload(replayed=replayed)

    @strawberry.mutation(
        graphql_type=PutNameMappingsResult,
        description="Replace the name mappings of all services; the caller is admin of the root. "
        "Within half a minute servers go by them, if `PENSTOCK_NGSI_ENABLE_NAME_MAPPINGS` says so.",
    )
    @staticmethod
    async def put_name_mappings(info: Info, input: PutNameMappingsInput) -> PutNameMappingsPayload:
        found = await ngsi.put_mappings(info.context, input.document)
        return PutNameMappingsPayload(naming_rules=found)

    @strawberry.mutation(
        graphql_type=PutGroupingRulesResult,
        description="Replace the grouping rules of all services; the caller is admin of the root. "
        "Within half a minute servers go by them, if `PENSTOCK_NGSI_ENABLE_GROUPING` says so.",
    )
    @staticmethod
    async def put_grouping_rules(
        info: Info, input: PutGroupingRulesInput
    ) -> PutGroupingRulesPayload:
        found = await ngsi.put_rules(info.context, input.document)
        return PutGroupingRulesPayload(naming_rules=found)
