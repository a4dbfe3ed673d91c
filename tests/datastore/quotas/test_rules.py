"""Maxima are read from settings, and the smallest on the way to the root decides."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.datastore.errors import BadArgument
from penstock.datastore.quota_kinds import QuotaKind
from penstock.datastore.quotas.amounts import UNLIMITED, Amounts
from penstock.datastore.quotas.rules import QuotaRules, parse_maxima
from penstock.datastore.roles import ROOT, GroupPath, ancestors

A, B, C = GroupPath("/a"), GroupPath("/a/b"), GroupPath("/a/b/c")


@pytest.mark.parametrize(
    ("text", "maxima"),
    [
        ("0", {None: 0}),
        ("1000, /Lab=50,/=7", {None: 1000, "/lab": 50, "/": 7}),
        ("/a=b/c=3", {"/a=b/c": 3}),
    ],
)
def test_maxima_are_read(text: str, maxima: dict[GroupPath | None, int]) -> None:
    assert parse_maxima(text) == maxima


@pytest.mark.parametrize(
    "text", ["", "many", "-1", "1.5", "1,2", "/a=1,/A=2", "lab=3", "/a", "9" * 19, "1,"]
)
def test_what_is_no_maximum_is_refused(text: str) -> None:
    with pytest.raises(BadArgument):
        parse_maxima(text)


def test_each_kind_of_a_group_is_its_own_or_that_of_every_group() -> None:
    of_groups = {QuotaKind.RESOURCES: "10,/a=5", QuotaKind.BYTES: "100,/=1000"}
    rules = QuotaRules.parse(of_groups, Amounts(files=3))
    assert rules.per_user == Amounts(files=3)
    assert rules.maxima_of(A) == Amounts(resources=5, bytes=100)
    assert rules.maxima_of(B) == Amounts(resources=10, bytes=100)
    assert rules.maxima_of(ROOT) == Amounts(bytes=1000)
    assert QuotaRules.parse({QuotaKind.FILES: "8"}, UNLIMITED).maxima_of(ROOT) == UNLIMITED


MAXIMA = st.builds(Amounts, st.integers(0, 4), st.integers(0, 4))


@given(st.dictionaries(st.sampled_from([ROOT, A, B, C]), MAXIMA), MAXIMA)
def test_the_deciding_groups_refuse_what_all_groups_would(
    own: dict[GroupPath, Amounts], every: Amounts
) -> None:
    rules = QuotaRules(every, own=own)
    deciding = dict(rules.deciding(C))
    for kind in (QuotaKind.RESOURCES, QuotaKind.VERSIONS):
        all_maxima = [rules.maxima_of(group).of(kind) for group in ancestors(C)]
        chosen = [most for maxima in deciding.values() if (most := maxima.of(kind))]
        assert min(chosen, default=0) == min(filter(None, all_maxima), default=0)
        assert chosen == sorted(set(chosen), reverse=True)
