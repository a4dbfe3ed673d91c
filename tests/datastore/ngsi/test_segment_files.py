"""The files of a segment are read as they were written, or the segment is damaged."""

from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.datastore.ngsi.counts import ServicePathKey
from penstock.datastore.ngsi.events import DamagedLines, LineFiles
from penstock.datastore.ngsi.rows import Event
from penstock.datastore.ngsi.segments.segment_files import Intake, SegmentContent, SegmentFiles
from penstock.datastore.objects.directory import LocalFiles
from tests.datastore.ngsi.sample_destinations import event
from tests.support.stores import open_local

AT: ServicePathKey = ("vehicles", "/4wheels")
Damage = Callable[[Intake], list[Intake]]


@pytest.fixture
async def files(tmp_path: Path) -> LocalFiles:
    return await open_local(tmp_path)


@pytest.mark.parametrize(
    "damage",
    [
        lambda one: [one, one],
        lambda one: [Intake(one.events + 1, one.places, one.counts)],
        lambda one: [Intake(one.events, (), one.counts)],
    ],
    ids=["two lines", "another number", "no place"],
)
async def test_a_segment_whose_files_do_not_fit_each_other_is_damaged(
    files: LocalFiles, damage: Damage
) -> None:
    segments = SegmentFiles(LineFiles.of(files, Event))
    content = SegmentContent([event("cars")], {"refused": 1}, (AT,))
    await segments.write("run/1", content)
    assert await segments.read("run/1", has_intake=True) == content
    (intake,) = await segments._intakes.read("run/1.intake.ndjson.gz")
    await segments._intakes.write("run/1.intake.ndjson.gz", damage(intake))
    with pytest.raises(DamagedLines):
        await segments.read("run/1", has_intake=True)
