"""A snapshot: the rows of a pipeline as of one commit, as relations that queries select from."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from penstock.datastore.kept_rows.columns import KEY, number_columns
from penstock.datastore.kept_rows.conditions import Condition
from penstock.datastore.kept_rows.database import quote_name, quote_text
from penstock.datastore.kept_rows.records import PartKind, RowsPart
from penstock.datastore.records import TimestampForm, ValueType

COMMIT: Final = "_commit"
WITHDRAWN: Final = "_withdrawn"
_FILE: Final = "_file"
NUMBERS: Final = (ValueType.NUMBER, ValueType.TIMESTAMP)


class Snapshot(NamedTuple):
    """Parts up to one commit, and local copies of their files in the same order."""

    parts: Sequence[RowsPart]
    paths: Sequence[Path]

    @property
    def commit(self) -> int:
        return self.parts[-1].commit

    @property
    def types(self) -> Mapping[str, ValueType]:
        return types_of(self.parts)

    @property
    def has_time(self) -> bool:
        return any(one.least is not None for one in self.parts)

    def all_versions(self) -> str:
        """The relation of all versions of all rows, with the commit of each.

        Numbers whose output has another type in some part are missing there.
        """
        files = ", ".join(quote_text(str(path)) for path in dict.fromkeys(self.paths))
        read = f"read_parquet([{files}], union_by_name = true, filename = {quote_text(_FILE)})"
        joined = (
            f"FROM {read} AS files JOIN (VALUES {', '.join(self._places())}) "
            f"AS places({_FILE}, {COMMIT}, {WITHDRAWN}) ON files.{_FILE} = places.{_FILE}"
        )
        if not any(part.merged for part in self.parts):
            return f"(SELECT files.* EXCLUDE ({_FILE}), {COMMIT}, {WITHDRAWN} {joined})"
        own = [f"coalesce(files.{name}, places.{name}) AS {name}" for name in (COMMIT, WITHDRAWN)]
        # A merged file may have commits behind the snapshot, and some that have left.
        first = min(part.commit for part in self.parts if part.merged)
        return (
            f"(SELECT files.* EXCLUDE ({_FILE}, {COMMIT}, {WITHDRAWN}), {', '.join(own)} {joined} "
            f"WHERE coalesce(files.{COMMIT}, {first}) BETWEEN {first} AND {self.commit})"
        )

    def _places(self) -> list[str]:
        """Each file with its commit, and whether it withdraws; null where rows have these."""
        found = []
        for path, part in dict(zip(self.paths, self.parts, strict=True)).items():
            # Merged files have it as a column, whose type other engines are told.
            own = f"CAST({part.commit} AS BIGINT), {part.kind is PartKind.WITHDRAWAL}"
            commit = "CAST(NULL AS BIGINT), CAST(NULL AS BOOLEAN)" if part.merged else own
            found.append(f"({quote_text(str(path))}, {commit})")
        return found

    def latest(self) -> str:
        """The relation of the rows that stand: the latest version of each, if not withdrawn."""
        versions = self.all_versions()
        if len(self.parts) == 1:
            return f"(SELECT * FROM {versions} WHERE NOT {WITHDRAWN})"
        # Few rows have more than one version: only these are joined with their latest.
        several = (
            f"(SELECT {KEY}, max({COMMIT}) AS _newest FROM {versions} GROUP BY {KEY} "
            "HAVING count(*) > 1)"
        )
        return (
            f"(SELECT versions.* FROM {versions} AS versions LEFT JOIN {several} AS several "
            f"ON several.{KEY} = versions.{KEY} "
            f"WHERE (_newest IS NULL OR _newest = {COMMIT}) AND NOT {WITHDRAWN})"
        )

    def latest_where(self, condition: str) -> str:
        """The relation of the rows that stand, of the few for which a condition holds.

        It must hold for all versions of a row, or for none.
        """
        newest = f"{COMMIT} = max({COMMIT}) OVER (PARTITION BY {KEY})"
        versions = f"(SELECT * FROM {self.all_versions()} WHERE {condition} QUALIFY {newest})"
        return f"(SELECT * FROM {versions} WHERE NOT {WITHDRAWN})"

    def file_of(self, commit: int) -> "Snapshot | None":
        """The part of the snapshot that lies in the file of a commit; None without the commit."""
        places = list(zip(self.parts, self.paths, strict=True))
        path = next((path for part, path in places if part.commit == commit), None)
        within = [(part, one) for part, one in places if one == path]
        return Snapshot(*zip(*within, strict=True)) if within else None

    def shows_times(self, output: str) -> bool:
        """Whether the latest part that has an output shows its timestamps as times."""
        latest = next((one for one in reversed(self.parts) if output in one.types), None)
        if latest is None or latest.types[output] is not ValueType.TIMESTAMP:
            return False
        return latest.timestamps is TimestampForm.ISO_8601

    def has_number(self, output: str) -> bool:
        return any(one.types.get(output) in NUMBERS for one in self.parts)


def types_of(parts: Sequence[RowsPart]) -> dict[str, ValueType]:
    """The type of each output, as the latest part that has it says."""
    return {key: type for one in parts for key, type in one.types.items()}


class RowSelection(NamedTuple):
    """Rows of a pipeline: a snapshot, and conditions that all of them fulfil."""

    pipeline: str
    snapshot: Snapshot
    conditions: Sequence[Condition]


def order_of_keys(snapshot: Snapshot) -> list[str]:
    """The expressions by which rows are ordered: the outputs of their keys, then the hash."""
    keys = {key: None for one in snapshot.parts for key in one.key}
    has_all = len({one.key for one in snapshot.parts}) == 1
    found: list[str] = []
    for key in keys:
        *numbers, text = sort_columns(key, is_number=snapshot.has_number(key))
        found += [f"coalesce({name}, 0)" for name in numbers]
        # A text in a key is never null; bare, parts of its column are skipped.
        found.append(text if has_all else f"coalesce({text}, '')")
    return [*found, KEY]


def sort_columns(output: str, *, is_number: bool) -> list[str]:
    """The columns by which rows are in the order of an output, its text last."""
    return [*(number_columns(output).all if is_number else ()), quote_name(output)]
