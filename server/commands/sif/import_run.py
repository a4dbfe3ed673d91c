"""An import of SIF into a server: it makes what is not there, in an order that works."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from penstock.datastore.roles import GroupPath, covers
from penstock.datastore.scratch_folders import scratch_folder
from penstock.datastore.text import comparison_form, say_count
from penstock.server.commands.client.file_run import run_input
from penstock.server.commands.sif.export_files import Item, SifExport
from penstock.server.commands.sif.pipelines import SifPipeline, for_owner, read_pipeline
from penstock.server.commands.sif.report import LeftOut, SifReport
from penstock.server.commands.sif.resources import (
    TAG,
    NotTakable,
    Table,
    calculation_input,
    factor_table,
    further_groups,
    group_content,
    group_of,
    metric_input,
    read_table,
    shared_content,
)
from penstock.server.commands.sif.target import (
    CALCULATION,
    DATASET,
    METRIC,
    PIPELINE,
    ImportTarget,
    Kind,
    ServerRefusal,
    ServerResource,
)
from penstock.server.commands.sif.values import SifValues

STATES: Final = {"disabled": "DISABLED", "frozen": "FROZEN"}
ReadInput = Callable[[Item], Mapping[str, Any]]


@dataclass(slots=True)
class SifImport:
    """An import of an export; a dry one makes nothing and says what it would make."""

    target: ImportTarget
    export: SifExport
    is_dry: bool
    report: SifReport = field(default_factory=SifReport)
    _pipelines: dict[str, str] = field(default_factory=dict)
    _to_disable: list[str] = field(default_factory=list)

    async def run(self) -> SifReport:
        """Import everything, and return the report; raises CommandFailed."""
        with scratch_folder("sif") as folder:
            values = SifValues(folder / "values.sqlite")
            try:
                values.load(self.export)
                await self._import_groups()
                await self._import_datasets()
                await self._import_in_passes(
                    CALCULATION, self.export.resources("calculations", "c"), calculation_input
                )
                for item in self.export.resources("pipelines", "p"):
                    await self._import_pipeline(item, values, folder)
                await self._import_metrics()
                await self._disable_groups()
                self._note_what_is_left(values)
            finally:
                values.close()
        return self.report

    async def _import_groups(self) -> None:
        items = self.export.resources("accessManagement", "g")
        for item in sorted(items, key=lambda one: str(one["id"]).count("/")):
            path = unquote(str(item["id"]))
            is_disabled = item.get("state") == "disabled"
            there = path == "/" or await self.target.has_group(path)
            if there:
                self.report.there["group"] += 1
                if is_disabled and not await self.target.is_disabled(path):
                    self.report.leave("group", path, "it was disabled; it is enabled here")
                continue
            with self._refusals("group", path):
                if not self.is_dry:
                    await self.target.create_group(path, group_content(item))
                    self._to_disable += [path] * is_disabled
                self.report.made["group"] += 1

    async def _disable_groups(self) -> None:
        """Disable the groups that were so, now that everything in them is made."""
        for path in self._to_disable:
            with self._refusals("group", path):
                await self.target.disable_group(path)

    async def _import_datasets(self) -> None:
        for item in self.export.resources("referenceDatasets", "r"):
            await self._import_one(DATASET, item, self._dataset_input)
        for item in self.export.resources("impacts", "a"):
            await self._import_one(DATASET, item, self._factors_input)

    def _dataset_input(self, item: Item) -> Mapping[str, Any]:
        place = item.get("s3Location") or {}
        path = self.export.file(str(place.get("key", "")))
        if path is None:
            raise NotTakable(f"its file {place.get('key')!r} is not in files/")
        return self._table_input(item, read_table(path.read_bytes()))

    def _factors_input(self, item: Item) -> Mapping[str, Any]:
        return self._table_input(item, factor_table(item))

    def _table_input(self, item: Item, table: Table) -> Mapping[str, Any]:
        if table.repeated:
            rows = say_count(table.repeated, "row is", "rows are")
            reason = f"{rows} left out, as an earlier one has the key"
            self.report.leave("dataset", str(item["name"]), reason)
        return {**shared_content(item), "content": table.content()}

    async def _import_in_passes(self, kind: Kind, items: Sequence[Item], read: ReadInput) -> None:
        """Make resources that use each other: those that fail are tried again after the others."""
        left = list(items)
        while left:
            failed: list[Item] = []
            reasons: list[LeftOut] = []
            for item in left:
                before = len(self.report.left)
                if not await self._import_one(kind, item, read):
                    failed.append(item)
                    reasons += self.report.take_back(before)
            if len(failed) == len(left):
                self.report.left += reasons
                return
            left = failed

    async def _import_metrics(self) -> None:
        items = self.export.resources("pipelines", "k")
        await self._import_in_passes(
            METRIC, items, lambda item: metric_input(item, self._pipelines)
        )

    async def _import_one(self, kind: Kind, item: Item, read: ReadInput) -> bool:
        """Make a resource unless it is there; return whether it is there now."""
        name = str(item["name"])
        with self._refusals(kind.noun, name):
            found = await self._find(kind, item)
            if found is not None:
                self._note_differences(kind, item, found)
            else:
                input = read(item)
                if not self.is_dry:
                    made = await self.target.create(kind, input)
                    await self._complete(kind, item, made)
                self.report.made[kind.noun] += 1
            return True
        return False

    async def _find(self, kind: Kind, item: Item) -> ServerResource | None:
        """Find what an earlier import made of an item; raises NotTakable for a name of others."""
        found = await self.target.find(kind, str(item["name"]), group_of(item))
        if found is None:
            return None
        if found.sif != str(item["id"]):
            raise NotTakable("something else has its name in its group")
        self.report.there[kind.noun] += 1
        return found

    def _note_differences(self, kind: Kind, item: Item, found: ServerResource) -> None:
        """Note a state and grants that what was there lacks: nobody knows who took them away.

        Either somebody did so here, or an import that was interrupted did not come so far.
        """
        name, state = str(item["name"]), str(item.get("state"))
        if STATES.get(state, found.state) != found.state:
            words = f"it was {state}; it is {found.state.lower()} here"
            self.report.leave(kind.noun, name, words)
        for group in further_groups(item):
            wanted = GroupPath(comparison_form(group))
            if not any(covers(GroupPath(one), wanted) for one in found.groups):
                place = f"{name}, granted to {group}"
                self.report.leave(kind.noun, place, "it is not granted here")

    async def _complete(self, kind: Kind, item: Item, made: ServerResource) -> None:
        """Grant a resource as it was granted, and give it its state."""
        for group in further_groups(item):
            with self._refusals(kind.noun, f"{item['name']}, granted to {group}"):
                await self.target.grant(kind, made.id, group)
        if state := STATES.get(str(item.get("state"))):
            await self.target.update(kind, made.id, made.version, state=state)

    async def _import_pipeline(self, item: Item, values: SifValues, folder: Path) -> None:
        """Make a pipeline unless it is there, with its values if it keeps rows."""
        name, id = str(item["name"]), str(item["id"])
        with self._refusals("pipeline", name):
            pipeline = for_owner(read_pipeline(item), group_of(item))
            if pipeline.time is None and values.count_rows(id):
                self.report.leave("values", name, "its first output is no time: it keeps no rows")
            found = await self._find(PIPELINE, item)
            if found is not None and (pipeline.time is None or found.version > 1):
                self._note_differences(PIPELINE, item, found)
            if self.is_dry:
                self._pipelines[id] = id
                self.report.made["pipeline"] += found is None
                self.report.made["row"] += 0 if found else values.count_rows(id)
            elif pipeline.time is None:
                await self._make_pipeline(item, pipeline.formula_transformer(), found)
            else:
                # The values come first: the first version takes them as they are.
                made = await self._make_pipeline(item, pipeline.carrying_transformer(), found)
                if made.version == 1:
                    await self._carry_values(item, pipeline, made, values, folder)
                    await self._give_formulas(item, pipeline, made)
                else:
                    await self._note_later_values(item, made, values)

    async def _make_pipeline(
        self, item: Item, transformer: Mapping[str, Any], found: ServerResource | None
    ) -> ServerResource:
        """Make a pipeline unless it was found; it runs, so that its state comes later."""
        if found is None:
            input = {**shared_content(item), "transformer": transformer}
            found = await self.target.create(PIPELINE, input)
            self.report.made["pipeline"] += 1
            if "rows" not in transformer:
                await self._complete(PIPELINE, item, found)
        self._pipelines[str(item["id"])] = found.id
        return found

    async def _note_later_values(self, item: Item, made: ServerResource, values: SifValues) -> None:
        for execution in values.executions(str(item["id"])):
            if not await self.target.has_run(made.id, execution):
                reason = "the pipeline has its formulas already; send the input to it"
                self.report.leave("values", f"{item['name']}, execution {execution}", reason)

    async def _give_formulas(self, item: Item, pipeline: SifPipeline, made: ServerResource) -> None:
        """Give a pipeline that has its values the formulas of SIF for the rows to come."""
        transformer = pipeline.formula_transformer()
        try:
            await self.target.update(PIPELINE, made.id, made.version, transformer=transformer)
        except ServerRefusal as refused:
            reason = f"it has its values as rows, but its formulas are refused: {refused}"
            raise NotTakable(reason) from None
        await self._complete(PIPELINE, item, made._replace(version=made.version + 1))

    async def _carry_values(
        self,
        item: Item,
        pipeline: SifPipeline,
        found: ServerResource,
        values: SifValues,
        folder: Path,
    ) -> None:
        """Run a file for each execution of SIF, in their order, so that the rows have a history."""
        for execution in values.executions(str(item["id"])):
            if await self.target.has_run(found.id, execution):
                continue
            file = folder / "rows.csv"
            values.write_rows(str(item["id"]), pipeline, execution, file)
            tags = [{"key": TAG, "value": execution}]
            ended = await run_input(self.target.client, found.id, file, execution, tags)
            progress = ended["progress"]
            self.report.made["row"] += progress["rowsSucceeded"]
            label = f"{item['name']}, execution {execution}"
            if ended["state"] != "SUCCESS":
                raise NotTakable(f"the values of {label}: {ended['stateMessage']}")
            if progress["rowsFailed"]:
                rows = say_count(progress["rowsFailed"], "row was", "rows were")
                reason = f"{rows} rejected; see the execution"
                self.report.leave("row", label, reason)

    def _note_what_is_left(self, values: SifValues) -> None:
        leave = self.report.leave
        for item in self.export.resources("pipelines", "c"):
            leave("connector", str(item.get("name")), "there are no connectors; send files instead")
        users = self.export.resources("accessManagement", "u")
        if users:
            leave("users", str(len(users)), "roles come from the token or from API keys")
        if values.errors:
            leave("values", str(values.errors), "SIF had an error in place of the value; null here")
        if values.orphans:
            leave("values", str(values.orphans), "their activity is not in the export")
        versions = {"pipelines": "pv", "calculations": "cv", "referenceDatasets": "rv"}
        for table, prefix in versions.items():
            if count := self.export.count_versions(table, prefix):
                leave("versions", f"of {table}: {count}", "only the latest version is made")

    def _refusals(self, kind: str, name: str) -> "_Refusals":
        return _Refusals(self.report, kind, name)


class _Refusals(suppress):
    """Notes what cannot be taken in the report, and lets the rest go on."""

    def __init__(self, report: SifReport, kind: str, name: str) -> None:
        super().__init__(NotTakable, ServerRefusal)
        self._facts = report, kind, name

    def __exit__(self, type: Any, value: Any, traceback: Any) -> bool:
        report, kind, name = self._facts
        if isinstance(value, NotTakable | ServerRefusal):
            report.leave(kind, name, str(value))
        return bool(super().__exit__(type, value, traceback))
