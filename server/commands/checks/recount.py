"""The recount of `penstock doctor --recount`: rows and counts against what they are made of."""

import json
from collections.abc import Mapping
from typing import Final, NamedTuple

from penstock.datastore.mending.differences import Differences, find_differences
from penstock.datastore.mending.hold import hold_repair
from penstock.datastore.mending.repair import Repair, RepairResult
from penstock.datastore.table.port import Table
from penstock.datastore.text import say_count
from penstock.resolvers.findings import Finding, Severity, fail, ok, warn
from penstock.server.core.progress_bars import Advance

MOST_SHOWN: Final = 50
"""The most differences in the text; `--json` lists all."""

REPAIR = "`penstock doctor --repair` makes them as they should be."
_AGAIN = "Something wrote there, or two resources claim one name: repeat the command."


class RecountReport(NamedTuple):
    """The findings of a recount, and each difference as a JSON object."""

    findings: list[Finding]
    differences: list[Mapping[str, object]]


async def recount(table: Table, segments: int, progress: Advance, *, repair: bool) -> RecountReport:
    """Scan the table, and repair what differs if asked to.

    Raises Unavailable if another process begins to repair the table meanwhile.
    """
    if repair:
        async with hold_repair(table) as held:
            found = await find_differences(table, segments, progress)
            done = await Repair(held).run(found) if found.total else None
    else:
        found, done = await find_differences(table, segments, progress), None
    return RecountReport(_findings(found, done), _describe_differences(found))


def _findings(found: Differences, done: RepairResult | None) -> list[Finding]:
    scanned = say_count(found.scanned, "row")
    if not found.total:
        return [ok("recount", f"Rows and counts are as they should be: {scanned} read.")]
    differs = "differs from what it is" if found.total == 1 else "differ from what they are"
    words = f"{found.total} of {scanned} {differs} made of."
    level = Severity.WARN if done is not None and not done.left else Severity.FAIL
    shown = _describe_differences(found)[:MOST_SHOWN]
    listed = [Finding("recount", level, _in_words(one)) for one in shown]
    if done is None:
        return [*listed, fail("recount", words, REPAIR)]
    if done.left:
        left = f"{words} {done.repaired} were repaired; {done.left} are left."
        return [*listed, fail("recount", left, _AGAIN)]
    return [*listed, warn("recount", f"{words} All were repaired.", "Report how it came about.")]


def _describe_differences(found: Differences) -> list[Mapping[str, object]]:
    rows = [(one.key, one.wanted, one.standing) for one in found.rows]
    counts = [(one.key, dict(one.wanted) or None, dict(one.standing)) for one in found.counts]
    return [
        {"pk": key.pk, "sk": key.sk, "wanted": wanted, "standing": standing or None}
        for key, wanted, standing in (*rows, *counts)
    ]


def _in_words(difference: Mapping[str, object]) -> str:
    where = f"{difference['pk']}, {difference['sk']}"
    if difference["standing"] is None:
        return f"{where} is missing."
    if difference["wanted"] is None:
        return f"{where} has no source."
    shown = json.dumps(difference["standing"], default=str)
    return f"{where} is {shown}, should be {json.dumps(difference['wanted'], default=str)}."
