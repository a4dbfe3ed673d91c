"""The forms of rows that earlier releases misread, and the numbers from which a release knows them.

A new form is one line in `FORMS`: the next number, a sentence, and how a write of it is recognized.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from penstock.datastore.records import GroupState
from penstock.datastore.table.keys import LEVEL, SEPARATOR, SHARD
from penstock.datastore.table.layout import (
    AUDIO_WORD,
    CONSUMER_PREFIX,
    EXECUTION,
    EXECUTION_LISTED,
    GROUP,
    GROUP_COUNT,
    INGEST_COUNT,
    KEPT,
    KEPT_HOURS,
    KEPT_MINUTES,
    KEPT_NUMBERS,
    LATEST_SAMPLES,
    LISTED,
    MANIFEST,
    MANIFEST_COUNT,
    NAME_WORD,
    OPEN_PREFIX,
    PLAYLIST,
    REMOVALS,
    ROWS_LIMIT,
    RUN,
    RUN_LISTED,
    SHARED_PIPELINE,
    TAG,
    UNFINISHED,
    USE_COUNT,
    USED_BY,
)
from penstock.datastore.table.port import Attributes, Check, Delete, Operation, Put, Update


@dataclass(frozen=True, slots=True)
class RowForm:
    """A form of rows: its number, what it is, and whether an operation writes it."""

    number: int
    sentence: str
    is_written_by: Callable[[Operation], bool]


def _counts_in_shard(operation: Operation) -> bool:
    key = operation.key
    return _leads(GROUP_COUNT.pk.leader, key.pk) or SHARD in key.pk or SHARD in key.sk


def _is_bare_posting(operation: Operation) -> bool:
    if not isinstance(operation, Put) or "tags" in operation.item:
        return False
    return _leads(TAG.pk.leader, operation.key.pk)


def _marks_steps(operation: Operation) -> bool:
    return _leads(UNFINISHED.sk.leader, operation.key.sk)


def _lists_resource(operation: Operation) -> bool:
    return isinstance(operation, Put) and operation.key.sk == LISTED.sk.text


def _counts_runs_in_shard(operation: Operation) -> bool:
    return _leads(MANIFEST_COUNT.pk.leader, operation.key.pk)


def _counts_what_is_kept(operation: Operation) -> bool:
    return _leads(KEPT.pk.leader, operation.key.pk)


def _names_open_segment(operation: Operation) -> bool:
    if not _leads(INGEST_COUNT.pk.leader, operation.key.pk):
        return False
    return any(name.startswith(OPEN_PREFIX) for name in _written_attributes(operation))


def _lists_execution(operation: Operation) -> bool:
    leaders = EXECUTION_LISTED.pk.leader, SHARED_PIPELINE.pk.leader
    return any(_leads(leader, operation.key.pk) for leader in leaders)


def _finds_by_word(operation: Operation) -> bool:
    key = operation.key
    return _leads(NAME_WORD.pk.leader, key.pk) or _leads(AUDIO_WORD.sk.leader, key.sk)


def _lists_user(operation: Operation) -> bool:
    return operation.key.sk == USE_COUNT.sk.text or _leads(USED_BY.sk.leader, operation.key.sk)


def _lets_rows_leave(operation: Operation) -> bool:
    return operation.key.sk == ROWS_LIMIT.sk.text


def _disables_group(operation: Operation) -> bool:
    if not isinstance(operation, Update) or not _leads(GROUP.pk.leader, operation.key.pk):
        return False
    return operation.set.get("state") == GroupState.DISABLED.value


def _dates_version(operation: Operation) -> bool:
    return isinstance(operation, Put) and "activeFrom" in operation.item


def _puts_within(attribute: str, name: str) -> Callable[[Operation], bool]:
    """Tell whether an operation puts a row whose attribute is an object that has this name."""

    def puts(operation: Operation) -> bool:
        held = operation.item.get(attribute) if isinstance(operation, Put) else None
        return isinstance(held, dict) and name in held

    return puts


def _labels_version(operation: Operation) -> bool:
    return isinstance(operation, Update) and "labels" in operation.set


def _removes_entity(operation: Operation) -> bool:
    return isinstance(operation, Update) and REMOVALS in operation.add


def _gives_up_runs(operation: Operation) -> bool:
    """Whether a manifest gets rules of retries, or a run is written that was given up by them."""
    written = _written_attributes(operation)
    if _leads(MANIFEST.sk.leader, operation.key.sk):
        return "retries" in written
    return _leads(RUN.pk.leader, operation.key.pk) and written.get("State") == "GIVEN_UP"


def _lists_labelled_run(operation: Operation) -> bool:
    pk = operation.key.pk
    return _leads(RUN_LISTED.pk.leader, pk) and LEVEL in RUN_LISTED.pk.parse(pk)["list"]


def _names_consumer(operation: Operation) -> bool:
    if not _leads(MANIFEST.sk.leader, operation.key.sk):
        return False
    return any(name.startswith(CONSUMER_PREFIX) for name in _written_attributes(operation))


def _keeps_hours(operation: Operation) -> bool:
    return _leads(KEPT_HOURS.pk.leader, operation.key.pk)


def _keeps_parts_of_hours(operation: Operation) -> bool:
    return any(_leads(row.sk.leader, operation.key.sk) for row in (KEPT_MINUTES, KEPT_NUMBERS))


def _names_latest_samples(operation: Operation) -> bool:
    return _leads(LATEST_SAMPLES.pk.leader, operation.key.pk)


def _written_attributes(operation: Operation) -> Attributes:
    """The attributes that an operation puts or sets; none of one that writes no values."""
    match operation:
        case Put(item):
            return item
        case Update(set=changed):
            return changed
        case _:
            return {}


def _rules_playlist(operation: Operation) -> bool:
    return _leads(PLAYLIST.pk.leader, operation.key.pk) and "rule" in _written_attributes(operation)


def _places_files(operation: Operation) -> bool:
    key = operation.key
    is_execution = _leads(EXECUTION.pk.leader, key.pk) and key.sk == EXECUTION.sk.text
    return is_execution and "placed" in _written_attributes(operation)


def _leads(leader: str, text: str) -> bool:
    return text.startswith(leader + SEPARATOR)


FORMS: Final[Sequence[RowForm]] = (
    RowForm(3, "Counts of groups and tags lie in shards.", _counts_in_shard),
    RowForm(4, "Postings of many tags carry no tags.", _is_bare_posting),
    RowForm(5, "A marker stands for what is left of a write in steps.", _marks_steps),
    RowForm(6, "Small rows list the resources of a kind.", _lists_resource),
    RowForm(7, "Counts of runs lie in shards.", _counts_runs_in_shard),
    RowForm(8, "What groups and users keep is counted for quotas.", _counts_what_is_kept),
    RowForm(9, "Counts of notifications name the segments to be stored.", _names_open_segment),
    RowForm(10, "Small rows list the executions of a group.", _lists_execution),
    RowForm(11, "Rows find things by the words of their names.", _finds_by_word),
    RowForm(12, "Rows list resources under what they use.", _lists_user),
    RowForm(13, "Kept rows leave after some days.", _lets_rows_leave),
    RowForm(14, "Groups are disabled.", _disables_group),
    RowForm(15, "Versions are active from another time than their creation.", _dates_version),
    RowForm(16, "Rows of datasets have several keys.", _puts_within("content", "keyColumns")),
    RowForm(17, "Versions have labels.", _labels_version),
    RowForm(18, "Pipelines write datasets.", _puts_within("transformer", "dataset")),
    RowForm(19, "Entities of NGSI leave the directory.", _removes_entity),
    RowForm(20, "Manifests give up runs that fail again and again.", _gives_up_runs),
    RowForm(21, "Rows list runs of manifests by tags and batches.", _lists_labelled_run),
    RowForm(22, "Manifests have consumers.", _names_consumer),
    RowForm(23, "Aggregates of samples are kept by the hour.", _keeps_hours),
    RowForm(
        24, "Rows of datasets are looked up in an index.", _puts_within("content", "indexBytes")
    ),
    RowForm(25, "Outputs have timestamps in ISO 8601.", _puts_within("transformer", "timestamps")),
    RowForm(26, "Playlists have rules in place of entries.", _rules_playlist),
    RowForm(
        27,
        "Files of later or external claims lie in places of their own.",
        _places_files,
    ),
    RowForm(28, "Minutes and numbers of hours are kept.", _keeps_parts_of_hours),
    RowForm(29, "Rows name the latest samples of entities.", _names_latest_samples),
)


def needed_number(operations: Iterable[Operation], known: int) -> int:
    """The greatest number of a form that the operations write, or `known` if that is greater."""
    unknown = [form for form in FORMS if form.number > known]
    if not unknown:
        return known
    changes = [each for each in operations if not isinstance(each, Check | Delete)]
    written = [form.number for form in unknown if any(map(form.is_written_by, changes))]
    return max(written, default=known)
