"""Follows the rows that a pipeline keeps, and the values of a metric over such rows."""

import asyncio
from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from penstock.datastore.access.access import Access
from penstock.datastore.errors import NotFound
from penstock.datastore.kept_rows.metric_plan import MetricPlan
from penstock.datastore.kept_rows.metric_series import find_visible, read_plan
from penstock.datastore.kept_rows.part_list import read_heads
from penstock.datastore.records import Metric, Pipeline
from penstock.datastore.resources.changes import RowChanges, revision_of, shown_state
from penstock.datastore.resources.metric_sources import metric_ids
from penstock.datastore.resources.reading import ResourceReader
from penstock.datastore.table.items import read_rows
from penstock.datastore.table.layout import METRIC, PIPELINE, ROWS_HEAD, KindDefinition
from penstock.datastore.table.port import Attributes, Key


def changes_of(row: Attributes) -> int:
    """Count the commits of a pipeline's rows, and those that left, by their head."""
    return sum(int(str(row.get(name, 0))) for name in ("commits", "gone"))


@dataclass(frozen=True, slots=True)
class FollowRows:
    """Follows rows for the caller. A slow reader misses commits, but always learns of the last."""

    access: Access
    changes: RowChanges

    async def of_pipeline(self, id: str) -> AsyncGenerator[Pipeline]:
        """Yield a pipeline, and again after each commit of its rows, whoever sees these.

        Ends when it is deleted or the caller no longer sees it. Raises NotFound at first.
        """
        reading = ResourceReader(PIPELINE, self.access)
        pipeline: Pipeline | NotFound = await reading.one(id)
        shown = -1
        while not isinstance(pipeline, NotFound):
            head = (await read_heads(self.access.table, [id]))[id]
            if (count := head.commits + head.gone) != shown:
                shown = count
                yield pipeline
            revisions = {PIPELINE.latest.key(id=id): pipeline.revision}
            await self._wait(revisions, {ROWS_HEAD.key(id=id): count})
            (pipeline,) = await reading.many([id])

    async def of_metric(self, id: str) -> AsyncGenerator[Metric]:
        """Yield a metric, and again after each commit of rows of which it is made.

        Also after a change of the metric, or of one that it is made of, but for grants to groups
        that the caller may not know of, and when something of which it is made goes out of sight
        or comes into it. Ends when it is deleted or the caller no longer sees it. Raises NotFound
        at first.
        """
        reading = ResourceReader(METRIC, self.access)
        metric: Metric | NotFound = await reading.one(id)
        shown: tuple[Mapping[str, object], Mapping[Key, int]] | None = None
        while not isinstance(metric, NotFound):
            plan = await read_plan(self.access, metric)
            made_of = await find_visible(self.access, [one.pipeline for one in plan.leaves()])
            heads = await read_heads(self.access.table, list(made_of))
            commits = {ROWS_HEAD.key(id=id): head.commits + head.gone for id, head in heads.items()}
            hidden = await self._hidden_revisions(plan, made_of)
            if hidden is None:
                continue
            read = plan.metrics
            revisions = {
                **{METRIC.latest.key(id=one.id): one.revision for one in read},
                **{PIPELINE.latest.key(id=id): one.revision for id, one in made_of.items()},
            }
            states = {one.id: shown_state(self.access.caller, one) for one in read}
            if (states, commits) != shown:
                shown = states, commits
                yield metric
            await self._wait(revisions | hidden, commits)
            (metric,) = await reading.many([id])

    async def _hidden_revisions(
        self, plan: MetricPlan, visible: Collection[str]
    ) -> dict[Key, int] | None:
        """Read the revisions of what a metric is made of out of sight; None if it came into it.

        `visible` are the pipelines in sight.
        """
        metrics = {id for one in plan.metrics for id in metric_ids(one)}
        pipelines = {leaf.pipeline for leaf in plan.leaves()}
        kinds: dict[Key, KindDefinition[Any]] = {
            **{METRIC.latest.key(id=id): METRIC for id in metrics.difference(plan.reached)},
            **{PIPELINE.latest.key(id=id): PIPELINE for id in pipelines.difference(visible)},
        }
        rows = await read_rows(self.access.table, kinds, consistent=True)
        admitted = (ResourceReader(kinds[key], self.access).admit(row) for key, row in rows.items())
        if any(not isinstance(one, NotFound) for one in admitted):
            return None
        return {key: revision_of(row) for key, row in rows.items()}

    async def _wait(self, revisions: Mapping[Key, int], commits: Mapping[Key, int]) -> None:
        """Wait until a row of a resource or the head of some rows is another one; pay for that."""
        arrived, work = asyncio.Event(), self.access.work
        with ExitStack() as stack:
            for key, revision in revisions.items():
                stack.enter_context(self.changes.watch(key, revision, arrived, revision_of, work))
            for key, count in commits.items():
                stack.enter_context(self.changes.watch(key, count, arrived, changes_of, work))
            await arrived.wait()
        work.owe(len(revisions) + len(commits))
