"""The checks of graphql-cop; its entry in the package index holds no code."""

from tests.server.hostile.costly_documents import TOO_LARGE, times
from tests.server.hostile.hostile_request import ABSENT, Offence, hostile_document

TYPENAME = "/graphql?query=query%20cop%20%7B__typename%7D"
HTML = (("accept", "text/html"),)
STRANGER = ("authorization", ABSENT)


def got(name: str, target: str, status: int, *headers: tuple[str, str], says: str = "") -> Offence:
    return Offence(
        name=f"cop: {name}", method="GET", target=target, status=status, headers=headers, says=says
    )


COP = (
    hostile_document(
        "cop: alias overloading", "query cop {" + times(101, "alias#N: __typename") + "}", TOO_LARGE
    ),
    Offence(
        name="cop: array-based query batching",
        body=b"[" + b",".join([b'{"query":"query cop { __typename }"}'] * 10) + b"]",
        status=400,
        says="Batches are not supported",
    ),
    hostile_document(
        "cop: directive overloading", "query cop { __typename " + "@aa" * 51 + "}", TOO_LARGE
    ),
    hostile_document(
        "cop: directives that are not there", "query cop { __typename @aa@aa }", "Unknown directive"
    ),
    hostile_document(
        "cop: field duplication", "query cop {" + "__typename " * 500 + "}", TOO_LARGE
    ),
    hostile_document(
        "cop: circular introspection",
        "query cop { __schema { types {" + "fields { type {" * 3 + "name" + "}" * 9,
        "Maximum introspection depth exceeded",
    ),
    hostile_document(
        "cop: field suggestions",
        "query cop { __schema { directive } }",
        "Cannot query field 'directive'",
    ),
    hostile_document(
        "cop: an error that is not handled", "qwerty cop { abc }", "GRAPHQL_PARSE_FAILED"
    ),
    hostile_document(
        "cop: introspection without proof",
        "query cop { __schema { types { name fields { name } } } }",
        "UNAUTHENTICATED",
        status=401,
        headers=(STRANGER,),
    ),
    hostile_document(
        "cop: trace mode",
        "query cop { __typename }",
        '{"data":{"__typename":"Query"}}',
        headers=(("x-apollo-tracing", "1"),),
    ),
    got("a query by GET without proof", TYPENAME, 401, STRANGER),
    got("a query by GET", TYPENAME, 200, says='{"data":{"__typename":"Query"}}'),
    got("a mutation by GET", "/graphql?query=mutation%20cop%20%7B__typename%7D", 405),
    got("the endpoint opened as a page", "/graphql", 302, *HTML),
    got("a page of Apollo", "/v1/explorer", 404, *HTML),
    got("a page of Altair", "/altair", 404, *HTML),
    got("a page of a console", "/graphql/console", 404, *HTML),
    Offence(
        name="cop: a form",
        headers=(("content-type", "application/x-www-form-urlencoded"),),
        body=b"query=query%20cop%20%7B__typename%7D",
        status=415,
        says="UNSUPPORTED_MEDIA_TYPE",
    ),
)
