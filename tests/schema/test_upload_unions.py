"""Every mutation that gives a form for an upload can say that too many uploads are open."""

from graphql import GraphQLObjectType, GraphQLUnionType, get_named_type

from penstock.schema import schema
from penstock.schema.engine.documents import core_schema

FORM = "UploadForm"
OPENS_NONE = {
    "startExecution": "its input was uploaded",
    "cancelExecution": "it waits for nothing any more",
    "claimExecution": "the forms of a worker end with its claim",
    "heartbeatExecution": "as for the claim",
    "completeExecution": "it is over",
    "failExecution": "it is over",
}


def gives_form(type: GraphQLObjectType) -> bool:
    """Whether a payload has a form, or an object of its own that has one."""
    found = {get_named_type(field.type) for field in type.fields.values()}
    inner = [each for each in found if isinstance(each, GraphQLObjectType)]
    return any(
        each.name == FORM
        or any(get_named_type(field.type).name == FORM for field in each.fields.values())
        for each in inner
    )


def test_every_result_with_an_upload_form_has_a_quota() -> None:
    mutation = core_schema(schema).mutation_type
    assert mutation is not None
    giving = dict[str, set[str]]()
    for name, field in mutation.fields.items():
        union = get_named_type(field.type)
        assert isinstance(union, GraphQLUnionType)
        if any(gives_form(each) for each in union.types):
            giving[name] = {each.name for each in union.types}
    missing = {name for name, members in giving.items() if "QuotaExceeded" not in members}
    assert missing == set(OPENS_NONE)
