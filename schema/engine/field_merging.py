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

_MAX_VISITS = 20_000


class TooManyToMerge(Exception):
    """The document repeats its fields too often to be counted."""


class MergePosition(NamedTuple):
    """A position in the answer where selections merge: the number of the parent, and a name."""

    parent: int
    name: str


def count_pairs(document: DocumentNode) -> int:
    """Count the pairs of fields with the same response name in every operation and fragment.

    Fragments are written out, once for each position. Raises TooManyToMerge after 20,000 visits.
    """
    counting = _PairCounter(document)
    for definition in document.definitions:
        if isinstance(definition, OperationDefinitionNode | FragmentDefinitionNode):
            counting.count_root(definition.selection_set)
    return counting.total_pairs()


class _PairCounter:
    """Counts the fields at each position; `_MAX_VISITS` bounds the work."""

    def __init__(self, document: DocumentNode) -> None:
        self._fragments = {
            node.name.value: node.selection_set
            for node in document.definitions
            if isinstance(node, FragmentDefinitionNode)
        }
        self._fields: Counter[MergePosition] = Counter()
        self._numbers: dict[MergePosition, int] = {}
        self._numbered = 0
        self._spread: set[MergePosition] = set()
        self._visits = 0

    def count_root(self, selections: SelectionSetNode) -> None:
        """Count everything below a root, which is a position of its own."""
        waiting = [(self._position_number(MergePosition(0, "")), selections)]
        while waiting:
            waiting += self._count_selections(*waiting.pop())
        self._numbers.clear()

    def total_pairs(self) -> int:
        return sum(count * (count - 1) // 2 for count in self._fields.values())

    def _count_selections(
        self, at: int, selections: SelectionSetNode
    ) -> list[tuple[int, SelectionSetNode]]:
        """Count the fields of a selection set; return the sets in it with their positions."""
        below: list[tuple[int, SelectionSetNode]] = []
        for node in selections.selections:
            self._visits += 1
            if self._visits > _MAX_VISITS:
                raise TooManyToMerge
            if isinstance(node, FieldNode):
                place = MergePosition(at, (node.alias or node.name).value)
                self._fields[place] += 1
                if node.selection_set:
                    below.append((self._position_number(place), node.selection_set))
            elif isinstance(node, InlineFragmentNode):
                below.append((at, node.selection_set))
            elif isinstance(node, FragmentSpreadNode):
                below += self._spread_fragment(at, node.name.value)
        return below

    def _spread_fragment(self, at: int, name: str) -> list[tuple[int, SelectionSetNode]]:
        """Return the content of a fragment when it is first spread at a position."""
        place = MergePosition(at, name)
        if place in self._spread or name not in self._fragments:
            return []
        self._spread.add(place)
        return [(at, self._fragments[name])]

    def _position_number(self, place: MergePosition) -> int:
        if place not in self._numbers:
            self._numbered += 1
            self._numbers[place] = self._numbered
        return self._numbers[place]
