"""The arguments and the `info` that a field's resolver is called with.

Arguments have the values that graphql-core coerces them to. A field whose arguments are constants
and variables caches an ArgumentRecipe, which builds them faster for later requests.
"""

from collections.abc import Callable, Iterable, Mapping
from keyword import iskeyword
from typing import Any

from graphql import (
    GraphQLArgument,
    GraphQLResolveInfo,
    Undefined,
    VariableNode,
    get_nullable_type,
    is_leaf_type,
    is_non_null_type,
)
from graphql.execution.values import get_argument_values
from strawberry import UNSET, Info

from penstock.graphql_jit.field_source import DirectSource
from penstock.graphql_jit.input_objects import conversions_of
from penstock.graphql_jit.plan import (
    IMMUTABLE,
    ArgumentRecipe,
    CallArguments,
    Field,
    PassedVariable,
    Place,
)
from penstock.graphql_jit.planner import has_variables
from penstock.graphql_jit.state import OperationState


class FieldInfo(Info[Any, Any]):
    """Strawberry's info object; it builds graphql-core's info only for resolvers that read it."""

    def __init__(self, run: OperationState, field: Field, place: Place) -> None:
        self.planned = field
        self._run = run
        self._place = place

    @property
    def _raw_info(self) -> "GraphQLResolveInfo[Any]":  # type: ignore[override]
        return self._run.info(self.planned, self._place)

    @property
    def _field(self) -> Any:  # type: ignore[override]
        reading = self.planned.source
        return reading.field if isinstance(reading, DirectSource) else None

    @property
    def context(self) -> Any:
        return self._run.context

    @property
    def root_value(self) -> Any:
        return self._run.root


class TypeInfo:
    """graphql-core's info object for functions that resolve types, built when it is first read."""

    __slots__ = ("_field", "_info", "_place", "_run")

    def __init__(self, run: OperationState, field: Field, place: Place) -> None:
        self._run = run
        self._field = field
        self._place = place
        self._info: GraphQLResolveInfo[Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if self._info is None:
            self._info = self._run.info(self._field, self._place)
        return getattr(self._info, name)


def arguments_of(run: OperationState, field: Field, place: Place) -> CallArguments:
    """Return the arguments of a field's resolver; raises GraphQLError for values that do not fit.

    Mutable values are built anew for each call, because a resolver could change them.
    """
    found = run.cached_arguments.get(field)
    if found is not None:
        return found
    recipe = field.recipe
    made = None if recipe is None else recipe.build_arguments(run.variables.coerced)
    if made is None:
        made = _coerce_arguments(run, field, place)
        if not _are_immutable(made.values()):
            return made
        if recipe is None:
            field.recipe = _derive_recipe(field, made, run.variables.coerced)
    run.cached_arguments[field] = made
    if field.parameters == made.keys():
        run.arguments_passed[field] = made
    return made


def parameters_of(field: Field) -> frozenset[str]:
    """Return the parameters that always get a value if all variables are given.

    The set is empty where one of them cannot be written as a keyword argument in Python.
    """
    name_of = _parameter_namer(field)
    given = {node.name.value for node in field.details[0].node.arguments or ()}
    found = frozenset(
        name_of(name, definition)
        for name, definition in field.definition.args.items()
        if name in given or _has_default(definition)
    )
    named = all(name.isidentifier() and not iskeyword(name) for name in found)
    return found if named else frozenset()


def _has_default(definition: GraphQLArgument) -> bool:
    return definition.default is not None or definition.default_value is not Undefined


def _coerce_arguments(run: OperationState, field: Field, place: Place) -> CallArguments:
    details, reading = field.details[0], field.source
    values = get_argument_values(
        field.definition, details.node, run.variables, None, run.hide_suggestions
    )
    if not isinstance(reading, DirectSource):
        return values
    info = FieldInfo(run, field, place)
    return conversions_of(reading.schema).convert_values(reading.field, values, info)


def _derive_recipe(
    field: Field, made: CallArguments, variables: Mapping[str, Any]
) -> ArgumentRecipe | None:
    """Derive a recipe from coerced arguments; None where they depend on more than variables."""
    name_of = _parameter_namer(field)
    nodes = {node.name.value: node.value for node in field.details[0].node.arguments or ()}
    constants, passed = dict(made), []
    for name, definition in field.definition.args.items():
        value, known_as = nodes.get(name), name_of(name, definition)
        if isinstance(value, VariableNode) and _is_leaf(definition):
            variable = value.name.value
            # Strawberry converts some leaf values, which cannot be detected with null.
            if variables.get(variable) is None or made[known_as] is not variables[variable]:
                return None
            passed.append(PassedVariable(known_as, variable, is_non_null_type(definition.type)))
            del constants[known_as]
        elif value is not None and has_variables(value):
            return None
    return ArgumentRecipe(constants, tuple(passed))


def _is_leaf(definition: GraphQLArgument) -> bool:
    return is_leaf_type(get_nullable_type(definition.type))


def _parameter_namer(field: Field) -> Callable[[str, GraphQLArgument], str]:
    """Return the function that maps an argument's GraphQL name to the resolver's parameter."""
    reading = field.source
    if not isinstance(reading, DirectSource):
        return lambda name, definition: definition.out_name or name
    convert = reading.schema.config.name_converter.from_argument
    names = {convert(argument): argument.python_name for argument in reading.field.arguments}
    return lambda name, _: names[name]


def _are_immutable(values: Iterable[object]) -> bool:
    return all(value is UNSET or isinstance(value, IMMUTABLE) for value in values)
