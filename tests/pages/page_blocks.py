"""The fenced blocks of a page: what each is, and which answers belong to it.

The word behind the language says what a block is for: `variables` and `answer` belong to the
operation or the commands above, and a file name saves the block as that file. A block without a
language is the answer of the commands above. A `text` block is a picture of something.
"""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
ELSEWHERE = ROOT / "docs" / "formula.md"
"""Its page has a test of its own, in tests/formula."""

_BLOCK = re.compile(r"^```(\w*)(?: +(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a page; `line` is where it begins."""

    language: str
    purpose: str
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Step:
    """A block that is executed, with its variables and its answer, if the page shows them."""

    block: Block
    variables: str | None = None
    answer: str | None = None


def read_blocks(page: Path) -> list[Block]:
    text = page.read_text()
    return [
        Block(found[1], found[2] or "", found[3], text.count("\n", 0, found.start()) + 1)
        for found in _BLOCK.finditer(text)
    ]


def read_steps(page: Path) -> list[Step]:
    """Return the blocks of a page that are executed, each with those that belong to it."""
    steps: list[Step] = []
    for block in read_blocks(page):
        if block.purpose == "variables":
            steps[-1] = Step(steps[-1].block, block.text, steps[-1].answer)
        elif block.purpose == "answer" or (block.language == "" and steps):
            steps[-1] = Step(steps[-1].block, steps[-1].variables, block.text)
        elif block.language != "text":
            steps.append(Step(block))
    return steps


def pages_with_blocks() -> list[Path]:
    """Return the pages whose blocks are executed on a server of their own."""
    tops = [ROOT / "README.md", ROOT / "examples" / "README.md"]
    pages = [*tops, *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in pages if page != ELSEWHERE and read_steps(page)]
