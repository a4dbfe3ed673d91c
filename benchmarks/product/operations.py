"""The ten operations that the console's pages send most, with variables that differ.

Each is a document of the console, sent by its digest as the console sends it.
"""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, Final, NamedTuple

from penstock.datastore.records import Transformer
from penstock.schema.core.relay import GlobalId
from penstock.server.console import read_documents
from penstock.server.samples.catalogue import sample_pipelines


class Subjects(NamedTuple):
    """The keys of what the operations ask for."""

    pipelines: Sequence[str]
    executions: Sequence[str]


Draw = Callable[[Random, Subjects], dict[str, Any]]


class ConsoleOperation(NamedTuple):
    """One operation: its title in the table, its document's name, and how to draw variables."""

    title: str
    name: str
    draw: Draw


GROUPS: Final = ("/usa", "/eu", "/usa/northwest", "/eu/germany")
_SOURCES: Final = ("SAP", "Oracle", "Manual upload", "Meter")
_SCOPES: Final = ("1", "2", "3")
_MATERIALS: Final = ("material/metal", "material/plastic", "material/concrete", "energy")


def _tag(key: str, value: str) -> dict[str, str]:
    return {"key": key, "value": value}


def _draw_tags(random: Random) -> list[dict[str, str]]:
    return [_tag("source", random.choice(_SOURCES)), _tag("scope", random.choice(_SCOPES))]


def _draw_place(random: Random) -> dict[str, Any]:
    return {"group": random.choice(GROUPS), "below": True}


def _draw_all(random: Random, _: Subjects) -> dict[str, Any]:
    tags = [*_draw_tags(random), _tag("material", random.choice(_MATERIALS))]
    return {**_draw_place(random), "tags": {"all": tags}}


def _draw_any(random: Random, _: Subjects) -> dict[str, Any]:
    some = [_tag("material", one) for one in random.sample(_MATERIALS, 2)]
    none = [_tag("source", random.choice(_SOURCES))]
    return {**_draw_place(random), "tags": {"any": some, "none": none}}


def _draw_name(random: Random, subjects: Subjects) -> dict[str, Any]:
    number = random.randrange(1, len(subjects.pipelines))
    source, material = random.choice(("sap", "oracle", "meter")), random.choice(("steel", "gas"))
    return {**_draw_place(random), "name": {"startsWith": f"{source}:{material}:{number:05d}"[:-2]}}


def _draw_facets(random: Random, _: Subjects) -> dict[str, Any]:
    return {**_draw_place(random), "kind": "PIPELINE", "tags": {"all": _draw_tags(random)}}


def _draw_values(random: Random, subjects: Subjects) -> dict[str, Any]:
    return {**_draw_facets(random, subjects), "key": "material"}


def _draw_pipeline(random: Random, subjects: Subjects) -> dict[str, Any]:
    return {"id": GlobalId("Pipeline", random.choice(subjects.pipelines)).encode()}


def _draw_executions(random: Random, _: Subjects) -> dict[str, Any]:
    return {**_draw_place(random), "states": random.sample(["SUCCESS", "FAILED", "CANCELLED"], 2)}


def _draw_execution(random: Random, subjects: Subjects) -> dict[str, Any]:
    return {"id": GlobalId("Execution", random.choice(subjects.executions)).encode()}


def _draw_group(random: Random, _: Subjects) -> dict[str, Any]:
    return {"path": random.choice(GROUPS)}


def _draw_new(random: Random, _: Subjects) -> dict[str, Any]:
    sample = list(sample_pipelines(2))[-1]
    tags = [*_draw_tags(random), _tag("material", random.choice(_MATERIALS))]
    made = {
        "group": random.choice(GROUPS),
        "name": f"made:{random.getrandbits(64):016x}",
        "tags": tags,
        "transformer": _transformer_input(sample.content["transformer"]),
    }
    return {"input": made}


def _transformer_input(transformer: Transformer) -> dict[str, Any]:
    parameters = [
        {
            "index": one.index,
            "key": one.key,
            "label": one.label,
            "type": one.type.name,
            "required": one.required,
        }
        for one in transformer.parameters
    ]
    transforms = [
        {
            "index": one.index,
            "formula": one.formula,
            "outputs": [
                {
                    "index": output.index,
                    "key": output.key,
                    "label": output.label,
                    "type": output.type.name,
                }
                for output in one.outputs
            ],
        }
        for one in transformer.transforms
    ]
    return {"parameters": parameters, "transforms": transforms}


OPERATIONS: Final = (
    ConsoleOperation("pipelines by three tags", "CataloguePipelines", _draw_all),
    ConsoleOperation("pipelines by any of two tags, without one", "CataloguePipelines", _draw_any),
    ConsoleOperation("pipelines by the beginning of a name", "CataloguePipelines", _draw_name),
    ConsoleOperation("keys of tags under a filter", "FacetKeys", _draw_facets),
    ConsoleOperation("values of a key under a filter", "FacetValues", _draw_values),
    ConsoleOperation("a pipeline", "PipelineDetails", _draw_pipeline),
    ConsoleOperation("100 executions of two states", "Executions", _draw_executions),
    ConsoleOperation("an execution", "ExecutionDetails", _draw_execution),
    ConsoleOperation("a group", "GroupDetails", _draw_group),
    ConsoleOperation("a new pipeline", "SaveNewPipeline", _draw_new),
)


def find_digests(names: Sequence[str]) -> Mapping[str, str]:
    """The digests of the console's documents by the names of their operations."""
    found = {}
    for digest, text in read_documents().items():
        name = text.partition(" ")[2].partition("(")[0].partition("{")[0].strip()
        if name in names:
            found[name] = digest
    return found
