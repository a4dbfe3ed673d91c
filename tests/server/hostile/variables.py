"""Variables that are too large, or slow to read."""

from typing import Any

from tests.server.hostile.costly_documents import ODD, TOO_LARGE, times
from tests.server.hostile.hostile_request import Offence, hostile_document
from tests.support.graphql_client import CREATE, CREATE_GROUP

MARKS = "\u0301\u0323"
FIND = 'query($t: TagFilter) { pipelines(group: "/usa", tags: $t) { nodes { id } } }'
NODES = "query($i: [ID!]!) { nodes(ids: $i) { id } }"
KEY = "mutation($input: CreateApiKeyInput!) { createApiKey(input: $input) { __typename \
... on UserError { code message } } }"
VALUES = 'query($k: String!, $p: String) { tagValues(kind: PIPELINE, key: $k, parent: $p, \
group: "/usa") { nodes { value } } }'
NUMBER = {"index": 0, "type": "NUMBER"}


def odd_pipeline(name: str, says: str, /, **more: Any) -> Offence:
    """Return a request that creates a pipeline with one odd part."""
    whole = {"name": "odd", "group": "/usa", "transformer": transformer("1")}
    return hostile_document(f"variables: {name}", CREATE, says, {"input": whole | more})


def odd_variables(name: str, document: str, says: str, /, **variables: Any) -> Offence:
    return hostile_document(f"variables: {name}", document, says, variables)


def transformer(*formulas: str, columns: int = 1) -> dict[str, Any]:
    return {
        "parameters": [
            {"index": n, "key": f"k{n}", "label": "l", "description": "d", "type": "NUMBER"}
            for n in range(columns)
        ],
        "transforms": [
            {"index": n, "formula": text, "outputs": [{**NUMBER, "key": f"o{n}", "label": "l"}]}
            for n, text in enumerate(formulas)
        ],
    }


def tags(count: int, value: str) -> list[dict[str, str]]:
    return [{"key": f"k{n}", "value": value} for n in range(count)]


FORMULAS = {
    "brackets": "(" * 249,
    "signs": "-" * 249,
    "a power of powers": "9^9^9^9^9^9",
    "digits": "9" * 249,
    "a quotation without end": "'" + "a" * 248,
    "a pattern that backtracks": "REGEX_MATCH(:k0, '" + "(a*)*" * 30 + "b')",
    "ifs": "IF(1=1," * 30,
}
VARIABLES = (
    odd_pipeline("30,000 tags", TOO_LARGE, tags=tags(30_000, "b")),
    odd_pipeline("1,300 tags", "tags are allowed", tags=tags(1_300, "b")),
    odd_pipeline("900,000 levels of a tag", "longer than", tags=tags(1, "/" * 900_000)),
    odd_pipeline("2,000 levels of a tag", "more than 10 levels", tags=tags(1, "a/" * 1_000)),
    odd_pipeline(
        "440,000 marks on a letter of a tag", "longer than", tags=tags(1, "a" + MARKS * 220_000)
    ),
    odd_pipeline(
        "2,500 marks on a letter of each tag", "marks on one", tags=tags(30, "a" + MARKS * 1_250)
    ),
    odd_pipeline(
        "as many marks as allowed", "longer than 128", tags=tags(30, ("a" + MARKS * 15) * 80)
    ),
    odd_pipeline(
        "marks on the key of a tag", "longer than", tags=[{"key": MARKS * 200_000, "value": "a"}]
    ),
    odd_pipeline("marks on a name", "longer than", name="a" + MARKS * 200_000),
    odd_pipeline("a name of nothing", ODD, name=" "),
    odd_pipeline("a name that controls", ODD, name="a\x1b[2J"),
    odd_pipeline("a name turned around", "__typename", name="a\u202eb"),
    odd_pipeline("a key of nothing", ODD, idempotencyKey=""),
    odd_pipeline("a key of 900,000 letters", "longer than", idempotencyKey="a" * 900_000),
    odd_pipeline("JSON of 60,000 values", "10000 values", attributes={"a": [1] * 60_000}),
    odd_pipeline(
        "JSON of 9,999 values", "__typename", attributes={str(n): n for n in range(9_900)}
    ),
    odd_variables(
        "30 variables of 9,990 values of JSON",
        "mutation("
        + times(30, "$a#N: JSON")
        + ') { createPipeline(input: {name: "n", attributes: ['
        + times(30, "$a#N")
        + "], transformer: {parameters: [], transforms: []}}) { __typename } }",
        "10000 values",
        **{f"a{n}": [1] * 9_990 for n in range(30)},
    ),
    odd_pipeline("JSON of one text", "an object", attributes="a" * 900_000),
    odd_pipeline("a number no store can keep", ODD, attributes={"a": 1e300}),
    odd_pipeline(
        "keys of an object that are none of ours", "code", attributes={"$where": "1", "": {}}
    ),
    odd_pipeline(
        "60,000 fields of our own making", TOO_LARGE, **{f"x{n}": 1 for n in range(60_000)}
    ),
    odd_pipeline("a field of our own making", "code", owner="/eu"),
    odd_pipeline("no object at all", "code", transformer=7),
    odd_pipeline("7,000 columns", TOO_LARGE, transformer=transformer("1", columns=7_000)),
    odd_pipeline("500 columns", "at most 200", transformer=transformer("1", columns=500)),
    odd_pipeline(
        "the most that may be", "__typename", transformer=transformer(*["1"] * 200, columns=200)
    ),
    odd_pipeline(
        "a formula of 900,000 letters", "longer than", transformer=transformer("1+" * 450_000)
    ),
    odd_pipeline(
        "formulas of 100,000 letters", "longer than", transformer=transformer(*["1+" * 4_000] * 12)
    ),
    *(
        odd_pipeline(
            f"200 formulas of {name}", "code", transformer=transformer(*[text] * 200), name=" "
        )
        for name, text in FORMULAS.items()
    ),
    odd_variables("1,300 terms of a filter", FIND, "at most 20 terms", t={"any": tags(1_300, "b")}),
    odd_variables(
        "marks in a filter", FIND, "longer than", t={"all": tags(1, "a" + MARKS * 200_000)}
    ),
    odd_variables(
        "30 filters of 1,300 terms",
        "query($t: TagFilter) {"
        + times(30, 'a#N: pipelines(group: "/usa", tags: $t) { nodes { id } }')
        + "}",
        TOO_LARGE,
        t={"any": tags(1_300, "b")},
    ),
    odd_variables("3,990 ids", NODES, "At most 100 ids", i=["a"] * 3_990),
    odd_variables("100,000 ids", NODES, TOO_LARGE, i=["a"] * 100_000),
    odd_variables("ids that are objects", NODES, "code", i=[{"$gt": ""}] * 3),
    odd_variables("an id of 900,000 letters", NODES, '"nodes":[null]', i=["A" * 900_000]),
    odd_variables("marks in a key", VALUES, "longer than", k=MARKS * 200_000),
    odd_variables("marks in a parent", VALUES, "longer than", k="a", p=MARKS * 200_000),
    odd_variables(
        "marks in a name to find",
        "query($n: String!) { pipelineByName(name: $n) { id } }",
        "code",
        n=MARKS * 200_000,
    ),
    odd_variables(
        "marks in a path",
        "query($p: GroupPath!) { group(path: $p) { id } }",
        "code",
        p="/a" + MARKS * 200_000,
    ),
    odd_variables(
        "marks in the name of a group",
        CREATE_GROUP,
        "longer than",
        input={"path": "/usa/x", "name": MARKS * 200_000},
    ),
    odd_variables(
        "a cursor of 900,000 letters",
        "query($a: String) {"
        + times(30, 'a#N: pipelines(group: "/usa", after: $a) { nodes { id } }')
        + "}",
        "Invalid cursor",
        a="A" * 900_000,
    ),
    odd_variables(
        "1,300 roles",
        KEY,
        "must be 1 to 50",
        input={
            "name": "n",
            "expiresAt": "2027-01-01T00:00:00Z",
            "roles": [{"group": "/" + "a" * 60 + str(n), "role": "READER"} for n in range(1_300)],
        },
    ),
    odd_variables(
        "a time of 900,000 digits",
        KEY,
        ODD,
        input={"name": "n", "roles": [], "expiresAt": "2027-01-01T00:00:00." + "0" * 900_000 + "Z"},
    ),
    odd_variables(
        "60,000 variables of no use",
        "{ viewer { userId } }",
        "userId",
        **{f"x{n}": 1 for n in range(60_000)},
    ),
    odd_variables(
        "a secret in the wrong place",
        "query($i: Int!) { pipelines(first: $i) { nodes { id } } }",
        ODD,
        i="MY_SECRET",
    ),
)
