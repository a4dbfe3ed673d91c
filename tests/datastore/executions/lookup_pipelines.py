"""Pipelines with lookups in reference datasets, for tests of executions."""

from penstock.datastore.records import (
    Calculation,
    Output,
    Parameter,
    Pipeline,
    Transform,
    Transformer,
    ValueType,
)
from penstock.datastore.roles import GroupPath
from penstock.datastore.store import Store
from tests.datastore.datasets.sample_datasets import lookup_dataset
from tests.datastore.executions.sample_executions import pipeline_in
from tests.support.sample_resources import NORTHWEST, SUPER, USA, create_groups

NUMBER, STRING = ValueType.NUMBER, ValueType.STRING


def lookup_transformer(*formulas: str) -> Transformer:
    return Transformer(
        parameters=(Parameter(index=0, key="fuel", type=STRING, required=True),),
        transforms=tuple(
            Transform(
                index=n, formula=formula, outputs=(Output(index=0, key=f"y{n or ''}", type=NUMBER),)
            )
            for n, formula in enumerate(formulas)
        ),
    )


async def factor_calculation(
    store: Store, formula: str, group: GroupPath = USA, name: str = "factor"
) -> Calculation:
    fields = {
        "name": name,
        "tags": (),
        "formula": formula,
        "parameters": (Parameter(index=0, key="f", type=STRING, required=True),),
        "outputs": (Output(index=0, type=NUMBER),),
    }
    return await store.open_session(SUPER).calculations.writing.create(group, fields, None)


async def lookup_pipeline(store: Store) -> Pipeline:
    """Create a pipeline of /usa/northwest with lookups of its own and in a calculation it calls."""
    session = await create_groups(store)
    await lookup_dataset(session, USA, "fuels", gas="2.5", oil="4")
    await factor_calculation(store, "IMPACT('fuels', :f, 'v')")
    looked = lookup_transformer("LOOKUP('fuels', :fuel) * 10 + #factor(:fuel)")
    return await pipeline_in(store, NORTHWEST, "Asking", transformer=looked)
