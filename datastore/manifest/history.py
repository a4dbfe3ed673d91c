"""The history of a run, row by row."""

from penstock.datastore.layout import RUN_EVENT
from penstock.datastore.manifest.records import Run
from penstock.datastore.manifest.rows import key_of_run
from penstock.datastore.table import Query, Range


def history(run: Run, *, descending: bool = False) -> Query:
    """The rows of what happened to a run: `pk = R:<manifest>:<runId>`, sk from `RH:`."""
    return Query(
        partition=key_of_run(run.name).pk,
        range=Range(RUN_EVENT.sk.prefix({})),
        descending=descending,
        consistent=True,
    )
