"""The labels of versions, such as `prod` or `2024 audited`; each is on one version of a resource.

Labels are no content: to set one makes no version. They are in the latest row, so that a label is
unique without a row of its own, and is found without a read more.
"""

from typing import Final, NamedTuple, TypeVar

from msgspec.structs import replace

from penstock.datastore.errors import FieldProblem, IllegalState, Invalid, LimitExceeded, NotFound
from penstock.datastore.records import Resource, State, VersionLabel
from penstock.datastore.text import comparison_form, name_problem

R = TypeVar("R", bound=Resource)

MAX_LABELS: Final = 100
"""The labels that the versions of a resource may have."""
MAX_LABEL: Final = 64
"""The characters of a label."""


class VersionName(NamedTuple):
    """A version as a user names it: by its number or a label, or the latest by neither."""

    number: int | None = None
    label: str | None = None

    @property
    def is_latest(self) -> bool:
        return self == LATEST

    def find(self, of: Resource) -> int:
        """Find the number of the version, which need not exist.

        Raises NotFound for a label that no version has, and Invalid if both are given.
        """
        if self.number is not None and self.label is not None:
            raise Invalid([FieldProblem(["version"], EITHER)])
        if self.label is not None:
            return _require_label(of, self.label).version
        return of.version if self.number is None else self.number


LATEST: Final = VersionName()
EITHER: Final = "give either `version` or `label`"
"""The refusal of a name of a version that is none."""


def find_label(of: Resource, label: str) -> VersionLabel | None:
    """Find a label, however it is spelled; None if no version has it."""
    form = comparison_form(label) if len(label) <= MAX_LABEL else None
    return next((one for one in of.labels if comparison_form(one.label) == form), None)


def labels_of_version(of: Resource, number: int) -> list[str]:
    """The labels of one version, in their order by text."""
    return [one.label for one in of.labels if one.version == number]


def with_label(of: R, given: VersionLabel, *, moves: bool) -> R:
    """The resource with a label on one of its versions; itself if that has it already.

    Raises Invalid for a label that another version has, unless the label `moves`; NotFound,
    LimitExceeded and IllegalState.
    """
    _require_labels_allowed(of)
    if problem := name_problem(given.label, MAX_LABEL):
        raise Invalid([FieldProblem(["label"], problem)])
    if not 1 <= given.version <= of.version:
        raise NotFound(f"There is no version {given.version}.", ("version",))
    found = find_label(of, given.label)
    if found is not None and (found.label, found.version) == (given.label, given.version):
        return of
    if found is not None and found.version != given.version and not moves:
        raise Invalid([FieldProblem(["label"], f"version {found.version} has it")])
    labels = sorted((*_without(of, found), given), key=lambda one: one.label)
    if len(labels) > MAX_LABELS:
        raise LimitExceeded("labels of versions", MAX_LABELS, len(labels), ("label",))
    return replace(of, labels=tuple(labels), revision=of.revision + 1)


def without_label(of: R, label: str) -> R:
    """The resource without a label; raises NotFound and IllegalState."""
    _require_labels_allowed(of)
    labels = _without(of, _require_label(of, label))
    return replace(of, labels=tuple(labels), revision=of.revision + 1)


def _require_label(of: Resource, label: str) -> VersionLabel:
    found = find_label(of, label)
    if found is None:
        raise NotFound("No version has this label.", ("label",))
    return found


def _without(of: Resource, label: VersionLabel | None) -> list[VersionLabel]:
    return [one for one in of.labels if one != label]


def _require_labels_allowed(of: Resource) -> None:
    if of.state is State.DISABLED:
        raise IllegalState("It is disabled: nothing but its state can change.", of.state.name)
