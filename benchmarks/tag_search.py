"""Compares the search by several tags with the method in the data layer's document."""

import argparse
import asyncio
import gc
import sys
from collections.abc import Sequence
from textwrap import fill

from benchmarks import read_cost_limits
from benchmarks.id_distributions import DISTRIBUTIONS, draw
from benchmarks.page_tables import add_write_option, show_tables
from benchmarks.tag_search_comparison import COPIES, Answer, Comparison, compare_all
from benchmarks.tag_tables import World, world_of

WIDTH = 118
"""Of the lines of a page."""

HEADER = (
    "| lists | matches | document | bare rows | ours | of 20 | document | bare rows | ours |\n"
    "|---|--:|--:|--:|--:|--:|--:|--:|--:|"
)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.tag_search", description=__doc__)
    parser.add_argument("--check", action="store_true", help="end with 1 if a promise is broken")
    add_write_option(parser)
    options = parser.parse_args(arguments)
    compared = asyncio.run(_compare_distributions())
    show_tables(tables(compared), options.write)
    return asyncio.run(_check(compared)) if options.check else 0


async def _compare_distributions() -> list[Comparison]:
    compared: list[Comparison] = []
    for distribution in DISTRIBUTIONS:
        sizes = read_cost_limits.SIZES
        world = world_of(draw(distribution, [size for size in sizes for _ in range(COPIES)]))
        print(f"{distribution}: {_row_sizes(world)}", file=sys.stderr)
        # These rows stay in use until the end; garbage collection would only scan them in vain.
        gc.freeze()
        compared += await compare_all(world, distribution, sizes)
        gc.unfreeze()
    return compared


async def _check(compared: Sequence[Comparison]) -> int:
    sentences = read_cost_limits.broken_promises(compared)
    sentences += await read_cost_limits.broken_for_other_rows()
    sentences += await read_cost_limits.broken_by_other_groups()
    sentences += await read_cost_limits.broken_along_a_chain()
    print("\n".join(sentences) or "All promises are kept.")
    return 1 if sentences else 0


def table(compared: Sequence[Comparison]) -> str:
    """The costs as Markdown: whole lists on the left, first pages on the right."""
    rows = [f"| {one.name} | {_cells(one.whole)} | {_cells(one.page)} |" for one in compared]
    return "\n".join([HEADER, *rows])


def full_tables(compared: Sequence[Comparison]) -> str:
    """A table for each distribution of the lists."""
    return "\n\n".join(
        f"### {name.capitalize()}\n\n{table([one for one in compared if one.distribution == name])}"
        for name in dict.fromkeys(one.distribution for one in compared)
    )


def summary(compared: Sequence[Comparison]) -> str:
    """The number of cases where small rows, which cannot be matched alone, cost less than ours."""
    whole, page = (
        [a.ours.units / a.bare.units for a in answers if a.ours.units > a.bare.units]
        for answers in ([one.whole for one in compared], [one.page for one in compared])
    )
    pages = "page" if len(page) == 1 else "pages"
    text = (
        f"The search over bare rows reads less than ours in {len(whole)} of {len(compared)} "
        f"whole lists (ours reads up to {max(whole, default=1):.1f} times as much) and in "
        f"{len(page)} first {pages} (up to {max(page, default=1):.1f} times)."
    )
    return fill(text, WIDTH)


def tables(compared: Sequence[Comparison]) -> dict[str, str]:
    """The tables and the summary of the page, by their marks."""
    short = [one for one in compared if one.distribution == "independent" and len(one.sizes) == 2]
    return {"two tags": table(short), "summary": summary(compared), "all": full_tables(compared)}


def _cells(answer: Answer) -> str:
    costs = (answer.document, answer.bare, answer.ours)
    return " | ".join([f"{answer.matches:,}", *map(str, costs)])


def _row_sizes(world: World) -> str:
    ours, bare = world.row_sizes(), world.row_sizes(bare=True)
    return f"rows of {ours[0]} to {ours[2]} bytes, {ours[1]} on average; bare rows of {bare[1]}"


if __name__ == "__main__":
    sys.exit(main())
