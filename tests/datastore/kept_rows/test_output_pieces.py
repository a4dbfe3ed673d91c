"""An output is cut into pieces of whole lines, each with the number of rows above it."""

import pytest

from penstock.datastore.kept_rows.output_pieces import OutputCuts, OutputPiece

HEADER = 4


def cut(*sizes: int, least: int, most: int) -> list[OutputPiece]:
    """The pieces of an output that was written in steps of so many bytes, each a row."""
    cuts, size = OutputCuts(HEADER, least=3), HEADER
    for rows, step in enumerate(sizes, 1):
        size += step
        cuts.note(size, rows)
    return list(cuts.pieces(least, most))


@pytest.mark.parametrize(
    ("sizes", "least", "most", "ends"),
    [
        ((), 1, 4, []),
        ((0,), 1, 4, []),
        ((2,), 9, 4, [(6, 1)]),
        ((5, 5, 5), 5, 4, [(9, 1), (14, 2), (19, 3)]),
        ((5, 5, 5), 6, 4, [(14, 2), (19, 3)]),
        ((5, 5, 5, 1), 1, 2, [(14, 2), (20, 4)]),
        ((2, 2, 2), 1, 4, [(8, 2), (10, 3)]),
    ],
)
def test_pieces_follow_one_another_and_are_as_large_and_as_few_as_asked(
    sizes: tuple[int, ...], least: int, most: int, ends: list[tuple[int, int]]
) -> None:
    found = cut(*sizes, least=least, most=most)
    assert [(one.end, one.above + one.rows) for one in found] == ends
    assert [(one.start, one.above) for one in found] == [(HEADER, 0), *ends][: len(found)]
