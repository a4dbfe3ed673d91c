"""Every error code that a client can receive has a page in docs/errors."""

from pathlib import Path

import pytest

from penstock.datastore.errors import ErrorCode

PAGES = Path(__file__).parents[2] / "docs" / "errors"


def test_there_is_a_page_for_every_code_and_for_no_other() -> None:
    assert {page.stem for page in PAGES.glob("*.md")} - {"README"} == set(ErrorCode)


@pytest.mark.parametrize("code", ErrorCode)
def test_a_page_says_what_it_means_why_and_what_to_do(code: ErrorCode) -> None:
    lines = (PAGES / f"{code}.md").read_text().splitlines()
    assert lines[0] == f"# {code}"
    assert lines[2].endswith(".")
    headings = [line for line in lines if line.startswith("## ")]
    assert headings == ["## Why", "## What to do", "## Status"]
    for heading in headings:
        assert len(lines[lines.index(heading) + 2]) > 2
