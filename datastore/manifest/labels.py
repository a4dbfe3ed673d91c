"""The labels of runs, by which lists find them: tags, and the batch to which a run belongs."""

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from penstock.datastore.access.new_names import name_character_problems
from penstock.datastore.manifest import rules
from penstock.datastore.manifest.records import Run
from penstock.datastore.records import Tag
from penstock.datastore.table.keys import join_levels
from penstock.datastore.tag_search.tags import tag_problems, value_levels
from penstock.datastore.text import comparison_form

MAX_TAGS: Final = 8
MAX_LABEL_BYTES: Final = 700
"""A label must fit the 2,048 bytes of a partition key beside its manifest, of up to 1,024 bytes."""

ALL_RUNS: Final = "ALL"
"""The list of runs in any state; the others are named after their states."""

ListName: TypeAlias = str | tuple[str, ...]
"""The name of a list: `ALL`, a state, or one of them among the runs of a label."""

Label: TypeAlias = tuple[str, ...]


def batch_label(batch: str) -> Label:
    return "BATCH", comparison_form(batch)


def tag_label(tag: Tag) -> Label:
    return "TAG", comparison_form(tag.key), *value_levels(tag.value)


def labels_of(run: Run) -> list[Label]:
    """The labels of a run, each of which lists it."""
    batch = [] if run.batch is None else [batch_label(run.batch)]
    return [*batch, *map(tag_label, run.tags)]


def list_name(listed: str, label: Label | None) -> ListName:
    """The name of the list `ALL`, or of a state, among all runs or among those of a label."""
    return listed if label is None else (label[0], listed, *label[1:])


def lists_of(run: Run, listed: str) -> list[ListName]:
    """The names of the lists of any state, or of the run's state, that have the run."""
    return [list_name(listed, label) for label in (None, *labels_of(run))]


def label_problems(tags: Sequence[Tag], batch: str | None) -> Iterator[tuple[str, str | None]]:
    """The problems of labels, each with its field."""
    if batch is not None:
        yield "batch", rules.new_name_problem(batch) or _length_problem(batch_label(batch))
    if len(tags) > MAX_TAGS:
        yield "tags", f"at most {MAX_TAGS} tags are allowed"
        return
    problems = [*tag_problems(tags), *name_character_problems(tuple(tags), "tags")]
    for problem in problems:
        yield ".".join(problem.path), problem.message
    if not problems:
        for n, tag in enumerate(tags):
            yield f"tags.{n}.value", _length_problem(tag_label(tag))


def _length_problem(label: Label) -> str | None:
    fits = len(join_levels(label).encode(errors="replace")) <= MAX_LABEL_BYTES
    return None if fits else f"makes a key of more than {MAX_LABEL_BYTES} bytes"
