"""The NGSI mutations: replay and delete dead letters, and replace the naming rules."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from penstock.datastore.errors import ErrorCode
from penstock.datastore.jobs.jobs import Job as JobRecord
from penstock.datastore.ngsi import dead_letters, repository
from penstock.datastore.ngsi.directory import ServicePath
from penstock.datastore.ngsi.naming.rules import NamingDocuments
from penstock.resolvers import ngsi
from penstock.schema.core.context import Info, unset_to_none
from penstock.schema.core.descriptions import InputOf
from penstock.schema.core.failures import LimitExceeded, NotFound, NotPermitted, ValidationProblem
from penstock.schema.core.jobs import Job
from penstock.schema.core.scalars import DateTime
from penstock.schema.engine.cost import price_metadata
from penstock.schema.ngsi.dead_letters import NgsiDeadLetter, NgsiNamingRules

DELETION_COST = 100


@strawberry.type(description="The result of replaying one dead letter.")
class NgsiReplayed:
    letter: NgsiDeadLetter = strawberry.field(
        description="The dead letter as it was; it no longer exists."
    )
    events: int = strawberry.field(
        description="The number of updates that are now waiting to be stored."
    )
    dead: int = strawberry.field(
        description="The number of updates that failed again and are in a new dead letter."
    )


@strawberry.type(
    description="A dead letter that could not be replayed. It is as it was, and can be tried again."
)
class NgsiReplayFailure:
    id: strawberry.ID = strawberry.field(description="The id of the dead letter.")
    code: ErrorCode = strawberry.field(description="The reason as a code, for programs.")
    message: str = strawberry.field(description="The reason as text, for people.")


@strawberry.type(description="The result of replaying dead letters.")
class ReplayDeadLettersPayload:
    replayed: list[dead_letters.ReplayResult] = strawberry.field(
        graphql_type=list[NgsiReplayed],
        description="The result of each dead letter that was replayed, now or within the last day.",
    )
    failures: list[repository.ReplayFailure] = strawberry.field(
        graphql_type=list[NgsiReplayFailure],
        description="The dead letters that could not be replayed, such as while too many updates "
        "wait to be stored; empty if all were.",
    )


@strawberry.type(description="The result of deleting dead letters.")
class DeleteDeadLettersPayload:
    letters: list[dead_letters.DeadLetter] = strawberry.field(
        graphql_type=list[NgsiDeadLetter],
        description="The dead letters as they were before they were deleted.",
    )


@strawberry.type(description="The result of starting a deletion of samples.")
class DeleteNgsiSamplesPayload:
    job: JobRecord = strawberry.field(
        graphql_type=Job, description="The job that deletes the samples in the background."
    )


@strawberry.type(description="The result of replacing the name mappings.")
class PutNameMappingsPayload:
    naming_rules: NamingDocuments = strawberry.field(
        graphql_type=NgsiNamingRules, description="The naming rules with the new name mappings."
    )


@strawberry.type(description="The result of replacing the grouping rules.")
class PutGroupingRulesPayload:
    naming_rules: NamingDocuments = strawberry.field(
        graphql_type=NgsiNamingRules, description="The naming rules with the new grouping rules."
    )


ReplayDeadLettersResult = Annotated[
    ReplayDeadLettersPayload | NotFound | NotPermitted | LimitExceeded,
    strawberry.union(
        "ReplayDeadLettersResult",
        description="The result of each dead letter, or the reason why none was replayed.",
    ),
]
DeleteDeadLettersResult = Annotated[
    DeleteDeadLettersPayload | NotFound | NotPermitted | LimitExceeded,
    strawberry.union(
        "DeleteDeadLettersResult",
        description="The deleted dead letters, or the reason why none was deleted.",
    ),
]
DeleteNgsiSamplesResult = Annotated[
    DeleteNgsiSamplesPayload | NotFound | NotPermitted | ValidationProblem | LimitExceeded,
    strawberry.union(
        "DeleteNgsiSamplesResult",
        description="The job that deletes the samples, or the reason why there is none.",
    ),
]
PutNameMappingsResult = Annotated[
    PutNameMappingsPayload | NotFound | NotPermitted | ValidationProblem,
    strawberry.union(
        "PutNameMappingsResult",
        description="The new naming rules, or the reason why nothing changed.",
    ),
]
PutGroupingRulesResult = Annotated[
    PutGroupingRulesPayload | NotFound | NotPermitted | ValidationProblem,
    strawberry.union(
        "PutGroupingRulesResult",
        description="The new naming rules, or the reason why nothing changed.",
    ),
]


@strawberry.input(description="The dead letters to replay.")
class ReplayDeadLettersInput:
    ids: list[strawberry.ID] = strawberry.field(
        description="The ids of at most 100 dead letters. If one of them does not exist, or the "
        "caller may not replay it, none is replayed."
    )


@strawberry.input(description="The dead letters to delete.")
class DeleteDeadLettersInput:
    ids: list[strawberry.ID] = strawberry.field(
        description="The ids of at most 50 dead letters. If one of them does not exist, was "
        "replayed, or the caller may not delete it, none is deleted."
    )


@strawberry.input(description="The samples to delete: those of an entity, all or of a span.")
class DeleteNgsiSamplesInput:
    service: str = strawberry.field(description="The service, as written in the notifications.")
    service_path: str = strawberry.field(description="The service path, such as `/Madrid/Gardens`.")
    entity_id: str = strawberry.field(description="The id of the entity.")
    entity_type: str = strawberry.field(description="The type of the entity; may be empty.")
    start: DateTime | None = strawberry.field(
        name="from",
        default=UNSET,
        description="The first time of the event, in UTC and inclusive; unbounded if left out.",
    )
    end: DateTime | None = strawberry.field(
        name="to",
        default=UNSET,
        description="The end of the times, in UTC and exclusive; unbounded if left out.",
    )


@strawberry.input(description="The name mappings that replace the present ones.")
class PutNameMappingsInput:
    document: str = strawberry.field(
        description='The new name mappings as JSON: `{"serviceMappings": [...]}`.'
    )


@strawberry.input(description="The grouping rules that replace the present ones.")
class PutGroupingRulesInput:
    document: str = strawberry.field(
        description='The new grouping rules as JSON: `{"grouping_rules": [...]}`.'
    )


@strawberry.type
class NgsiMutation:
    @strawberry.mutation(
        graphql_type=ReplayDeadLettersResult,
        description="Try again to store the updates of dead letters, with the present rules and "
        "settings. The caller must be a contributor at their service paths. Each dead letter is "
        "replayed as a whole or not at all. Updates that fail again are put into a new dead "
        "letter. A repetition within a day gives the same result and stores nothing twice.",
        metadata=price_metadata(1, "input"),
    )
    @staticmethod
    async def replay_dead_letters(
        info: Info, input: InputOf[ReplayDeadLettersInput]
    ) -> ReplayDeadLettersPayload:
        replays = await info.context.session.notifications.replay(input.ids)
        return ReplayDeadLettersPayload(replayed=replays.replayed, failures=replays.failures)

    @strawberry.mutation(
        graphql_type=DeleteDeadLettersResult,
        description="Delete dead letters with their contents, for ever. The caller must be an "
        "admin at their service paths. All are deleted or none. Their updates stay counted as "
        "dead-lettered.",
        metadata=price_metadata(1, "input"),
    )
    @staticmethod
    async def delete_dead_letters(
        info: Info, input: InputOf[DeleteDeadLettersInput]
    ) -> DeleteDeadLettersPayload:
        letters = await info.context.session.notifications.delete_letters(input.ids)
        return DeleteDeadLettersPayload(letters=letters)

    @strawberry.mutation(
        graphql_type=DeleteNgsiSamplesResult,
        description="Delete the samples of an entity, all or those of a span of time, for ever, as "
        "a job. Samples that arrive after the request stay. An entity without any sample left "
        "leaves the lists, and returns with its next sample. The caller must be an admin at the "
        "service path, and can have 10 deletions at a time.",
        metadata=price_metadata(DELETION_COST),
    )
    @staticmethod
    async def delete_ngsi_samples(
        info: Info, input: InputOf[DeleteNgsiSamplesInput]
    ) -> DeleteNgsiSamplesPayload:
        at = ServicePath(input.service, input.service_path)
        entity = (input.entity_id, input.entity_type)
        span = ngsi.parse_span(unset_to_none(input.start), unset_to_none(input.end))
        job = await ngsi.delete_samples(info.context, at, entity, span)
        return DeleteNgsiSamplesPayload(job=job)

    @strawberry.mutation(
        graphql_type=PutNameMappingsResult,
        description="Replace the name mappings of all services. The caller must be an admin of "
        "the root group. Servers with the setting `PENSTOCK_NGSI_ENABLE_NAME_MAPPINGS` apply them "
        "within 30 seconds.",
    )
    @staticmethod
    async def put_name_mappings(
        info: Info, input: InputOf[PutNameMappingsInput]
    ) -> PutNameMappingsPayload:
        found = await ngsi.put_mappings(info.context, input.document)
        return PutNameMappingsPayload(naming_rules=found)

    @strawberry.mutation(
        graphql_type=PutGroupingRulesResult,
        description="Replace the grouping rules of all services. The caller must be an admin of "
        "the root group. Servers with the setting `PENSTOCK_NGSI_ENABLE_GROUPING` apply them "
        "within 30 seconds.",
    )
    @staticmethod
    async def put_grouping_rules(
        info: Info, input: InputOf[PutGroupingRulesInput]
    ) -> PutGroupingRulesPayload:
        found = await ngsi.put_rules(info.context, input.document)
        return PutGroupingRulesPayload(naming_rules=found)
