"""The identity of the rows that a pipeline keeps: key, time and group, checked for each row."""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from penstock.transform.problems import MAX_MESSAGE, TransformCode, TransformProblem
from penstock.transform.timestamps import is_whole_number

MAX_KEY_VALUE: Final = 256
"""Characters of one value of a key."""

TIMES: Final = range(-62_104_060_800_000, 253_339_228_800_000)
"""The years 2 to 9997, in epoch milliseconds: in every zone they lie in the calendar's years."""

_USUAL_DIGITS: Final = len(str(TIMES.stop)) - 1
"""All whole numbers of so many digits and no sign are among TIMES."""

_ISO_YEARS: Final = ("0002", "9997")

_MOST_GROUPS: Final = 4096
"""The groups of rows that a check remembers."""


def _is_usual(cell: str) -> bool:
    """Whether the epoch milliseconds of a cell lie in the years that kept rows may have."""
    return is_whole_number(cell) is not None and int(cell) in TIMES


def _is_usual_iso(cell: str) -> bool:
    """Whether the time of a cell, if it has one, lies in the years that kept rows may have."""
    first, last = _ISO_YEARS
    return first <= cell[: len(first)] <= last


def _usual_time(cell: str, *, is_iso: bool) -> str:
    """The source of a condition for most times that kept rows may have, in the cell of a name."""
    if is_iso:
        first, last = _ISO_YEARS
        return f"'{first}' <= {cell}[:{len(first)}] <= '{last}'"
    return f"len({cell}) <= {_USUAL_DIGITS} and {cell}.isdecimal() and {cell}.isascii()"


class RowReach(msgspec.Struct, frozen=True):
    """The groups whose rows the creator of an execution may write.

    `owner` says it of the group of the pipeline and of those below it, `below` of groups below that
    for which it is different, and of those below them.
    """

    owner: bool = True
    below: dict[str, bool] = {}

    @property
    def is_whole(self) -> bool:
        """Whether all groups that rows may have are within reach."""
        return self.owner and all(self.below.values())

    def topmost(self, owner: str) -> tuple[str, ...]:
        """The groups whose rows may be written, and those below them, by the topmost of them."""
        if self.owner:
            return (owner,)
        within = (group for group, may_write in self.below.items() if may_write)
        return tuple(one for one in within if not self.includes(one.rpartition("/")[0]))

    def includes(self, group: str) -> bool:
        """Whether rows of the group may be written: the nearest group that is named says it."""
        while group:
            if group in self.below:
                return self.below[group]
            group = group.rpartition("/")[0]
        return self.owner


class RowIdentity(msgspec.Struct, frozen=True):
    """The positions of the outputs that make the key, the time and the group of a row.

    Without a position a row has no time, or belongs to the `owner`, the group of the pipeline; no
    row may belong to a group that is not the owner or below it, or not within reach.
    """

    key: tuple[int, ...]
    time: int | None
    group: int | None
    owner: str
    reach: RowReach = RowReach()


class IdentityCheck:
    """Checks the identity of rows, and writes their groups in one form.

    `parse_group` returns the form in which paths of groups are compared, and raises ValueError for
    a text that is no path. The cells of timestamps are valid ISO 8601 with `iso_timestamps`.
    `usual_groups` are some that rows may belong to, in that form.
    """

    __slots__ = (
        "_below",
        "_identity",
        "_is_iso",
        "_is_whole",
        "_names",
        "_parse_group",
        "usual_groups",
    )

    def __init__(
        self,
        identity: RowIdentity,
        names: Sequence[str],
        parse_group: Callable[[str], str],
        *,
        iso_timestamps: bool = False,
    ) -> None:
        self._is_iso = iso_timestamps
        self._identity = identity
        self._names = names
        self._parse_group = parse_group
        self._below = identity.owner.rstrip("/") + "/"
        self._is_whole = identity.reach.is_whole
        self.usual_groups: set[str] = set()

    def usual_source(self, cells: Sequence[str]) -> str:
        """The source of a condition over cells with these names, for rows that can be kept.

        It leaves out few of them, and takes a quarter of the time of `accepts`.
        """
        rows = self._identity
        found = [f"0 < len({cells[place]}) <= {MAX_KEY_VALUE}" for place in rows.key]
        if rows.time is not None:
            found.append(_usual_time(cells[rows.time], is_iso=self._is_iso))
        if rows.group is not None:
            found.append(f"{cells[rows.group]} in usual_groups")
        return " and ".join(found)

    def accepts(self, cells: list[str]) -> bool:
        """Whether a row of output cells can be kept, as `problem_of` says why not."""
        return self.problem_of(0, cells) is None

    def problem_of(self, row: int, cells: list[str]) -> TransformProblem | None:
        """The reason why a row of output cells cannot be kept; None if it can."""
        for place in self._identity.key:
            if not cells[place]:
                message = "a row that is kept needs a value in each output of its key"
                return self._problem(row, place, TransformCode.ROW_WITHOUT_KEY, message)
            if len(cells[place]) > MAX_KEY_VALUE:
                message = f"a value of a key has at most {MAX_KEY_VALUE} characters"
                return self._problem(row, place, TransformCode.KEY_TOO_LONG, message)
        return self._time_problem(row, cells) or self._group_problem(row, cells)

    def _time_problem(self, row: int, cells: list[str]) -> TransformProblem | None:
        place = self._identity.time
        has_time = _is_usual_iso if self._is_iso else _is_usual
        if place is None or has_time(cells[place]):
            return None
        message = "a row that is kept needs a time in the years 2 to 9997, of whole milliseconds"
        return self._problem(row, place, TransformCode.ROW_WITHOUT_TIME, message)

    def _group_problem(self, row: int, cells: list[str]) -> TransformProblem | None:
        place = self._identity.group
        if place is None:
            return None
        try:
            group = self._parse_group(cells[place])
        except ValueError as error:
            return self._problem(row, place, TransformCode.GROUP_OUT_OF_REACH, str(error))
        if group != self._identity.owner and not group.startswith(self._below):
            message = f"the group of a row is {self._identity.owner} or below it, not {group}"
            return self._problem(row, place, TransformCode.GROUP_OUT_OF_REACH, message)
        if not (self._is_whole or self._identity.reach.includes(group)):
            message = f"the creator of the execution is no contributor at {group}"
            return self._problem(row, place, TransformCode.GROUP_OUT_OF_REACH, message)
        cells[place] = group
        if len(self.usual_groups) < _MOST_GROUPS:
            self.usual_groups.add(group)
        return None

    def _problem(self, row: int, place: int, code: TransformCode, message: str) -> TransformProblem:
        return TransformProblem(row, self._names[place], code, message[:MAX_MESSAGE])
