"""Tables are formatted, printed, and put between the marks of a page."""

from pathlib import Path

import pytest

from benchmarks.page_tables import NoPlace, check_marks, format_table, show_tables, write_tables

PAGE = "before\n<!-- begin a -->\nold\n<!-- end a -->\n<!-- begin b --><!-- end b -->\nafter"


def test_a_table_has_texts_on_the_left_and_numbers_on_the_right() -> None:
    assert format_table("name | of | ms", [("a", "b", "1"), "c | d | 2"], texts=2) == (
        "| name | of | ms |\n|---|---|--:|\n| a | b | 1 |\n| c | d | 2 |"
    )


def test_each_text_is_printed_and_takes_the_place_of_what_was_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    show_tables({"a": "new", "b": r"\1"}, page)
    assert page.read_text() == (
        "before\n<!-- begin a -->\n\nnew\n\n<!-- end a -->\n"
        "<!-- begin b -->\n\n\\1\n\n<!-- end b -->\nafter"
    )
    assert capsys.readouterr().out == "new\n\n\\1\n"


@pytest.mark.parametrize(("mark", "places"), [("none", 0), ("a", 2)])
def test_a_page_with_no_place_or_several_is_left_as_it_is(
    tmp_path: Path, mark: str, places: int
) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE + PAGE)
    with pytest.raises(NoPlace, match=f"{places} places for '{mark}'"):
        write_tables(page, {mark: "new"})
    assert page.read_text() == PAGE + PAGE
    check_marks(PAGE, ["a", "b"])
