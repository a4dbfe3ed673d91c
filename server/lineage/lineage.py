"""Tells a catalogue of data, by OpenLineage, what executions and manifest runs make of what."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from functools import partial

from penstock.datastore.store import Store
from penstock.datastore.work_reports import ExecutionReport, RunReport
from penstock.server.lineage.delivery import Delivery
from penstock.server.lineage.events import LineageEvent
from penstock.server.lineage.execution_events import EXECUTION_TYPES, execution_events
from penstock.server.lineage.names import LineageNames
from penstock.server.lineage.run_events import run_event
from penstock.server.settings.settings import Settings


class Lineage:
    """The events of one process. They wait until `delivering` is entered."""

    def __init__(self, settings: Settings, url: str) -> None:
        key = settings.openlineage_key
        self._url = url
        self._key = None if key is None else key.get_secret_value()
        self._namespace = settings.openlineage_namespace
        self.delivery: Delivery[ExecutionReport | RunReport] = Delivery()

    @classmethod
    def of(cls, settings: Settings) -> "Lineage | None":
        """The events that the settings ask for, if they do."""
        return None if settings.openlineage_url is None else cls(settings, settings.openlineage_url)

    def tell_execution(self, report: ExecutionReport) -> None:
        """Tell of a change of an execution."""
        if report.change in EXECUTION_TYPES:
            self.delivery.put(report)

    def tell_run(self, report: RunReport) -> None:
        """Tell of a change of the work on a run."""
        self.delivery.put(report)

    @asynccontextmanager
    async def delivering(self, store: Store) -> AsyncIterator[None]:
        """Deliver events until the end; what they are about is read from the store."""
        # It loads a library that a command without events need not wait for.
        from penstock.server.lineage.senders import open_sender  # noqa: PLC0415

        describe = partial(self._describe, store)
        async with (
            open_sender(self._url, self._key) as sender,
            self.delivery.running(sender, describe),
        ):
            yield

    async def _describe(
        self, store: Store, report: ExecutionReport | RunReport
    ) -> Sequence[LineageEvent]:
        names = LineageNames(self._namespace, store.bucket_name)
        if isinstance(report, RunReport):
            return [run_event(report, names)]
        subject = await store.read_execution_subject(report.id, report.at)
        return [] if subject is None else execution_events(report, subject, names)


def deliver_lineage(lineage: Lineage | None, store: Store) -> AbstractAsyncContextManager[None]:
    """Deliver the events until the end, if there are any."""
    return nullcontext() if lineage is None else lineage.delivering(store)
