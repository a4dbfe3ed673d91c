"""The check of rows that name latest samples, of `penstock doctor --recount`."""

import json
from collections.abc import Mapping
from typing import Final

from penstock.datastore.access.access import Access, Budget
from penstock.datastore.clock import Clock
from penstock.datastore.errors import Unavailable
from penstock.datastore.mending.latest_samples import (
    LatestDifferences,
    LatestSamplesMending,
    RowBehind,
)
from penstock.datastore.moving.export import MovableStore
from penstock.datastore.ngsi.directory import Directory
from penstock.datastore.ngsi.large_values import LargeValues
from penstock.datastore.ngsi.latest_rows import ENTRY_PREFIX, Entries
from penstock.datastore.ngsi.reading.series import SeriesReader
from penstock.datastore.ngsi.run_log import SINK_CALLER
from penstock.datastore.table.instrumentation import Units
from penstock.datastore.text import say_count
from penstock.resolvers.findings import Finding, Severity, fail, ok, warn
from penstock.server.commands.checks.recount import MOST_SHOWN, REPAIR, RecountReport
from penstock.server.core.progress_bars import Advance

_CHECK: Final = "latest samples"
_AGAIN: Final = "Repeat the command when the tables of samples can be read."


async def check_latest_samples(
    store: MovableStore, progress: Advance, *, repair: bool
) -> RecountReport:
    """Compare rows of latest samples with samples, and raise those that are behind if asked to."""
    access = Access(store.table, SINK_CALLER, Clock(), Budget())
    values, rounds = LargeValues(store.files), access.budget.rounds
    reader = SeriesReader(store.destinations, rounds, Units(), access.clock, values, access.work)
    mending = LatestSamplesMending(Directory(access), reader)
    found = await mending.find(progress)
    is_raised = repair and bool(found.rows) and await _raise_rows(mending, found)
    return RecountReport(_findings(found, is_raised=is_raised), [*map(_describe, found.rows)])


async def _raise_rows(mending: LatestSamplesMending, found: LatestDifferences) -> bool:
    try:
        await mending.raise_rows(found.rows)
    except Unavailable:
        return False
    return True


def _findings(found: LatestDifferences, *, is_raised: bool) -> list[Finding]:
    series = f"of {say_count(found.series, 'series', 'series')}"
    findings: list[Finding] = []
    if found.unread:
        findings.append(warn(_CHECK, f"{found.unread} {series} could not be read.", _AGAIN))
    if not found.rows:
        return [*findings, ok(_CHECK, f"No row is behind the samples {series}.")]
    level = Severity.WARN if is_raised else Severity.FAIL
    findings += [Finding(_CHECK, level, _in_words(one)) for one in found.rows[:MOST_SHOWN]]
    behind = "row is" if len(found.rows) == 1 else "rows are"
    words = f"{len(found.rows)} {behind} behind the samples {series}."
    if is_raised:
        return [*findings, warn(_CHECK, f"{words} All were raised.", "Report how it came about.")]
    return [*findings, fail(_CHECK, words, REPAIR)]


def _describe(one: RowBehind) -> Mapping[str, object]:
    key = one.key
    return {
        "pk": key.pk,
        "sk": key.sk,
        "wanted": _as_attributes(one.newest),
        "standing": _as_attributes(one.standing),
    }


def _as_attributes(entries: Entries) -> Mapping[str, str]:
    return {ENTRY_PREFIX + name: key for name, key in entries.items()}


def _in_words(one: RowBehind) -> str:
    standing, wanted = map(json.dumps, (_as_attributes(one.standing), _as_attributes(one.newest)))
    return f"{one.key.pk}, {one.key.sk} is {standing}, should be at least {wanted}."
