"""A model of the store's answers, in a few plain values."""

from dataclasses import dataclass, field
from typing import Any

from penstock.datastore.errors import ExpectedFailure, NotFound, NotPermitted
from penstock.datastore.roles import ROOT, Caller, GroupPath, Role, are_on_one_line, covers
from penstock.datastore.table.layout import KindDefinition


@dataclass(slots=True)
class KnownResource:
    """The model's view of a resource; a deleted one has no grants."""

    kind: KindDefinition[Any]
    id: str
    name: str
    owner: GroupPath
    grants: tuple[GroupPath, ...]
    tags: tuple[str, ...]
    version: int = 1

    def open_session(self, who: Caller) -> bool:
        return any(who.sees(group) for group in self.grants)

    def reaches(self, group: GroupPath) -> bool:
        return any(covers(granted, group) for granted in self.grants)

    def lies_in(self, group: GroupPath) -> bool:
        return bool(self.grants) and group in (*self.grants, self.owner)

    def counted_tags(self) -> set[tuple[str, ...]]:
        """The keys and the levels of values that count the resource."""
        found: set[tuple[str, ...]] = set()
        for text in self.tags:
            key, _, value = text.partition("=")
            names = value.split("/")
            found |= {(key, *names[:n]) for n in range(len(names) + 1)}
        return found


@dataclass(slots=True)
class Model:
    """Groups, and resources in the order of their creation; predicts the failures by roles."""

    groups: set[GroupPath] = field(default_factory=lambda: {ROOT})
    resources: list[KnownResource] = field(default_factory=list)

    def of_kind(self, kind: KindDefinition[Any]) -> list[KnownResource]:
        return [known for known in self.resources if known.kind is kind]

    def holds_name(
        self,
        kind: KindDefinition[Any],
        name: str,
        groups: tuple[GroupPath, ...],
        but: KnownResource | None = None,
    ) -> bool:
        return any(
            other is not but
            and other.name.lower() == name.lower()
            and any(are_on_one_line(one, group) for one in other.grants for group in groups)
            for other in self.of_kind(kind)
        )

    def at(self, who: Caller, role: Role, group: GroupPath) -> type[ExpectedFailure] | None:
        if not who.sees(group):
            return NotFound
        return None if who.has_role(role, group) else NotPermitted

    def of(self, who: Caller, role: Role, known: KnownResource) -> type[ExpectedFailure] | None:
        if not known.open_session(who):
            return NotFound
        return None if who.has_role(role, known.owner) else NotPermitted
