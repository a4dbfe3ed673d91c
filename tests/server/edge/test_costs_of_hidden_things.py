"""An answer about what is out of sight costs what one about nothing does."""

from pathlib import Path

import pytest
from httpx import Response

from penstock.datastore.roles import Role
from penstock.datastore.store import Store
from penstock.datastore.text import encode_global_id
from penstock.server.auth.dev_tokens import DEV_TOKEN_LIFETIME, dev_key, sign_dev_token
from tests.support.application import open_application
from tests.support.sample_resources import EU, USA, create_groups, draft

DOCUMENTS = (
    "query($id: ID!) { pipeline(id: $id) { name } }",
    "query($id: ID!) { node(id: $id) { id } }",
    "query($id: ID!) { executions(pipeline: $id) { nodes { id } } }",
    "mutation($id: ID!) { deletePipeline(input: { id: $id }) { __typename } }",
)


@pytest.mark.parametrize("document", DOCUMENTS)
async def test_what_is_out_of_sight_answers_and_costs_as_nothing_does(
    store: Store, tmp_path: Path, document: str
) -> None:
    session = await create_groups(store)
    content = {**draft("Long"), "attributes": {"note": "n" * 9_000}}
    made = await session.pipelines.writing.create(USA, content, None)
    ids = [encode_global_id("Pipeline", each) for each in (made.id, store.clock.new_id())]
    token = sign_dev_token(dev_key(tmp_path), "eve", {EU: Role.ADMIN}, EU, DEV_TOKEN_LIFETIME)
    headers = {"authorization": f"Bearer {token}", "x-penstock-cost": "1"}

    def named_alike(answer: Response) -> str:
        return answer.text.replace(answer.headers["x-request-id"], "")

    async with open_application(store, tmp_path) as application:
        hidden, missing = [await application.ask(document, {"id": id}, headers) for id in ids]
    assert named_alike(hidden) == named_alike(missing)
    assert hidden.json()["extensions"]["cost"].keys() == {"requested", "maximum"}
