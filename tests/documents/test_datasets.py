"""The access patterns of reference datasets, one test for each row."""

from typing import Any

import httpx

from penstock.datastore.datasets.files import CONTENT_TYPE
from penstock.datastore.store import Store
from tests.support.graphql_client import ROOT, Ask, as_caller, tag_inputs

NORTHWEST = as_caller("nora", "/usa/northwest=reader")
STRANGER = as_caller("eve", "/eu=admin")
CSV = "vehicle,co2e,note\ncar,0.35020,\nvan,0.5113,diesel\n"
COLUMNS = [
    {"name": "vehicle", "description": "Type of vehicle", "type": "STRING"},
    {"name": "co2e", "description": None, "type": "NUMBER"},
    {"name": "note", "description": None, "type": "STRING"},
]
VEHICLES: dict[str, Any] = {
    "name": "vehicles",
    "description": "Emission factors by type of vehicle.",
    "tags": tag_inputs("Datasource=GHG Protocol", "Type=Transportation"),
}
BOTH = {"all": tag_inputs("datasource=ghg protocol", "type=transportation")}
CONTENT = """content { columns { name description type } keyColumn rowCount sizeBytes checksum }
  name description tags { key value } groups state version"""
CREATE = """mutation($input: CreateReferenceDatasetInput!) { createReferenceDataset(input: $input) {
  __typename ...on CreateReferenceDatasetPayload { referenceDataset { id version } }
  ...on UserError { code path message }
  ...on ValidationProblem { problems { path code line column } } } }"""
UPDATE = """mutation($input: UpdateReferenceDatasetInput!) { updateReferenceDataset(input: $input) {
  ...on UpdateReferenceDatasetPayload { referenceDataset { version content { rowCount } } }
  ...on UserError { code path } ...on ValidationProblem { problems { path code line } } } }"""
DELETE = """mutation($input: DeleteReferenceDatasetInput!) { deleteReferenceDataset(input: $input) {
  ...on DeleteReferenceDatasetPayload { referenceDataset { name version } } } }"""
UPLOAD = """mutation($input: CreateDatasetUploadInput!) { createDatasetUpload(input: $input) {
  __typename ...on CreateDatasetUploadPayload { upload { id
    form { method url fields { name value } headers { name value } expiresAt } } } } }"""
LATEST = f"query($id: ID!) {{ referenceDataset(id: $id) {{ id owner {CONTENT} }} }}"
VERSION = f"""query($id: ID!, $n: Int!) {{ referenceDataset(id: $id) {{
  versionNumbered(version: $n) {{ {CONTENT} referenceDataset {{ id }} }} }} }}"""
VERSIONS = """query($id: ID!) { referenceDataset(id: $id) {
  versions { nodes { version content { rowCount } } } } }"""
DOWNLOAD = """query($id: ID!, $for: Int) { referenceDataset(id: $id) {
  download(expiresIn: $for) { status url expiresAt sizeBytes }
  versionNumbered(version: 1) { download { status sizeBytes } } } }"""
DIFF = """query($id: ID!) { referenceDataset(id: $id) {
  diff(from: 1, to: 2) { path before after } } }"""
BY_NAME = """query($name: String!, $group: GroupPath) {
  referenceDatasetByName(name: $name, group: $group) { id } }"""
TAGS = """query($group: GroupPath) {
  tagKeys(kind: REFERENCE_DATASET, group: $group) { nodes { label count } }
  tagValues(kind: REFERENCE_DATASET, key: "type", group: $group) { nodes { label count } } }"""


async def create(ask: Ask, group: str, **changes: Any) -> Any:
    content = {"columns": COLUMNS, "csv": CSV}
    return await ask.input(CREATE, group=group, **{**VEHICLES, "content": content, **changes})


async def vehicles(ask: Ask, **changes: Any) -> str:
    """Make the groups and a dataset in `/usa`; return its global id."""
    await ask.create_groups()
    made = await create(ask, "/usa", **changes)
    assert made["__typename"] == "CreateReferenceDatasetPayload", made
    id: str = made["referenceDataset"]["id"]
    return id


async def change(ask: Ask, id: str, expected: int, **changes: Any) -> Any:
    return await ask.input(UPDATE, id=id, expectedVersion=expected, **changes)


async def names(ask: Ask, group: str, **listed: Any) -> list[str]:
    return await Ask(ask.store, "reference dataset").names(group, **listed)


async def test_create_a_reference_dataset(ask: Ask) -> None:
    """create a reference dataset"""
    id = await vehicles(ask)
    found = (await ask(LATEST, {"id": id})).value
    assert {name: found[name] for name in VEHICLES} == VEHICLES
    assert found["content"] == {
        "columns": COLUMNS,
        "keyColumn": "vehicle",
        "rowCount": 2,
        "sizeBytes": len(CSV),
        "checksum": "5b830dfaecba77a68926aaf99c66d38414666e81a328951b33eb4fc451f7a830",
    }
    bad = {
        "columns": COLUMNS[:2],
        "keyColumn": "co2e",
        "csv": "vehicle,co2e\ncar,1\nvan,1.0\nx,y\n",
    }
    refused = await create(ask, "/usa", name=" ", content=bad)
    assert refused["problems"] == [
        {"path": ["content", "csv"], "code": "DUPLICATE_KEY", "line": 3, "column": 2},
        {"path": ["content", "csv"], "code": "INVALID_VALUE", "line": 4, "column": 2},
        {"path": ["name"], "code": None, "line": None, "column": None},
    ]
    for neither in ({}, {"csv": CSV, "upload": "x"}):
        refused = await create(ask, "/usa", content={"columns": COLUMNS, **neither})
        assert refused["problems"][0]["path"] == ["content"]
    assert await names(ask, "/usa") == ["vehicles"]


async def test_upload_the_file_of_a_reference_dataset(ask: Ask, store: Store) -> None:
    """upload the file of a reference dataset"""
    await ask.create_groups()
    upload = (await ask.input(UPLOAD, group="/usa"))["upload"]
    form = upload["form"]
    fields = {field["name"]: field["value"] for field in form["fields"]}
    assert (form["method"], form["headers"]) == ("POST", [])
    assert fields["Content-Type"] == CONTENT_TYPE
    content = {"columns": COLUMNS, "upload": upload["id"]}
    early = await create(ask, "/usa", content=content)
    assert early["problems"][0] | {"line": 0, "column": 0} == {
        "path": ["content", "upload"],
        "code": "NO_FILE",
        "line": 0,
        "column": 0,
    }

    async def chunks() -> Any:
        yield CSV.encode()

    await store.files.write(fields["key"], chunks(), content_type=CONTENT_TYPE)
    assert (await create(ask, "/usa", content=content))["referenceDataset"]["version"] == 1


async def test_retrieve_the_latest_version_of_a_reference_dataset(ask: Ask) -> None:
    """retrieve the latest version of a reference dataset"""
    id = await vehicles(ask)
    await change(ask, id, 1, description="changed")
    found = (await ask(LATEST, {"id": id}, NORTHWEST)).value
    assert (found["version"], found["description"], found["owner"]) == (2, "changed", "/usa")
    assert found["content"]["rowCount"] == 2
    assert (await ask(LATEST, {"id": id}, STRANGER)).code == "NOT_FOUND"


async def test_retrieve_a_specific_version_of_a_reference_dataset(ask: Ask) -> None:
    """retrieve a specific version of a reference dataset"""
    id = await vehicles(ask)
    content = {"columns": COLUMNS[:2], "csv": "vehicle,co2e\n"}
    assert (await change(ask, id, 1, content=content))["referenceDataset"]["version"] == 2
    first = (await ask(VERSION, {"id": id, "n": 1}, NORTHWEST)).value["versionNumbered"]
    assert (first["content"]["columns"], first["content"]["rowCount"]) == (COLUMNS, 2)
    second = (await ask(VERSION, {"id": id, "n": 2})).value["versionNumbered"]
    assert (second["content"]["columns"], second["content"]["rowCount"]) == (COLUMNS[:2], 0)
    assert second["referenceDataset"] == {"id": id}
    assert (await ask(VERSION, {"id": id, "n": 3})).value["versionNumbered"] is None


async def test_list_reference_datasets_for_a_group(ask: Ask) -> None:
    """list reference datasets for a group"""
    await vehicles(ask)
    await create(ask, "/usa/northwest", name="second")
    assert await names(ask, "/usa") == ["vehicles"]
    assert await names(ask, "/usa/northwest") == ["vehicles", "second"]
    assert await names(ask, "/eu") == []


async def test_list_reference_datasets_filtered_by_tag(ask: Ask) -> None:
    """list reference datasets for a group, filtered by tag"""
    await vehicles(ask)
    await create(ask, "/usa", name="other", tags=tag_inputs("Datasource=GHG Protocol"))
    assert await names(ask, "/usa/northwest", tags=BOTH) == ["vehicles"]
    assert await names(ask, "/usa/northwest", tags={"all": BOTH["all"][:1]}) == [
        "vehicles",
        "other",
    ]


async def test_list_the_tags_of_reference_datasets(ask: Ask) -> None:
    """list the tags of reference datasets"""
    await vehicles(ask)
    found = (await ask(TAGS, {"group": "/usa/northwest"})).data
    assert [node["label"] for node in found["tagKeys"]["nodes"]] == ["Datasource", "Type"]
    assert found["tagValues"]["nodes"] == [{"label": "Transportation", "count": 1}]


async def test_update_a_reference_dataset(ask: Ask) -> None:
    """update a reference dataset"""
    id = await vehicles(ask)
    content = {"columns": COLUMNS, "csv": f"{CSV}bus,1.25,\n"}
    told = await change(ask, id, 1, content=content)
    assert told == {"referenceDataset": {"version": 2, "content": {"rowCount": 3}}}
    assert (await change(ask, id, 1, content=content))["code"] == "CONFLICT"
    renamed = await change(ask, id, 2, name="cars")
    assert renamed == {"referenceDataset": {"version": 3, "content": {"rowCount": 3}}}
    wrong = await change(ask, id, 3, content={"columns": COLUMNS, "csv": "x\n"})
    assert wrong["problems"] == [{"path": ["content", "csv"], "code": "WRONG_HEADER", "line": 1}]
    none = await change(ask, id, 3, content=None)
    assert none["problems"] == [{"path": ["content"], "code": None, "line": None}]
    assert (await ask(LATEST, {"id": id})).value["version"] == 3


async def test_what_changed_in_a_reference_dataset_is_told_as_its_clients_see_it(ask: Ask) -> None:
    """compare two versions of a reference dataset"""
    id = await vehicles(ask)
    await change(ask, id, 1, content={"columns": COLUMNS[:2], "csv": "vehicle,co2e\n"})
    found = (await ask(DIFF, {"id": id}, NORTHWEST)).value["diff"]
    assert [one["path"] for one in found] == [
        "/content/columns/2",
        "/content/checksum",
        "/content/sizeBytes",
        "/content/rowCount",
    ]
    assert (found[3]["before"], found[3]["after"]) == (2, 0)


async def test_list_the_versions_of_a_reference_dataset(ask: Ask) -> None:
    """list the versions of a reference dataset"""
    id = await vehicles(ask)
    await change(ask, id, 1, content={"columns": COLUMNS, "csv": f"{CSV}bus,1.25,\n"})
    found = (await ask(VERSIONS, {"id": id}, NORTHWEST)).value["versions"]["nodes"]
    assert found == [
        {"version": 2, "content": {"rowCount": 3}},
        {"version": 1, "content": {"rowCount": 2}},
    ]


async def test_retrieve_a_reference_dataset_by_name(ask: Ask) -> None:
    """retrieve a reference dataset by name"""
    id = await vehicles(ask)
    asked = {"name": "VEHICLES", "group": "/usa/northwest"}
    assert (await ask(BY_NAME, asked)).value == {"id": id}
    assert (await ask(BY_NAME, {**asked, "group": "/eu"})).code == "NOT_FOUND"


async def test_download_the_file_of_a_reference_dataset(ask: Ask, store: Store) -> None:
    """download the file of a reference dataset"""
    id = await vehicles(ask)
    found = (await ask(DOWNLOAD, {"id": id, "for": 60}, NORTHWEST)).value
    assert (found["download"]["status"], found["download"]["sizeBytes"]) == ("READY", len(CSV))
    assert httpx.URL(found["download"]["url"]).path.startswith("/files/")
    assert found["versionNumbered"]["download"] == {"status": "READY", "sizeBytes": len(CSV)}
    for seconds in (0, -1, 10**6):
        refused = await ask(DOWNLOAD, {"id": id, "for": seconds}, NORTHWEST)
        assert refused.errors[0]["extensions"]["code"] == "BAD_USER_INPUT"
    (key,) = await store.files.list("datasets/")
    await store.files.delete(key)
    gone = (await ask(DOWNLOAD, {"id": id})).value["download"]
    assert gone == {"status": "GONE", "url": None, "expiresAt": None, "sizeBytes": None}


async def test_delete_a_reference_dataset(ask: Ask, store: Store) -> None:
    """delete a reference dataset"""
    id = await vehicles(ask)
    await change(ask, id, 1, content={"columns": COLUMNS, "csv": CSV})
    assert len(await store.files.list("datasets/")) == 2
    gone = await ask.input(DELETE, ROOT, id=id, expectedVersion=2)
    assert gone == {"referenceDataset": {"name": "vehicles", "version": 2}}
    assert (await ask(LATEST, {"id": id})).code == "NOT_FOUND"
    assert await store.files.list("datasets/") == ()
    assert await names(ask, "/usa") == []
