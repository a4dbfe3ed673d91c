"""The files of segments: the events of one, and beside them what else arrived with them.

The second file is written only where something did: entities that were refused, or had arrived
before, or dead letters that are replayed. Then there may be no events, and no file of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

import msgspec

from penstock.datastore.errors import NotFound
from penstock.datastore.ngsi.counts import ServicePathKey
from penstock.datastore.ngsi.events import DamagedLines, LineFiles, SegmentStruct
from penstock.datastore.ngsi.rows import Event

NO_INTAKE: Final[Mapping[str, int]] = MappingProxyType({})

_EVENTS = "ndjson.gz"
_INTAKE = "intake.ndjson.gz"


class Intake(SegmentStruct, frozen=True, array_like=True):
    """The counts of a run that arrived beside the events of a segment.

    `events` is their number, and `places` are the service paths whose counts name the segment.
    """

    events: int
    places: tuple[ServicePathKey, ...]
    counts: dict[str, int]


@dataclass(frozen=True, slots=True)
class SegmentContent:
    """Events that are committed together, and counts of what else arrived at service paths."""

    events: Sequence[Event]
    intake: Mapping[str, int] = field(default_factory=lambda: NO_INTAKE)
    arrived_at: Sequence[ServicePathKey] = ()

    @property
    def places(self) -> list[ServicePathKey]:
        """The service paths whose counts name the segment: those of its events, or all without."""
        found = ((event.service, event.path) for event in self.events)
        return list(dict.fromkeys(found)) or list(self.arrived_at)


@dataclass(frozen=True, slots=True)
class SegmentFiles:
    """Writes and reads the files of segments."""

    lines: LineFiles[Event]

    async def write(self, stem: str, content: SegmentContent) -> None:
        """Write the files of a segment; on return they are durable."""
        # The intake last: a process that dies in between leaves no file that misses another one.
        if content.events:
            await self.lines.write(f"{stem}.{_EVENTS}", content.events)
        if content.intake or not content.events:
            places, counts = tuple(content.places), dict(content.intake)
            intake = Intake(len(content.events), places, counts)
            await self._intakes.write(f"{stem}.{_INTAKE}", [intake])

    async def read(self, stem: str, *, has_intake: bool) -> SegmentContent:
        """Read the files of a segment; raises NotFound, DamagedLines and Unavailable."""
        intake = await self._read_intake(stem) if has_intake else None
        if intake is None:
            return SegmentContent(await self.lines.read(f"{stem}.{_EVENTS}"))
        events = await self.lines.read(f"{stem}.{_EVENTS}") if intake.events else []
        if len(events) != intake.events:
            raise DamagedLines(f"The segment {stem} has another number of events.")
        return SegmentContent(events, intake.counts, intake.places)

    async def _read_intake(self, stem: str) -> Intake | None:
        try:
            found = await self._intakes.read(f"{stem}.{_INTAKE}")
        except NotFound:
            return None
        if len(found) > 1 or not found[0].places:
            raise DamagedLines(f"The file of intake of the segment {stem} is damaged.")
        return found[0]

    @property
    def _intakes(self) -> LineFiles[Intake]:
        return LineFiles(self.lines.files, _DECODER)


_DECODER: Final = msgspec.json.Decoder(Intake)


def stems_of(files: Sequence[str]) -> dict[str, bool]:
    """The files of segments without their endings; True for each that has a file of intake."""
    stems: dict[str, bool] = {}
    for file in files:
        is_intake = file.endswith(f".{_INTAKE}")
        stem = file.removesuffix(f".{_INTAKE if is_intake else _EVENTS}")
        stems[stem] = stems.get(stem, False) or is_intake
    return stems
