"""Tables of benchmarks: printed, and put into a page between their marks."""

import argparse
import os
import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

_LOAD: Final = os.getloadavg()[0]
"""The load of the machine when the benchmark began."""


class NoPlace(ValueError):
    """A page has no place for a text, or more than one."""


def add_write_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the tables into the page")


def show_tables(texts: Mapping[str, str], page: Path | None) -> None:
    """Print each text, and put it between its marks in the page, if there is one."""
    print("\n\n".join(texts.values()), flush=True)
    if page is not None:
        write_tables(page, texts)


def write_tables(page: Path, texts: Mapping[str, str]) -> None:
    """Put each text between its marks in the page; raises NoPlace and writes nothing without."""
    content = page.read_text()
    for mark, text in texts.items():
        content = replace_between_marks(content, mark, text)
    page.write_text(content)


def check_marks(page: str, marks: Iterable[str]) -> None:
    """Raise NoPlace unless the page has one place for the text of each mark."""
    for mark in marks:
        replace_between_marks(page, mark, "")


def replace_between_marks(page: str, mark: str, text: str) -> str:
    """Put a text between `<!-- begin MARK -->` and its end; raises NoPlace unless there is one."""
    begin, end = f"<!-- begin {mark} -->", f"<!-- end {mark} -->"
    pattern = re.compile(f"({re.escape(begin)}).*?({re.escape(end)})", re.DOTALL)
    page, places = pattern.subn(lambda found: f"{found[1]}\n\n{text}\n\n{found[2]}", page)
    if places != 1:
        raise NoPlace(f"the page has {places} places for {mark!r}")
    return page


def format_table(head: str, rows: Iterable[str | Sequence[str]], texts: int = 1) -> str:
    """A table in Markdown, of which so many columns are texts and the others numbers."""
    columns = head.count(" | ") + 1
    joined = (row if isinstance(row, str) else " | ".join(row) for row in rows)
    ruler = "|" + "---|" * texts + "--:|" * (columns - texts)
    return "\n".join([f"| {head} |", ruler, *(f"| {row} |" for row in joined)])


def below_machine(table: str) -> str:
    """A table of times below a line that names the machine."""
    return f"{describe_machine({'Python': platform.python_version()})} {describe_load()}\n\n{table}"


def describe_machine(versions: Mapping[str, str]) -> str:
    named = ", ".join(f"{name} {version}" for name, version in versions.items())
    kernel = platform.release().partition("-")[0]
    return f"{cpu_model()}, {os.cpu_count()} cores, Linux {kernel}; {named}."


def describe_load() -> str:
    return f"Load of the machine before: {_LOAD:.1f}."


def cpu_model() -> str:
    found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return found[1] if found else platform.machine()
