"""The GraphQL schema: the systems merged into one."""

import strawberry
from strawberry.schema.config import StrawberryConfig

from schema.api_keys import ApiKeyMutation
from schema.calculation_mutations import CalculationMutation
from schema.calculations import Calculation, CalculationQuery, CalculationVersion
from schema.failures import HANDLERS
from schema.groups import Group, GroupMutation, GroupQuery
from schema.jobs import Job, JobQuery
from schema.ngsi import NgsiQuery
from schema.ngsi_mutations import NgsiMutation
from schema.pipeline_mutations import PipelineMutation
from schema.pipelines import Pipeline, PipelineQuery, PipelineVersion
from schema.scalars import SCALARS
from schema.subscriptions import Subscription
from schema.tags import TagQuery
from schema.viewer import ViewerQuery


@strawberry.type(description="What can be read.")
class Query(
    ViewerQuery, GroupQuery, JobQuery, TagQuery, PipelineQuery, CalculationQuery, NgsiQuery
):
    pass


@strawberry.type(description="What can be changed.")
class Mutation(GroupMutation, PipelineMutation, CalculationMutation, ApiKeyMutation, NgsiMutation):
    pass


schema = strawberry.Schema(
    Query,
    Mutation,
    Subscription,
    types=[Group, Job, Pipeline, PipelineVersion, Calculation, CalculationVersion],
    config=StrawberryConfig(scalar_map=dict(SCALARS)),
    exception_handlers=HANDLERS,
)


def sdl() -> str:
    """The schema in the definition language, as `schema.graphql` holds it."""
    return schema.as_str() + "\n"
