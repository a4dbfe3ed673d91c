"""The formula that an evaluation is asked for."""

from collections.abc import Sequence
from typing import NamedTuple

from penstock.datastore.errors import FieldProblem, Invalid
from penstock.datastore.paths import GroupPath
from penstock.datastore.prepared import Prepared
from penstock.datastore.records import Calculation, Output, Parameter
from penstock.resolvers.context import Context


class Draft(NamedTuple):
    """A calculation that is not saved."""

    formula: str
    parameters: Sequence[Parameter]
    outputs: Sequence[Output]


class Subject(NamedTuple):
    """What to evaluate: one of `id`, `name` and `draft`; `group` is that of the latter two."""

    id: str | None
    name: str | None
    draft: Draft | None
    group: GroupPath | None
    version: int | None


async def prepare(context: Context, subject: Subject) -> tuple[Calculation | None, Prepared]:
    """The formula with what it needs, and the calculation as its version has it, if it is saved."""
    if sum(one is not None for one in (subject.id, subject.name, subject.draft)) != 1:
        raise Invalid([FieldProblem(["id"], "give either `id` or `name` or `draft`")])
    if subject.draft is not None and subject.version is not None:
        raise Invalid([FieldProblem(["version"], "a draft has no versions")])
    evaluations = context.view.evaluations
    if subject.draft is not None:
        return None, await evaluations.of_draft(subject.group, *subject.draft)
    if subject.id is not None:
        return await evaluations.of_id(subject.id, subject.version)
    return await evaluations.of_name(subject.name or "", subject.group, subject.version)
