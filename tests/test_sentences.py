"""Each sentence about a part of the product has a test, or says why it has none."""

import re
from itertools import chain

import pytest

from tests.install import ROOT

SCREENS = ROOT / "tests" / "browser" / "screens.md"
KEPT_ROWS = ROOT / "tests" / "schema" / "kept_rows" / "sentences.md"
SINK = ROOT / "tests" / "datastore" / "ngsi" / "sentences.md"
AUDIO = ROOT / "tests" / "datastore" / "audio" / "sentences.md"
ROWS = {
    page: [
        tuple(cell.strip() for cell in line.strip("|").split("|"))
        for line in page.read_text().splitlines()
        if line.startswith("| ") and not line.endswith("| tests |")
    ]
    for page in (SCREENS, KEPT_ROWS, SINK, AUDIO)
}
TESTS = {
    name
    for path in (ROOT / "tests").rglob("test_*.py")
    for name in re.findall(r"^(?:async )?def (test_\w+)", path.read_text(), re.MULTILINE)
}


@pytest.mark.parametrize(("part", "sentence", "tests"), [*chain.from_iterable(ROWS.values())])
def test_a_sentence_has_its_tests(part: str, sentence: str, tests: str) -> None:
    assert part
    assert sentence
    named = re.findall(r"`(test_\w+)`", tests)
    assert set(named) <= TESTS
    assert named or tests.startswith("no test: ")


def test_every_screen_has_its_sentences_and_every_browser_test_stands_for_one() -> None:
    screens = {part.partition(" ")[0] for part, _, _ in ROWS[SCREENS]}
    assert {str(number) for number in range(1, 12)} <= screens
    named = set(re.findall(r"`(test_\w+)`", SCREENS.read_text()))
    shown = {
        name
        for path in (ROOT / "tests" / "browser").glob("test_console*.py")
        for name in re.findall(r"^async def (test_\w+)", path.read_text(), re.MULTILINE)
    }
    assert shown - named == {
        "test_a_calculation_is_tried_out_and_explains_its_value",
        "test_a_dataset_shows_its_columns_and_gives_its_file",
        "test_a_narrow_window_has_a_low_header_and_keeps_words_whole",
        "test_a_pipeline_is_deleted_only_when_its_name_is_typed",
        "test_the_chosen_theme_is_kept",
    }
