"""Quotas are read from settings, and what makes no sense is refused at start."""

import pytest

from penstock.datastore.quotas.amounts import Amounts
from penstock.datastore.roles import ROOT, GroupPath
from penstock.server.settings.invalid_settings import InvalidSettings
from penstock.server.settings.settings import Settings

LAB = GroupPath("/lab")


def test_by_default_quotas_are_generous_and_the_root_has_none() -> None:
    rules = Settings.load().quota_rules
    every = Amounts(1_000_000, 10_000_000, 1_000_000, 10 * 2**40)
    assert (rules.maxima_of(LAB), rules.per_user, rules.maxima_of(ROOT)) == (
        every,
        every,
        Amounts(),
    )


def test_a_group_may_have_its_own_maximum_of_one_kind() -> None:
    given = Settings.load(quota_versions_of_group="8,/Lab=0,/=9", quota_bytes_of_user=0)
    rules = given.quota_rules
    assert rules.maxima_of(GroupPath("/other")).versions == 8
    assert rules.maxima_of(LAB) == Amounts(1_000_000, 0, 1_000_000, 10 * 2**40)
    assert rules.maxima_of(ROOT) == Amounts(versions=9)
    assert rules.per_user.bytes == 0


@pytest.mark.parametrize(
    "given",
    [
        {"quota_resources_of_group": "many"},
        {"quota_versions_of_group": "1,2"},
        {"quota_files_of_group": "-1"},
        {"quota_bytes_of_group": "lab=1"},
        {"quota_bytes_of_user": -1},
    ],
)
def test_what_is_no_maximum_is_refused(given: dict[str, object]) -> None:
    with pytest.raises(InvalidSettings) as refused:
        Settings.load(**given)
    (problem,) = refused.value.problems
    assert problem.startswith("PENSTOCK_QUOTA_")
