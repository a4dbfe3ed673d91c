"""Documents that request another tenant's data."""

from tests.server.hostile.costly_documents import MAKE, doc

FOREIGN = (
    doc("the pipeline of another", '{ pipeline(id: "THEIR_ID") { name } }', "NOT_FOUND"),
    doc(
        "the node of another",
        '{ node(id: "THEIR_ID") { id ... on Pipeline { name } } }',
        '"node":null',
    ),
    doc(
        "the nodes of another",
        '{ nodes(ids: ["THEIR_ID", "THEIR_ID"]) { id } }',
        '"nodes":[null,null]',
    ),
    doc(
        "the name of another",
        '{ pipelineByName(name: "theirs", group: "/usa") { id } }',
        "NOT_FOUND",
    ),
    doc("the group of another", '{ group(path: "/eu") { name } }', "NOT_FOUND"),
    doc("the list of another", '{ pipelines(group: "/eu") { nodes { name } } }', "code"),
    doc(
        "the tags of another", '{ tagKeys(kind: PIPELINE, group: "/eu") { nodes { key } } }', "code"
    ),
    doc(
        "the list of all",
        '{ pipelines(group: "/", includeChildGroups: true) { nodes { name } } }',
        "mine 99",
    ),
    doc(
        "the cursor of another",
        '{ pipelines(group: "/usa", after: "THEIR_CURSOR") { nodes { name } } }',
        "Invalid cursor",
    ),
    doc(
        "a change of another's",
        'mutation { updatePipeline(input: {id: "THEIR_ID", expectedVersion: 1}) { __typename } }',
        "NotFound",
    ),
    doc(
        "an end of another's",
        'mutation { deletePipeline(input: {id: "THEIR_ID"}) { __typename } }',
        "NotFound",
    ),
    doc(
        "a grant of another's",
        'mutation { grantPipeline(input: {id: "THEIR_ID", group: "/usa"}) { __typename } }',
        "NotFound",
    ),
    doc(
        "a group within another's",
        'mutation { createGroup(input: {path: "/eu/mine"}) { __typename } }',
        "NotFound",
    ),
    doc(
        "a pipeline within another's",
        f"mutation {{ {MAKE.replace('usa', 'eu')} }}) {{ __typename }} }}",
        "NotFound",
    ),
    doc(
        "a key for more than one may",
        'mutation { createApiKey(input: {name: "n", roles: [{group: "/", role: ADMIN}], '
        'expiresAt: "2027-01-01T00:00:00Z"}) { __typename } }',
        "NotPermitted",
    ),
    doc(
        "the key of another",
        'mutation { revokeApiKey(input: {id: "THEIR_KEY"}) { __typename } }',
        "NotFound",
    ),
)
