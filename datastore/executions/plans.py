"""From a pipeline's transformer to the plan that a kernel runs."""

from collections.abc import Iterable

from datastore.executions.records import Pin
from datastore.layout import CALCULATION
from datastore.records import Output, Transformer
from formula.calls import Found
from formula.values import ValueType
from kernel.plan import Column, Plan, Step


def plan_of(transformer: Transformer, calls: tuple[Found, ...] = ()) -> Plan:
    """The plan of a transformer whose rules hold, with the calculations that its formulas reach."""
    columns = [
        Column(one.key, ValueType(one.type), one.required, one.label)
        for one in transformer.parameters
    ]
    steps = [
        Step(one.formula, _heading(n, output), ValueType(output.type), output.key)
        for n, one in enumerate(transformer.transforms)
        for output in one.outputs
    ]
    return Plan(tuple(columns), tuple(steps), calls)


def pins_of(calls: Iterable[Found]) -> tuple[Pin, ...]:
    """The calculations among the calls, each once, in the order of their ids."""
    found = {}
    for call in calls:
        if call.signature is not None:
            id, _, version = call.signature.identity.rpartition(":")
            pin = Pin(kind=CALCULATION.letter, id=id, version=int(version), name=call.callee.name)
            found[call.signature.identity] = pin
    return tuple(pin for _, pin in sorted(found.items()))


def _heading(n: int, output: Output) -> str:
    return output.key or output.label or f"output {n}"
