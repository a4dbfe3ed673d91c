"""The number of pairs of fields that are compared before they are merged into one answer.

The rule of the specification compares every two fields with the same response name, and every two
fragments.
"""

from collections import Counter
from typing import NamedTuple

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionSetNode,
)

_MOST_VISITS = 20_000


class TooManyToMerge(Exception):
    """The document repeats its fields too often to be counted."""


class Place(NamedTuple):
    """A position in the answer where selections merge: the number of the parent, and a name."""

    parent: int
    name: str


def pairs(document: DocumentNode) -> int:
    """Count the pairs of fields with the same response name in every operation and fragment.

    Fragments are written out, once for each position. Raises TooManyToMerge after 20,000 visits.
    """
    counting = _Counting(document)
    for definition in document.definitions:
        if isinstance(definition, OperationDefinitionNode | FragmentDefinitionNode):
            counting.begin(definition.selection_set)
    return counting.pairs()


class _Counting:
    """Counts the fields at each position; `visits` bounds the work."""

    def __init__(self, document: DocumentNode) -> None:
        self._fragments = {
            node.name.value: node.selection_set
            for node in document.definitions
            if isinstance(node, FragmentDefinitionNode)
        }
        self._fields: Counter[Place] = Counter()
        self._numbers: dict[Place, int] = {}
        self._numbered = 0
        self._spread: set[Place] = set()
        self._visits = 0

    def begin(self, selections: SelectionSetNode) -> None:
        """Count everything below a root, which is a position of its own."""
        waiting = [(self._number(Place(0, "")), selections)]
        while waiting:
            waiting += self._merged(*waiting.pop())
        self._numbers.clear()

    def pairs(self) -> int:
        return sum(count * (count - 1) // 2 for count in self._fields.values())

    def _merged(self, at: int, selections: SelectionSetNode) -> list[tuple[int, SelectionSetNode]]:
        """Count the fields of a selection set; return the sets in it with their positions."""
        below: list[tuple[int, SelectionSetNode]] = []
        for node in selections.selections:
            self._visits += 1
            if self._visits > _MOST_VISITS:
                raise TooManyToMerge
            if isinstance(node, FieldNode):
                place = Place(at, (node.alias or node.name).value)
                self._fields[place] += 1
                if node.selection_set:
                    below.append((self._number(place), node.selection_set))
            elif isinstance(node, InlineFragmentNode):
                below.append((at, node.selection_set))
            elif isinstance(node, FragmentSpreadNode):
                below += self._spread_out(at, node.name.value)
        return below

    def _spread_out(self, at: int, name: str) -> list[tuple[int, SelectionSetNode]]:
        """Return the content of a fragment when it is first spread at a position."""
        place = Place(at, name)
        if place in self._spread or name not in self._fragments:
            return []
        self._spread.add(place)
        return [(at, self._fragments[name])]

    def _number(self, place: Place) -> int:
        if place not in self._numbers:
            self._numbered += 1
            self._numbers[place] = self._numbered
        return self._numbers[place]
