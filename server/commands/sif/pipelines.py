"""The two transformers of a pipeline of SIF: for the values it has, and for those to come.

A pipeline is first made with parameters for its outputs, so that the values that SIF computed are
its rows, as they are. Then it gets its formulas: later executions correct these rows by their keys.
"""

import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from penstock.server.commands.sif.export_files import Item
from penstock.server.commands.sif.resources import NotTakable, column, columns

GROUP: Final = "group"
"""The key of the output of a row's group, where no output of SIF is the group."""

MOST_KEYS: Final = 5
_assignment: Final = re.compile(
    r"^[ \t]*ASSIGN_TO_GROUP[ \t]*\((?P<inner>.*)\)[ \t]*$", re.IGNORECASE | re.MULTILINE
)
_writable: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_mention: Final = re.compile(r"\bASSIGN_TO_GROUP\b", re.IGNORECASE)


class SifPipeline(NamedTuple):
    """A pipeline of SIF: its outputs by key, and which of them identify a row.

    `time` and `keys` name outputs, the keys in the order of SIF's columns; `group` is the output of
    a row's group. Without a time it keeps no rows.
    """

    parameters: list[dict[str, Any]]
    outputs: list[dict[str, Any]]
    formulas: list[str]
    time: str | None
    keys: tuple[str, ...]
    group: str | None

    def formula_transformer(self) -> dict[str, Any]:
        """Return the transformer with the formulas of SIF."""
        return self._transformer(self.parameters, self.formulas)

    def carrying_transformer(self) -> dict[str, Any]:
        """Return the transformer that takes the values of the outputs as they are."""
        keys = self._parameter_keys()
        parameters = [
            {
                "index": n,
                "key": keys[n],
                "label": output["key"],
                # A time of SIF is sent as epoch milliseconds, which are what a formula gives.
                "type": "NUMBER" if output["type"] == "TIMESTAMP" else output["type"],
            }
            for n, output in enumerate(self.outputs)
        ]
        return self._transformer(parameters, [f":{key}" for key in keys])

    def _parameter_keys(self) -> list[str]:
        """Return keys for the values of the outputs: their own, if each can be written `:key`."""
        keys = [str(output["key"]) for output in self.outputs]
        are_distinct = len({key.casefold() for key in keys}) == len(keys)
        if are_distinct and all(map(_writable.fullmatch, keys)):
            return keys
        return [f"v{n}" for n in range(len(keys))]

    def _transformer(
        self, parameters: list[dict[str, Any]], formulas: Sequence[str]
    ) -> dict[str, Any]:
        pairs = zip(formulas, self.outputs, strict=True)
        transforms = [
            {"index": n, "formula": formula, "outputs": [{**output, "index": 0}]}
            for n, (formula, output) in enumerate(pairs)
        ]
        found: dict[str, Any] = {
            "parameters": parameters,
            "transforms": transforms,
            "extraColumns": "IGNORE",
            "timestamps": "EPOCH_MILLISECONDS",
        }
        if self.time is not None:
            named = [self.group, self.time, *self.keys]
            key = [one for one in named if one is not None]
            found["rows"] = {"key": key, "time": self.time, "group": self.group}
        return found


def read_pipeline(item: Item) -> SifPipeline:
    """Read the transformer of a pipeline's item; raises NotTakable."""
    transformer = item.get("transformer") or {}
    transforms = sorted(transformer.get("transforms") or (), key=lambda one: int(one["index"]))
    given = [(str(one["formula"]), one["outputs"][0]) for one in transforms]
    if not given:
        raise NotTakable("it has no transforms")
    formulas, outputs, group = [], [], None
    for n, (formula, output) in enumerate(given):
        key = str(output.get("key") or output.get("label") or f"output {n}")
        text, assigned = _without_assignment(formula)
        outputs.append({**column(output, n), "key": key})
        formulas.append(text or f"LOWERCASE({assigned})")
        group = (key if not text else None, assigned) if assigned else group
    keeps = str(item.get("type") or "activities") == "activities"
    time = outputs[0]["key"] if keeps and outputs[0]["type"] == "TIMESTAMP" else None
    named = {
        str(output.get("_keyMapping") or f"key{n + 1}"): str(output["key"])
        for n, output in enumerate(one for _, one in given if one.get("includeAsUnique"))
    }
    keys = tuple(named[key] for key in sorted(named) if named[key] != time)[:MOST_KEYS]
    return _with_group(
        SifPipeline(columns(transformer.get("parameters")), outputs, formulas, time, keys, None),
        group,
    )


def _without_assignment(formula: str) -> tuple[str, str | None]:
    """Return a formula without its line ASSIGN_TO_GROUP, and what is assigned there."""
    found = _assignment.search(formula)
    rest = formula if found is None else formula[: found.start()] + formula[found.end() :]
    if _mention.search(rest):
        raise NotTakable("ASSIGN_TO_GROUP stands within a formula; give it a transform of its own")
    return rest.strip(), None if found is None else found["inner"].strip()


def _with_group(pipeline: SifPipeline, group: tuple[str | None, str] | None) -> SifPipeline:
    """Give the rows a group: that of ASSIGN_TO_GROUP, else the owner's until it is changed."""
    if pipeline.time is None:
        return pipeline
    if group is not None and group[0] is not None:
        return pipeline._replace(group=group[0])
    names = {output["key"] for output in pipeline.outputs}
    key = next(one for one in (GROUP, "row group", "group of the row") if one not in names)
    output = {"index": len(names), "key": key, "type": "STRING"}
    formula = f"LOWERCASE({group[1]})" if group else OWNER
    return pipeline._replace(
        outputs=[*pipeline.outputs, output], formulas=[*pipeline.formulas, formula], group=key
    )


OWNER: Final = "''"
"""Stands for the group of the owner until `for_owner` puts it in."""


def for_owner(pipeline: SifPipeline, owner: str) -> SifPipeline:
    """Put in the group to which rows belong by default."""
    formulas = [f"'{owner}'" if one == OWNER else one for one in pipeline.formulas]
    return pipeline._replace(formulas=formulas)
