"""The rows of a run: the run itself, its history, and its lines in the lists by time."""

from decimal import Decimal

import msgspec

from penstock.datastore.manifest.labels import ALL_RUNS, ListName, lists_of
from penstock.datastore.manifest.records import ManifestName, Run, RunEvent, RunName
from penstock.datastore.table.commit import AlreadyDone, Refusal, Write, stale_read
from penstock.datastore.table.items import load, overwrite
from penstock.datastore.table.layout import RUN, RUN_EVENT, RUN_LISTED
from penstock.datastore.table.port import (
    TTL,
    AnyOf,
    Attributes,
    Compare,
    Delete,
    Item,
    Key,
    Missing,
    Operation,
    Put,
    Query,
    Range,
)


def key_of_run(name: RunName) -> Key:
    return RUN.key(manifest=name.manifest.key_parts, run=name.run_id)


def key_bytes(name: RunName) -> int:
    """The length of a run's key; it must fit `limits.INDEX_RANGE_BYTES`, as an index uses it."""
    return len(key_of_run(name).pk.encode(errors="replace"))


def list_key(manifest: ManifestName, listed: ListName, position: str) -> Key:
    """The key of a run's line in a list; a position is `<AddedAt>:<id>`."""
    added, _, id = position.partition(":")
    return RUN_LISTED.key(manifest=manifest.key_parts, list=listed, added=int(added), id=id)


def position_of(run: Run) -> str:
    """The position of a run in every list: by time, then by id within one second."""
    return f"{run.added_at:010}:{run.id}"


def run_item(run: Run) -> Item:
    """The run's own row, which holds the document's attributes under their names."""
    attributes = msgspec.to_builtins(run, builtin_types=(Decimal,))
    if run.shred_types is not None:
        attributes["ShredTypes"] = list(run.shred_types)
    if run.tags:
        attributes["Tags"] = list(attributes["Tags"])
    return {**RUN.item(manifest=run.name.manifest.key_parts, run=run.run_id), **attributes}


def run_of(item: Attributes) -> Run:
    return load(Run, item)


def event_item(run: Run, event: RunEvent) -> Item:
    attributes = msgspec.to_builtins(event, builtin_types=(Decimal,))
    del attributes["seq"]
    key = RUN_EVENT.item(manifest=run.name.manifest.key_parts, run=run.run_id, seq=event.seq)
    return {**key, **attributes}


def first_event_key(run: Run) -> Key:
    """The key of a run's first event, which becomes that of its tombstone."""
    return RUN_EVENT.key(manifest=run.name.manifest.key_parts, run=run.run_id, seq=1)


def event_of(item: Attributes) -> RunEvent:
    return load(RunEvent, item, seq=int(RUN_EVENT.sk.parse(str(item["sk"]))["seq"]))


def list_lines(run: Run) -> dict[Key, Item]:
    """The lines of a run in all lists that have it.

    Their `ToSkip` allows to filter without reading the run; so does `RetryAt` in lists by state.
    """
    line: Item = {"RunId": run.run_id, "ToSkip": run.to_skip}
    waits: Item = {} if run.retry_at is None else {"RetryAt": run.retry_at}
    lines: dict[Key, Item] = {}
    for listed, facts in ((ALL_RUNS, line), (run.state, {**line, **waits})):
        for name in lists_of(run, listed):
            key = list_key(run.name.manifest, name, position_of(run))
            lines[key] = {"pk": key.pk, "sk": key.sk, **facts}
    return lines


class RunWasDeleted(Exception):
    """A run of this name was deleted; `fence` is its highest fence."""

    def __init__(self, fence: int) -> None:
        super().__init__(fence)
        self.fence = fence


def new_rows(run: Run, event: RunEvent | None) -> list[Write]:
    """All rows of a new run except its own.

    Raises RunWasDeleted if a run of this name was deleted and the new run's fence is not its
    highest.
    """
    lines = [Write(Put(line)) for line in list_lines(run).values()]
    if event is None:
        return lines
    item = event_item(run, event)
    condition = AnyOf((Missing(), Compare("fence", "=", run.fence)))
    history = Write(Put(item, condition), lambda standing: RunWasDeleted(deleted_fence(standing)))
    return [history, *lines]


def tombstone(run: Run, until: int) -> Put:
    """The tombstone that keeps a deleted run's highest fence, so that no fence is used twice."""
    pk, sk = first_event_key(run)
    return Put({"pk": pk, "sk": sk, "fence": run.fence, TTL: until})


def changed_rows(before: Run, after: Run, event: RunEvent | None) -> list[Write]:
    """The writes that change a run, if it is still as it was read."""
    still = Compare("Version", "=", before.version)
    writes = [Write(overwrite(Run, run_item(after), still))]
    if event is not None:
        again = _conflict_describer(event)
        writes.append(Write(Put(event_item(after, event), Missing()), again))
    return [*writes, *(Write(operation) for operation in _list_changes(before, after))]


def deleted_fence(standing: Attributes | None) -> int:
    """The highest fence of a deleted run, of which this is the tombstone; 0 if there is none."""
    return 0 if standing is None else int(str(standing["fence"]))


def _list_changes(before: Run, after: Run) -> list[Operation]:
    old, new = list_lines(before), list_lines(after)
    changed = [Put(line) for key, line in new.items() if old.get(key) != line]
    return [*(Delete(key) for key in old if key not in new), *changed]


def _conflict_describer(event: RunEvent) -> Refusal:
    """The error if the row exists: AlreadyDone if the same call wrote it, else StaleRead."""

    def describe_conflict(standing: Item | None) -> Exception:
        same = standing is not None and standing["call"] == event.call
        return AlreadyDone() if same else stale_read(standing)

    return describe_conflict


def history_query(run: Run, *, descending: bool = False) -> Query:
    """The query for a run's events: `pk = R:<manifest>:<runId>`, sk from `RH:`."""
    return Query(
        partition=key_of_run(run.name).pk,
        range=Range(RUN_EVENT.sk.prefix({})),
        descending=descending,
        consistent=True,
    )
