"""The content that users give to a group: its name, description, tags and state."""

from dataclasses import dataclass
from typing import Final

from penstock.datastore.access.new_names import name_character_problems
from penstock.datastore.errors import FieldProblem, Invalid
from penstock.datastore.records import GroupState, Tag
from penstock.datastore.table.items import attributes_of
from penstock.datastore.table.port import AllOf, Exists, Item, Key, Missing, Update
from penstock.datastore.table.sharded_counts import DELETING
from penstock.datastore.tag_search.tags import tag_problems
from penstock.datastore.text import multiline_problem, name_problem

MAX_NAME: Final = 64
MAX_DESCRIPTION: Final = 1000
MAX_TAGS: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupContent:
    """The fields that a user gives of a group.

    None leaves a field as it is, and an empty value removes it.
    """

    name: str | None = None
    description: str | None = None
    tags: tuple[Tag, ...] | None = None
    state: GroupState | None = None

    def check(self) -> None:
        """Raise Invalid with every broken rule."""
        tags = self.tags or ()
        found = (
            ("name", None if self.name is None else name_problem(self.name, MAX_NAME)),
            ("description", multiline_problem(self.description or "", MAX_DESCRIPTION)),
            ("tags", f"at most {MAX_TAGS} tags are allowed" if len(tags) > MAX_TAGS else None),
        )
        problems = [FieldProblem([field], message) for field, message in found if message]
        if len(tags) <= MAX_TAGS:
            problems += [*tag_problems(tags), *name_character_problems(tags, "tags")]
        if problems:
            raise Invalid(problems)

    def update(self, key: Key) -> Update | None:
        """The update of a group's row that sets what is given; None if nothing is."""
        given: Item = {}
        if self.name is not None:
            given["name"] = self.name.strip()
        if self.description is not None:
            given["description"] = self.description
        if self.tags is not None:
            given["tags"] = [attributes_of(tag) for tag in self.tags]
        if self.state is not None:
            given["state"] = self.state.value
        if not given:
            return None
        return Update(
            key=key,
            set={name: value for name, value in given.items() if value},
            remove=tuple(name for name, value in given.items() if not value),
            condition=AllOf((Exists(), Missing(DELETING))),
        )
