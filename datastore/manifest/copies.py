"""Copies of processed runs in the manifests of consumers, made when the runs are processed."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from msgspec.structs import replace

from penstock.datastore.access.access import Access
from penstock.datastore.manifest.counts import add_runs_writes
from penstock.datastore.manifest.insert import first_event, run_exists
from penstock.datastore.manifest.records import Action, Manifest, Run, RunState
from penstock.datastore.manifest.rows import RunWasDeleted, new_rows, run_item
from penstock.datastore.table.commit import AlreadyDone, Preparation, StaleRead, Write
from penstock.datastore.table.counters import choose_shard
from penstock.datastore.table.port import Item, Missing, Put


class ConsumerRefused(Exception):
    """A consumer takes no copy: it has one or is gone; or its copy must begin with a `fence`."""

    def __init__(self, consumer: str, fence: int | None) -> None:
        super().__init__(consumer)
        self.consumer, self.fence = consumer, fence


def copy_for(access: Access, run: Run, consumer: str, fence: int = 0) -> Run:
    """The copy of a processed run for a consumer, which waits to be loaded."""
    id = access.clock.new_id()
    return replace(
        run,
        id=id,
        shard=choose_shard(id, access.shards),
        manifest=consumer,
        state=RunState.PROCESSED,
        version=1,
        fence=fence,
        attempt=0,
        lease_owner=None,
        lease_until=None,
        last_error=None,
        retry_at=None,
        loaded_at=None,
        loaded_by=None,
    )


@dataclass(slots=True)
class CopyWriter:
    """Writes copies of one run; it learns from each refusal, until all that is left succeeds.

    `fences` has the fence with which a consumer's copy begins, and None where it gets no copy.
    """

    access: Access
    fences: dict[str, int | None] = field(default_factory=dict)

    def writes(self, run: Run, source: Manifest | None) -> list[Write]:
        """The writes that give the processed run to each consumer of its manifest."""
        consumers = () if source is None else source.consumers
        wanted = [(name, self.fences.get(name, 0)) for name in consumers]
        return [
            write
            for name, fence in wanted
            if fence is not None
            for write in self._writes_for(name, copy_for(self.access, run, name, fence))
        ]

    def learn(self, refused: ConsumerRefused) -> None:
        self.fences[refused.consumer] = refused.fence

    def _writes_for(self, consumer: str, copy: Run) -> Iterator[Write]:
        event = first_event(self.access, copy, Action.COPY)
        yield _refusing_for(consumer, Write(Put(run_item(copy), Missing()), run_exists))
        for write in (*new_rows(copy, event), *add_runs_writes([copy])):
            yield _refusing_for(consumer, write)


def _refusing_for(consumer: str, write: Write) -> Write:
    """The write, whose refusal concerns the consumer alone."""

    def refuse(standing: Item | None) -> Write | Preparation | Exception:
        match outcome := write.refusal(standing):
            case Preparation(writes):
                return Preparation(tuple(_refusing_for(consumer, each) for each in writes))
            case Write() | AlreadyDone() | StaleRead():
                return outcome
            case RunWasDeleted():
                return ConsumerRefused(consumer, outcome.fence)
            case _:
                return ConsumerRefused(consumer, None)

    return Write(write.operation, refuse)
