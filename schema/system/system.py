"""The types and the query fields that show administrators how the system does."""

from importlib.metadata import version

import strawberry
from strawberry import UNSET

from penstock.datastore.access.work import StoreKind
from penstock.datastore.executions.workers.registry import Worker as WorkerRecord
from penstock.datastore.executions.workers.registry import WorkerKind
from penstock.datastore.store import Store
from penstock.resolvers.findings import Severity
from penstock.schema.core.context import After, Before, First, Info, Last
from penstock.schema.core.descriptions import describe_values
from penstock.schema.core.relay import Connection, page_from_arguments, read_connection
from penstock.schema.core.scalars import DateTime, Long
from penstock.schema.engine.cost import price_metadata
from penstock.schema.system.rows import check_rows
from penstock.schema.system.unfinished_work import check_unfinished_work

strawberry.enum(WorkerKind, description="The kind of process that runs executions.")
describe_values(
    WorkerKind,
    {
        WorkerKind.SERVER: "A server with the worker processes that it starts.",
        WorkerKind.COMMAND: "A `penstock worker`.",
        WorkerKind.EXTERNAL: "A program that claims executions by the API; only its name is known.",
    },
)
strawberry.enum(StoreKind, description="The kind of store that holds the table.")
describe_values(
    StoreKind,
    {
        StoreKind.EMBEDDED: "A file of the machine that the server runs on.",
        StoreKind.DYNAMODB: "A table of DynamoDB.",
    },
)
READS_COST = 50


@strawberry.type(
    description="A process that runs executions. It says every 15 seconds that it is there; one "
    "that has not for a minute is not listed."
)
class Worker:
    name: str = strawberry.field(
        description="The unique name of the worker; a new one each time that it starts."
    )
    kind: WorkerKind = strawberry.field(description="The kind of process.")
    host: str | None = strawberry.field(description="The name of its machine.")
    process: int | None = strawberry.field(description="The id of its process on that machine.")
    places: int | None = strawberry.field(
        description="The number of executions that it can run at once."
    )
    running: int = strawberry.field(
        description="The number of executions that it ran when it last said so; of an external "
        "worker, those in a sample of about a hundred."
    )
    version: str | None = strawberry.field(description="The release of Penstock that it runs.")
    started_at: DateTime | None = strawberry.field(description="The time when it started, in UTC.")
    seen_at: DateTime | None = strawberry.field(
        description="The time when it last said that it is there, in UTC."
    )


@strawberry.type(description="The executions of all groups that wait for a worker or have one.")
class ExecutionQueue:
    waiting: int = strawberry.field(
        description="The number that wait for a worker; exact below about a thousand."
    )
    running: int = strawberry.field(
        description="The number that have a worker, of a sample of about a hundred."
    )
    oldest_seconds: float = strawberry.field(
        description="The seconds for which the oldest has waited; 0 if none waits."
    )


@strawberry.type(description="The jobs that are not over.")
class JobQueue:
    unfinished: int = strawberry.field(
        description="The number of jobs that wait or run; exact below about a hundred."
    )
    oldest_seconds: float = strawberry.field(
        description="The age of the oldest of them in seconds; 0 if there is none."
    )


@strawberry.type(
    description="The events that the NGSI sink of the answering process has not stored yet."
)
class SinkBacklog:
    events: int = strawberry.field(description="The number of updates of entities.")
    size: Long = strawberry.field(description="Their size in bytes.")
    troubled_destinations: int = strawberry.field(
        description="The number of tables of samples that cannot be written at the moment."
    )


@strawberry.type(description="Something that needs attention, as `penstock doctor` finds it.")
class Problem:
    check: str = strawberry.field(description="The name of the check.")
    message: str = strawberry.field(description="The finding as a sentence.")
    advice: str | None = strawberry.field(description="The advice as a sentence.")


@strawberry.type(description="A setting of the answering server.")
class Setting:
    name: str = strawberry.field(description="The name of its environment variable.")
    value: str | None = strawberry.field(
        description="Its value as a text, `(hidden)` for a secret; null if it has none."
    )
    is_default: bool = strawberry.field(description="Whether that is the value without a setting.")


@strawberry.type(description="The whole installation, for administrators of `/`.")
class System:
    version: str = strawberry.field(description="The release that the answering server runs.")
    store: StoreKind = strawberry.field(description="The kind of store that holds the table.")
    executions: ExecutionQueue = strawberry.field(description="The queue of executions.")
    jobs: JobQueue = strawberry.field(description="The jobs that are not over.")
    sink: SinkBacklog | None = strawberry.field(
        description="The backlog of the NGSI sink; null in a server without one."
    )
    problems: list[Problem] = strawberry.field(
        description="Work that is stuck, and rows that this release cannot read; empty if all is "
        "well."
    )
    settings: list[Setting] = strawberry.field(
        description="All settings of the answering server by name, without secrets."
    )


@strawberry.type
class SystemQuery:
    @strawberry.field(
        graphql_type=System | None,
        description="The state of the whole installation; null for a caller who is no "
        "administrator of `/`.",
        metadata=price_metadata(READS_COST),
    )
    @staticmethod
    async def system(info: Info) -> System | None:
        store = info.context.system
        if store is None:
            return None
        queue, jobs = await store.read_queues()
        backlog = store.ngsi_access.backlog
        return System(
            version=version("penstock"),
            store=store.kind,
            executions=ExecutionQueue(
                waiting=queue.waiting, running=queue.running, oldest_seconds=queue.age
            ),
            jobs=JobQueue(unfinished=sum(jobs.unfinished.values()), oldest_seconds=jobs.age),
            sink=None if backlog is None else _show_backlog(*backlog()),
            problems=await _find_problems(store),
            settings=[
                Setting(name=one.name, value=one.value, is_default=one.is_default)
                for one in store.settings
            ],
        )

    @strawberry.field(
        graphql_type=Connection[Worker],
        description="The processes that run executions, by name; an empty list for a caller who "
        "is no administrator of `/`.",
    )
    @staticmethod
    async def workers(
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
    ) -> Connection[WorkerRecord]:
        return await read_connection(
            info,
            ("workers",),
            page_from_arguments(first, after, last, before),
            info.context.session.workers.page,
        )


def _show_backlog(events: int, size: int, troubled: int) -> SinkBacklog:
    return SinkBacklog(events=events, size=Long(size), troubled_destinations=troubled)


async def _find_problems(store: Store) -> list[Problem]:
    """Run those checks of the doctor that need nothing but the table."""
    return [
        Problem(check=found.check, message=found.message, advice=found.advice)
        for findings in (check_unfinished_work(store), check_rows(store))
        async for found in findings
        if found.level is not Severity.OK
    ]
