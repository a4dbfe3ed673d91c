"""docs/data-model.md lists every row of the table, and no other."""

import re
from pathlib import Path

from penstock.datastore.table.layout import (
    GRANT,
    LISTED,
    OWNED,
    ROWS,
    TOMBSTONE,
    UNFINISHED,
    USE_COUNT,
    USED_BY,
    Row,
)

PAGE = (Path(__file__).parents[3] / "docs" / "data-model.md").read_text()


def listed_rows() -> list[tuple[str, ...]]:
    """Give the first three cells of each row that the page lists under "The rows"."""
    section = PAGE.partition("\n## The rows\n")[2].partition("\n## ")[0]
    lines = re.findall(r"^\|(.*)\|$", section, re.MULTILINE)
    cells = [[cell.strip(" `") for cell in line.split("|")] for line in lines]
    return [tuple(row[:3]) for row in cells if row[0] not in {"pk", "---"}]


def cells_of(row: Row) -> tuple[str, ...]:
    return (row.pk.text, row.sk.text, row.index.text if row.index else "")


def test_the_page_lists_every_row_once_and_no_other() -> None:
    of_any_kind = (LISTED, GRANT, OWNED, UNFINISHED, USED_BY, USE_COUNT)
    declared = {cells_of(row) for row in (*ROWS, *of_any_kind)} | {(TOMBSTONE.text, "", "")}
    assert set(listed_rows()) == declared
    assert len(listed_rows()) == len(declared)


def test_every_row_of_the_page_says_what_it_holds() -> None:
    section = PAGE.partition("\n## The rows\n")[2].partition("\n## ")[0]
    for line in re.findall(r"^\| `.*$", section, re.MULTILINE):
        assert len(line.split("|")[4].split()) > 1, line
