"""The checks of the rows: their form, and whether this release can read them."""

from collections.abc import Sequence

from penstock.datastore.store import Store
from penstock.datastore.table.unreadable_rows import UnreadableRow
from penstock.datastore.text import say_count
from penstock.resolvers.findings import Finding, Findings, ok, warn


async def check_rows(store: Store) -> Findings:
    """Judge the rows; raises errors.Unavailable if the store does not answer or is too new."""
    yield judge_form(await store.pending_upgrades())
    yield judge_unreadable(await store.find_unreadable())


def judge_form(pending: Sequence[str]) -> Finding:
    """Judge the titles of the steps that the rows still need."""
    if not pending:
        return ok("rows", "They have the form of this release.")
    advice = "`penstock table upgrade` does it while servers go on."
    return warn(
        "rows", f"They are of an earlier release. {'; '.join(pending)}: to be done.", advice
    )


def judge_unreadable(found: Sequence[UnreadableRow]) -> Finding:
    if not found:
        return ok("unreadable rows", "None was found.")
    keys = ", ".join(f"{row.key.pk} {row.key.sk} ({row.problem})" for row in found[:3])
    more = ", ..." if len(found) > 3 else ""
    advice = "Lists leave them out. Use the release that wrote them, or restore or delete them."
    words = f"{say_count(len(found), 'row')} cannot be read: {keys}{more}."
    return warn("unreadable rows", words, advice)
