"""The amounts that a group or a user keeps are told only to those who may know them."""

from dataclasses import replace

import pytest

from penstock.datastore.quotas.amounts import Amounts
from penstock.datastore.quotas.quotas import Quotas
from penstock.datastore.quotas.rules import QuotaRules
from penstock.datastore.roles import ROOT, GroupPath
from penstock.datastore.store import Store
from tests.support.consistency_check import contents
from tests.support.graphql_client import Ask, as_caller, draft

FIELDS = "...on QuotaExceeded { message quota maximum used group }"
CREATE = f"""mutation($input: CreatePipelineInput!) {{ createPipeline(input: $input) {{
  ...on CreatePipelinePayload {{ pipeline {{ id }} }} {FIELDS} }} }}"""
UPDATE = f"""mutation($input: UpdatePipelineInput!) {{ updatePipeline(input: $input) {{
  ...on UpdatePipelinePayload {{ pipeline {{ id }} }} {FIELDS} }} }}"""
ANSWER = ("message", "quota", "maximum", "used", "group")


def ask_with_rules(store: Store, **rules: object) -> Ask:
    return Ask(replace(store, quotas=Quotas(QuotaRules(**rules))))  # type: ignore[arg-type]


@pytest.mark.parametrize("holder", [ROOT, GroupPath("/usa")])
async def test_the_amounts_of_a_group_above_are_for_its_readers(
    store: Store, holder: GroupPath
) -> None:
    ask = ask_with_rules(store, own={holder: Amounts(resources=1)})
    await ask.create_groups("/usa", "/usa/northwest", "/eu")
    await ask.make("/usa", "the only one")
    before = await contents(store.table)
    below = as_caller("bob", "/usa/northwest=contributor", "/eu=admin")
    refused = await ask.input(CREATE, below, **draft("new", group="/usa/northwest"))
    hidden = f"resources: the group {holder} with all below it has no room left."
    assert [refused[name] for name in ANSWER] == [hidden, "RESOURCES", None, None, holder]
    above = as_caller("ann", f"{holder}=contributor")
    refused = await ask.input(CREATE, above, **draft("new", group="/usa/northwest"))
    shown = f"resources: the group {holder} with all below it has 1 of at most 1."
    assert [refused[name] for name in ANSWER] == [shown, "RESOURCES", 1, 1, holder]
    assert await contents(store.table) == before


async def test_the_amounts_of_a_user_are_for_that_user(store: Store) -> None:
    ask = ask_with_rules(store, per_user=Amounts(versions=1))
    await ask.create_groups("/usa")
    ann, bob = as_caller("ann", "/usa=contributor"), as_caller("bob", "/usa=contributor")
    made = await ask.input(CREATE, ann, **draft("new", group="/usa"))
    before = await contents(store.table)
    changes = {"id": made["pipeline"]["id"], "expectedVersion": 1, "name": "new"}
    refused = await ask.input(UPDATE, bob, **changes)
    hidden = "versions: the user has no room left."
    assert [refused[name] for name in ANSWER] == [hidden, "VERSIONS", None, None, None]
    refused = await ask.input(UPDATE, ann, **changes)
    shown = "versions: the user has 1 of at most 1."
    assert [refused[name] for name in ANSWER] == [shown, "VERSIONS", 1, 1, None]
    assert await contents(store.table) == before
