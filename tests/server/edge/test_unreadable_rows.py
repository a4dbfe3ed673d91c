"""An answer names the rows that it leaves out to those who administer them."""

from pathlib import Path

from penstock.datastore.roles import Role
from penstock.datastore.store import Store
from penstock.datastore.table.layout import PIPELINE
from penstock.datastore.table.port import Key, Update
from penstock.datastore.table.unreadable_rows import unreadable_reads
from penstock.server.auth.dev_tokens import DEV_TOKEN_LIFETIME, dev_key, sign_dev_token
from tests.support.application import open_application
from tests.support.sample_resources import USA, create_groups, make

LIST = 'query { pipelines(group: "/usa", first: 5) { nodes { name state } } }'


async def archive_one_of_two(store: Store) -> tuple[Key, str]:
    """Make two pipelines, of which one gets an unknown state; return its key and its id."""
    session = await create_groups(store)
    await make(session, USA, "Kept")
    lost = await make(session, USA, "Lost")
    key = PIPELINE.latest.key(id=lost.id)
    await store.table.transact([Update(key=key, set={"state": "archived"})])
    return key, lost.id


async def test_an_administrator_learns_the_key_of_a_row_that_was_left_out(
    store: Store, tmp_path: Path
) -> None:
    key, _ = await archive_one_of_two(store)
    reader = sign_dev_token(
        dev_key(tmp_path), "bob", {USA: Role.CONTRIBUTOR}, USA, DEV_TOKEN_LIFETIME
    )
    async with open_application(store, tmp_path) as application:
        before = unreadable_reads()
        answer = (await application.ask(LIST)).json()
        hidden = await application.ask(LIST, headers={"authorization": f"Bearer {reader}"})
        after = await application.metrics()
    nodes = {"pipelines": {"nodes": [{"name": "Kept", "state": "ENABLED"}]}}
    problem = "ValidationError at $.state"
    named = [{"pk": key.pk, "sk": key.sk, "problem": problem}]
    assert answer == {"data": nodes, "extensions": {"unreadable": named}}
    assert hidden.json() == {"data": nodes}
    counted = "penstock_unreadable_rows_total"
    assert after[counted] - before == 2


async def test_the_cost_and_the_rows_stand_side_by_side(store: Store, tmp_path: Path) -> None:
    await archive_one_of_two(store)
    async with open_application(store, tmp_path) as application:
        answer = await application.ask(LIST, headers={"x-penstock-cost": "1"})
    assert answer.json()["extensions"].keys() == {"cost", "unreadable"}


async def test_a_row_that_is_asked_for_by_its_id_is_a_typed_error(
    store: Store, tmp_path: Path
) -> None:
    _, id = await archive_one_of_two(store)
    name = 'query { pipelineByName(name: "Lost", group: "/usa") { state } }'
    async with open_application(store, tmp_path) as application:
        answer = await application.ask(name)
    assert answer.status_code == 200
    assert [each["extensions"]["code"] for each in answer.json()["errors"]] == ["UNREADABLE"]
    assert id not in str(answer.json()["errors"])
