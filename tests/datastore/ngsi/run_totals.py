"""Sums of the counts of all runs of a sink: all that arrived, and what became of it."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from penstock.datastore.manifest.records import Run
from penstock.datastore.ngsi.counts import IngestCounts

FATES = ("items", "duplicates", "deadLettered")


@dataclass(slots=True)
class RunTotals:
    """The sums of counts of runs, and those of the items of each destination by their kind."""

    entities: Counter[str] = field(default_factory=Counter)
    items: dict[str, Counter[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, runs: Iterable[Run]) -> "RunTotals":
        return cls.sum(run.counts or {} for run in runs)

    @classmethod
    def sum(cls, counts_of_runs: Iterable[Mapping[str, int]]) -> "RunTotals":
        totals = cls()
        for counts in counts_of_runs:
            totals._add(counts)
        return totals

    def _add(self, counts: Mapping[str, int]) -> None:
        single = {name: name.partition(":") for name in counts}
        self.entities.update({name: counts[name] for name, parts in single.items() if not parts[1]})
        tables = {parts[2] for parts in single.values() if parts[1] and parts[0] != "refused"}
        for table in tables:
            written = counts.get(f"items:{table}", 0)
            own = self.items.setdefault(table, Counter())
            own["received"] += counts.get(f"received:{table}", written)
            for kind in (*FATES, "replayed"):
                own[kind] += counts.get(f"{kind}:{table}", 0)

    @property
    def adds_up(self) -> bool:
        """Whether what was received is what was written, refused or there before, everywhere."""
        found, fates = self.entities, ("persisted", "deadLettered", "refused", "duplicates")
        return found["received"] + found["replayed"] == sum(found[fate] for fate in fates) and all(
            own["received"] + own["replayed"] == sum(own[fate] for fate in FATES)
            for own in self.items.values()
        )

    @property
    def ingested(self) -> IngestCounts:
        """The counts of all service paths, as they follow from the runs."""
        found = self.entities
        return IngestCounts(
            received=found["received"],
            persisted=found["persisted"],
            duplicates=found["duplicates"],
            dead_lettered=found["deadLettered"] + found["refused"] - found["replayed"],
            items=found["items"],
        )
