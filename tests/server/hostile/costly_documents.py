"""Documents that exceed a limit."""

from tests.server.hostile.hostile_request import Offence, hostile_document


def times(count: int, text: str, between: str = " ") -> str:
    """Repeat a text; `#N` in it becomes the number of the repetition."""
    return between.join(text.replace("#N", str(n)) for n in range(count))


def doc(name: str, document: str, says: str = "GRAPHQL_VALIDATION_FAILED") -> Offence:
    return hostile_document(f"document: {name}", document, says)


TOO_LARGE, TOO_DEEP, TOO_COMPLEX = "QUERY_TOO_LARGE", "QUERY_TOO_DEEP", "QUERY_TOO_COMPLEX"
UNREADABLE, ODD = "GRAPHQL_PARSE_FAILED", "BAD_USER_INPUT"
TYPE = "kind name description fields { name args { name type { name } } type { kind name } }"
WHOLE = "id name tags { key value } groups owner version createdAt updatedAt transformer { \
transforms { formula outputs { index key } } }"
MAKE = 'createPipeline(input: {name: "n", group: "/usa", \
transformer: {parameters: [], transforms: []}'

LARGE = (
    doc("31 aliases", "{" + times(31, "a#N: viewer { userId }") + "}", TOO_LARGE),
    doc("400 aliases", "{" + times(390, "a#N: __typename") + "}", TOO_LARGE),
    doc("51 directives", "{ viewer" + "@skip(if: false)" * 51 + "{ userId } }", TOO_LARGE),
    doc("990 unknown directives", "{ viewer" + "@a" * 990 + "{ userId } }", TOO_LARGE),
    doc("1,900 times one field", "{ viewer {" + "userId " * 1_900 + "} }", TOO_LARGE),
    doc("60 times one field", "{ viewer {" + "userId " * 60 + "} }", "data"),
    doc("490 times one object", "{" + "viewer { userId } " * 490 + "}", TOO_LARGE),
    doc("44 times one object", "{" + "viewer { userId } " * 44 + "}", "data"),
    doc("190 conflicts", "{" + times(190, 'group(path: "/u#N") { id }') + "}", TOO_LARGE),
    doc("30 conflicts", "{" + times(30, 'group(path: "/u#N") { id }') + "}"),
    doc("11 operations", times(11, "query Q#N { viewer { userId } }"), TOO_LARGE),
    doc(
        "two operations and no name",
        "query A { viewer { userId } } query B { viewer { userId } }",
        "OPERATION_RESOLUTION_FAILURE",
    ),
    doc(
        "11 mutations",
        "mutation {" + times(11, 'a#N: deleteGroup(input: {path: "/a"}) { __typename }') + "}",
        TOO_LARGE,
    ),
    doc("13 levels", "{" + 'group(path: "/usa") {' + "parent {" * 12 + "id" + "}" * 14, TOO_DEEP),
    doc("300 levels of nothing", "{" + "... {" * 300 + "__typename" + "}" * 301, TOO_DEEP),
    doc(
        "a circle of fragments",
        "{ ...A } fragment A on Query { ...B } fragment B on Query { ...A }",
    ),
    doc("a fragment in itself", "{ ...A } fragment A on Query { viewer { userId } ...A }"),
    doc(
        "fragments that multiply",
        "{ ...F0 }"
        + "".join(f"fragment F{n} on Query {{ ...F{n + 1} ...F{n + 1} }}" for n in range(40))
        + "fragment F40 on Query { viewer { userId } }",
        TOO_LARGE,
    ),
    doc(
        "990 times one fragment",
        "{" + "...F " * 990 + "} fragment F on Query { __typename }",
        "data",
    ),
    doc(
        "190 fragments of no use",
        "{ __typename }" + times(190, "fragment F#N on Query { __typename }"),
        TOO_LARGE,
    ),
    doc(
        "60 fragments with one field",
        "{" + times(60, "...F#N") + "}" + times(60, "fragment F#N on Query { __typename }"),
        "data",
    ),
    doc(
        "60 fragments of no use",
        "{ __typename }" + times(60, "fragment F#N on Query { __typename }"),
    ),
    doc("490 variables of no use", "query(" + times(490, "$v#N: Int") + ") { __typename }"),
    doc(
        "lists in lists",
        "query($v: " + "[" * 900 + "Int" + "]" * 900 + ") { __typename }",
        TOO_DEEP,
    ),
    doc(
        "100 pages of 100 pages",
        "{ pipelines(first: 100) { nodes { versions(first: 100) { nodes { id } } } } }",
        TOO_COMPLEX,
    ),
    doc(
        "a page of 2,147,483,647",
        '{ pipelines(group: "/usa", first: 2147483647) { nodes { id } } }',
        ODD,
    ),
    doc(
        "30 whole pages",
        "{"
        + times(30, f'a#N: pipelines(group: "/usa", first: 100) {{ nodes {{ {WHOLE} }} }}')
        + "}",
        "data",
    ),
    doc("2,001 tokens", "{" + "a " * 2_000 + "}", TOO_LARGE),
    doc("201 comments", "#\n" * 201 + "{ __typename }", TOO_LARGE),
    doc("50,001 characters", " " * 50_000 + "{ __typename }", TOO_LARGE),
    doc("49,000 commas", "," * 49_000 + "{ __typename }", "data"),
    doc(
        "a block of 24,000 lines",
        '{ group(path: """' + "\n " * 24_000 + '""") { id } }',
        "start with",
    ),
    doc("a name of 49,000 letters", "{" + "a" * 49_000 + "}"),
    doc("a number of 49,000 digits", "{ nodes(ids: " + "9" * 49_000 + ") { id } }", "data"),
    doc(
        "an exponent of 4,000 digits",
        f"mutation {{ {MAKE} attributes: 1e{'9' * 4_000}}}) {{ __typename }} }}",
        "38 digits",
    ),
    doc("1,900 ids", "{ nodes(ids: [" + '"a" ' * 1_900 + "]) { id } }", ODD),
    doc(
        "190 levels of JSON",
        f"mutation {{ {MAKE} attributes: {'[' * 190}1{']' * 190}}}) {{ __typename }} }}",
        "code",
    ),
)
