"""The limits of an operation and the checks that enforce them."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any, Final, NamedTuple

from graphql import (
    DocumentNode,
    FragmentDefinitionNode,
    GraphQLError,
    GraphQLSchema,
    OperationDefinitionNode,
    OperationType,
)

from penstock.datastore.errors import ErrorCode
from penstock.schema.core.json_scalar import MAX_VALUES
from penstock.schema.engine.cost import (
    INTROSPECTION_VALUES,
    VARIABLE_VALUES,
    SizeArguments,
    ValueCounts,
    count_values,
    operation_variables,
)
from penstock.schema.engine.document_walk import DocumentWalk, Measure, NestedTooDeeply
from penstock.schema.engine.field_merging import TooManyToMerge, count_pairs

_REMEMBERED_SIZES: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of one request; each applies by itself."""

    body_bytes: int = 1_000_000
    url_bytes: int = 16_384
    body_seconds: float = 2.0
    source_length: int = 50_000
    tokens: int = 2_000
    comments: int = 200
    depth: int = 12
    aliases: int = 30
    directives: int = 50
    fields: int = 2_000
    fragments: int = 60
    merged_pairs: int = 2_000
    operations: int = 10
    mutation_fields: int = 10
    input_values: int = 4_000
    json_values: int = MAX_VALUES
    introspection_depth: int = 20
    introspection_fields: int = 500
    introspection_values: int = 80_000
    introspection_beside: int = 2_000
    page_size: int = 100
    cost: int = 5_000
    answer_values: int = 250_000
    answer_bytes: int = 16 * 2**20
    errors: int = 5
    suggestions: int = 0
    deadline_seconds: float = 10.0


def rejection_error(message: str, code: ErrorCode) -> GraphQLError:
    """Make the error of a request that is rejected."""
    return GraphQLError(message, extensions={"code": code.value})


class _CostSource(NamedTuple):
    """The input of a new measurement, with the names of the variables that decide the cost.

    Of those in `sized_by` the number of objects decides, of those in `weighed` that of values.
    """

    schema: GraphQLSchema
    document: DocumentNode
    sized_by: tuple[str, ...]
    weighed: tuple[str, ...]
    page_size: int


class MeasuredOperation:
    """One operation of a document with its measure; `measure.cost` assumes the largest pages.

    With `reads_consistently` all its reads are consistent: those of a mutation decide what is
    written and show it, and those of a subscription show a change that was read.
    """

    __slots__ = (
        "_costs",
        "_declared",
        "_largest_cost",
        "_source",
        "introspects",
        "kind",
        "kind_name",
        "measure",
        "name",
        "node",
        "reads_consistently",
    )

    def __init__(
        self, node: OperationDefinitionNode, measure: Measure, source: _CostSource
    ) -> None:
        self.node = node
        self.measure = measure
        self._source = source
        self._costs: dict[tuple[int | None, ...], int] = {}
        self._declared = operation_variables(source.schema, source.document, node)
        self.name: Final = node.name.value if node.name else None
        self.kind: Final = node.operation
        self.kind_name: Final = node.operation.value
        self.reads_consistently: Final = node.operation is not OperationType.QUERY
        self.introspects: Final = measure.introspection_fields > 0
        self._largest_cost: Final = measure.cost

    def cost(self, variables: Mapping[str, object]) -> int:
        """Compute an upper bound of the cost with these variables, in objects read."""
        source = self._source
        if not (source.sized_by or source.weighed):
            return self._largest_cost
        sizes = SizeArguments(self._variable_values(variables), source.page_size)
        key = (
            *(sizes.variable_size(name) for name in source.sized_by),
            *(sizes.variable_weight(name) for name in source.weighed),
        )
        if key not in self._costs:
            if len(self._costs) >= _REMEMBERED_SIZES:
                self._costs.clear()
            self._costs[key] = (
                DocumentWalk(source.schema, source.document, sizes)
                .measure_operation(self.node)
                .cost
            )
        return self._costs[key]

    def declared_variables(self, variables: Mapping[str, Any]) -> dict[str, Any]:
        """Return the variables that the operation declares; it reads no others."""
        declared = (one.name for one in self._declared)
        return {name: variables[name] for name in declared if name in variables}

    def count_variables(self, variables: Mapping[str, object], most: ValueCounts) -> ValueCounts:
        """Count the values in the variables; beyond `most` the numbers are not exact."""
        return count_values(self._declared, variables, most)

    def _variable_values(self, variables: Mapping[str, object]) -> dict[str, object]:
        values: dict[str, object] = {}
        for definition in self.node.variable_definitions or ():
            name, default = definition.variable.name.value, definition.default_value
            if name in variables:
                values[name] = variables[name]
            elif default is not None:
                values[name] = default
        return values


def measure_operations(
    schema: GraphQLSchema, document: DocumentNode, limits: Limits
) -> tuple[MeasuredOperation, ...]:
    """Measure every operation of a parsed document; GraphQLError if it exceeds a limit.

    This runs before the rules of the specification, some of which take far longer than linear time.
    """
    nodes = [node for node in document.definitions if isinstance(node, OperationDefinitionNode)]
    _check_most("operations", len(nodes), limits.operations)
    fragments = sum(isinstance(node, FragmentDefinitionNode) for node in document.definitions)
    _check_most("fragments", fragments, limits.fragments)
    sizes = SizeArguments(None, limits.page_size)
    walk = DocumentWalk(schema, document, sizes)
    try:
        measures = [walk.measure_operation(node) for node in nodes]
        unused = walk.measure_unused_fragments()
    except NestedTooDeeply:
        message = f"The document nests deeper than {limits.depth} fields."
        raise rejection_error(message, ErrorCode.QUERY_TOO_DEEP) from None
    for node, measure in zip(nodes, measures, strict=True):
        _check_measure(measure, limits)
        if node.operation is OperationType.MUTATION:
            _check_most("mutation fields", measure.root_fields, limits.mutation_fields)
    _check_measure(unused, limits)
    _check_merging(document, limits)
    source = _CostSource(
        schema,
        document,
        tuple(sorted(sizes.consulted)),
        tuple(sorted(sizes.weighed)),
        limits.page_size,
    )
    return tuple(
        MeasuredOperation(node, measure, source)
        for node, measure in zip(nodes, measures, strict=True)
    )


def _check_measure(measure: Measure, limits: Limits) -> None:
    for depth, most in (
        (measure.depth, limits.depth),
        (measure.introspection_depth, limits.introspection_depth),
    ):
        if depth > most:
            message = f"The operation nests {depth} fields; the most is {most}."
            raise rejection_error(message, ErrorCode.QUERY_TOO_DEEP)
    _check_most("aliases", measure.aliases, limits.aliases)
    _check_most("directives", measure.directives, limits.directives)
    _check_most("fields", measure.fields, limits.fields)
    _check_most("introspection fields", measure.introspection_fields, limits.introspection_fields)
    _check_introspection(measure, limits)


def _check_introspection(measure: Measure, limits: Limits) -> None:
    values = ceil(measure.introspection_values)
    if values > limits.introspection_values:
        message = f"The introspection gives some {values} values; the most is "
        raise rejection_error(
            f"{message}{limits.introspection_values}.", ErrorCode.QUERY_TOO_COMPLEX
        )
    if values > limits.introspection_beside and measure.fields:
        message = "So much of the schema is asked for by itself, not beside other fields."
        raise rejection_error(message, ErrorCode.QUERY_TOO_COMPLEX)


def _check_merging(document: DocumentNode, limits: Limits) -> None:
    """Bound the work of the rule on merging, which is more than linear in the document."""
    try:
        merged = count_pairs(document)
    except TooManyToMerge:
        merged = limits.merged_pairs + 1
    if merged > limits.merged_pairs:
        message = "The document asks for the same fields too often."
        raise rejection_error(message, ErrorCode.QUERY_TOO_LARGE)


def _check_most(what: str, actual: int, most: int) -> None:
    if actual > most:
        raise _too_large_error(what, actual, most)


def _too_large_error(what: str, actual: int, most: int) -> GraphQLError:
    return rejection_error(
        f"There are {actual} {what}; the most is {most}.", ErrorCode.QUERY_TOO_LARGE
    )


def check_cost(operation: MeasuredOperation, variables: Mapping[str, Any], limits: Limits) -> int:
    """Return the cost of the operation with its variables and introspection.

    Raises GraphQLError if the cost or the variables are too large.
    """
    most = ValueCounts(limits.input_values, limits.json_values)
    given = operation.count_variables(variables, most)
    if given.values > most.values:
        message = f"The variables hold more than {most.values} values."
        raise rejection_error(message, ErrorCode.QUERY_TOO_LARGE)
    if given.inside > most.inside:
        message = f"The JSON of the variables holds more than {most.inside} values."
        raise rejection_error(message, ErrorCode.QUERY_TOO_LARGE)
    described = int(operation.measure.introspection_values)
    cost = operation.cost(variables) + given.values // VARIABLE_VALUES
    cost += given.inside // VARIABLE_VALUES + described // INTROSPECTION_VALUES
    if cost > limits.cost:
        message = f"The operation costs {cost}; the most is {limits.cost}."
        raise rejection_error(message, ErrorCode.QUERY_TOO_COMPLEX)
    return cost


def choose_operation(
    operations: tuple[MeasuredOperation, ...], name: str | None
) -> MeasuredOperation:
    """Find the operation that a request names; GraphQLError if it is unknown or ambiguous."""
    if name is None and len(operations) == 1:
        return operations[0]
    found = [operation for operation in operations if operation.name == name]
    if name is not None and len(found) == 1:
        return found[0]
    message = (
        "The document holds no operation of that name."
        if name is not None
        else f"The document holds {len(operations)} operations: name the one to run."
    )
    raise rejection_error(message, ErrorCode.OPERATION_RESOLUTION_FAILURE)
