"""LOOKUP by several key columns."""

import pytest

from penstock.formula.core.datasets import LATEST, DatasetRows, InMemoryDatasets
from penstock.formula.core.errors import FormulaCode, FormulaFailure
from tests.formula.formula_values import value

KEYED = InMemoryDatasets(
    datasets={
        ("grid", LATEST): DatasetRows(
            ("region", "year", "factor"),
            [("eu", "2024", "0.4"), ("eu", "2025", "0.3"), ("us", "2025", "0.5")],
            "region",
            ("year",),
        ),
        ("fuels", LATEST): DatasetRows(("fuel", "factor"), [("gas", "2")]),
    }
)
BOTH = (
    "rows of the dataset are found by one column, or by 'region', 'year' together: name the columns"
)


@pytest.mark.parametrize(
    ("formula", "found"),
    [
        ("LOOKUP('eu', 'grid', 'region', 'factor', 2025, 'year')", "0.3"),
        ("LOOKUP(:year, 'grid', 'year', 'factor', 'us', 'region')", "0.5"),
        ("LOOKUP('us', 'grid', 'region', 'factor', '2024', 'year')", None),
        ("LOOKUP('eu', 'grid', 'region', 'factor')", "0.4"),
        ("LOOKUP(2025, 'grid', 'year', 'region')", "eu"),
    ],
)
def test_rows_are_looked_up_by_several_keys_in_any_order(formula: str, found: object) -> None:
    assert value(formula, KEYED, year="2025") == found


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("LOOKUP('grid', 'eu')", BOTH),
        ("LOOKUP('eu', 'grid', 'region', 'factor', '0.3', 'factor')", BOTH),
        ("LOOKUP('eu', 'grid', 'region', 'factor', 'eu', 'region')", BOTH),
        (
            "LOOKUP('eu', 'grid', 'region', 'none', 2025, 'year')",
            "the dataset has no column 'none'",
        ),
        (
            "LOOKUP('gas', 'fuels', 'fuel', 'factor', 1, 'factor')",
            "rows of the dataset are found by one column",
        ),
    ],
)
def test_a_lookup_by_other_keys_than_the_declared_ones_says_which_they_are(
    formula: str, message: str
) -> None:
    with pytest.raises(FormulaFailure) as failed:
        value(formula, KEYED)
    assert (failed.value.code, message in str(failed.value)) == (FormulaCode.UNKNOWN_DATASET, True)
