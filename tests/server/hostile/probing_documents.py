"""Documents that do not parse, that name unknown fields, or that probe the whole schema."""

from graphql import get_introspection_query

from tests.server.hostile.costly_documents import TOO_COMPLEX, TYPE, UNREADABLE, doc, times
from tests.server.hostile.hostile_request import hostile_document

ODD_ONES = (
    doc("nothing", "", UNREADABLE),
    doc("half", "{ viewer {", UNREADABLE),
    doc("a zero", "{ viewer \0 { userId } }", UNREADABLE),
    doc("marks that turn text around", "{ \u202eviewer { userId } }", UNREADABLE),
    doc("SQL", "'; DROP TABLE items; --", UNREADABLE),
    doc("a template", "{{7*7}} ${7*7}", UNREADABLE),
    doc("a schema", "type Query { a: Int }"),
    doc("a schema to add", "extend type Query { a: Int } { __typename }"),
    doc(
        "a field almost there",
        "{ vewer { userId } }",
        "Cannot query field 'vewer' on type 'Query'.",
    ),
    doc("an argument almost there", '{ group(pth: "/") { id } }'),
    doc("a type almost there", "{ ... on Pipelin { id } }"),
    doc("an enum value almost there", "{ tagKeys(kind: PIPELIN) { nodes { key } } }"),
    doc("an inside", "{ __class__ { __init__ } }"),
    doc("an inside by name", "{ viewer { __globals__ } }"),
    doc("a service to federate", "{ _service { sdl } }"),
    doc(
        "entities to federate",
        '{ _entities(representations: [{__typename: "Pipeline"}]) { __typename } }',
    ),
    hostile_document(
        "document: a subscription at once",
        'subscription { pipelineChanged(id: "a") { id } }',
        "NOT_ACCEPTABLE",
        status=406,
    ),
    doc("answers in parts", "{ ... @defer { viewer { userId } } }"),
    doc("a path of the machine", '{ group(path: "/../../etc/passwd") { id } }', "data"),
    doc("a path with a zero", '{ group(path: "/usa\\u0000") { id } }', "U+0000"),
    doc("a key of the table", '{ node(id: "UDovVVM6") { id } }', '"node":null'),
    doc("an id of another kind", '{ node(id: "VXNlcjpyb290") { id } }', '"node":null'),
    doc(
        "a cursor of our own making",
        '{ pipelines(group: "/usa", after: "eyJwayI6IlAifQ") { nodes { id } } }',
        "Invalid cursor",
    ),
)
INTROSPECTION = (
    doc("the whole schema", get_introspection_query(input_value_deprecation=True), "__schema"),
    doc("the schema in circles", "{ __schema { types {" + "fields { type {" * 3 + "name" + "}" * 9),
    doc(
        "the schema in a shorter circle",
        "{ __schema { types { fields { type { fields { name args { name "
        "type { name } } } } } } } }",
        "__schema",
    ),
    doc("4 schemas", "{" + times(4, f"a#N: __schema {{ types {{ {TYPE} }} }}") + "}", "a3"),
    doc(
        "20 schemas", "{" + times(20, f"a#N: __schema {{ types {{ {TYPE} }} }}") + "}", "QUERY_TOO"
    ),
    doc("23 types", "{" + times(23, f'a#N: __type(name: "Query") {{ {TYPE} }}') + "}", "a22"),
    doc(
        "a schema beside data",
        "{ viewer { userId }" + times(2, f"a#N: __schema {{ types {{ {TYPE} }} }}") + "}",
        TOO_COMPLEX,
    ),
)
