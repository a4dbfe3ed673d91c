"""The groups with a grant of a resource are named to who may know of them."""

import pytest

from penstock.datastore.roles import Caller
from tests.support.graphql_client import Ask, as_caller

READ = """query($id: ID!) { node(id: $id) { ... on Pipeline {
  owner groups
  versions { nodes { groups } }
  changed: versionNumbered(version: 1) { groups }
} } }"""
GRANT = """mutation($input: GrantPipelineInput!) { grantPipeline(input: $input) {
  __typename ...on UserError { code message } } }"""


@pytest.mark.parametrize(
    ("caller", "known"),
    [
        (as_caller("root", "/=admin"), ["/eu", "/hidden/partner", "/usa"]),
        (as_caller("ann", "/usa=reader"), ["/eu", "/hidden/partner", "/usa"]),
        (as_caller("bob", "/eu=admin"), ["/eu"]),
        (as_caller("cora", "/hidden=reader"), ["/hidden/partner"]),
        (as_caller("dan", "/usa/northwest=reader"), ["/usa"]),
    ],
    ids=lambda each: each.user_id if isinstance(each, Caller) else "",
)
async def test_groups_of_others_are_named_to_readers_of_the_owner_group_only(
    caller: Caller, known: list[str], ask: Ask
) -> None:
    await ask.create_groups("/usa", "/usa/northwest", "/eu", "/hidden", "/hidden/partner")
    id = await ask.make("/usa", "shared")
    for group in ("/eu", "/hidden/partner"):
        granted = await ask.input(GRANT, id=id, group=group)
        assert granted["__typename"] == "GrantPipelinePayload"
    shown = (await ask(READ, {"id": id}, caller)).value
    assert sorted(shown["groups"]) == known
    assert shown["owner"] == "/usa"
    assert [each["groups"] for each in shown["versions"]["nodes"]] == [shown["changed"]["groups"]]
    assert {*shown["changed"]["groups"]} <= {*known}
