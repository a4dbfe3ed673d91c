"""`penstock doctor`: good findings, bad findings, and advice."""

import os
import shutil
import sqlite3
from collections import namedtuple
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from penstock.datastore.clock import Clock, iso_timestamp
from penstock.datastore.manifest.records import ManifestName, RunName, Stage
from penstock.datastore.manifest.retry_rules import RetryRules
from penstock.datastore.manifest.runs import Discovery
from penstock.datastore.manifest.transitions import Claim, Fail, Skip
from penstock.datastore.objects.directory import LocalFiles
from penstock.datastore.objects.s3 import CorsRule, S3Files
from penstock.datastore.roles import ROOT, Caller, Role
from penstock.datastore.sqlite.table import SqliteTable
from penstock.datastore.store import Store
from penstock.datastore.table.layout import JOB, PIPELINE, SCHEMA_MARKER
from penstock.datastore.table.port import Put, Update
from penstock.datastore.table.schema_marker import THIS_RELEASE
from penstock.resolvers.findings import Severity
from penstock.schema.core.relay import GlobalId
from penstock.server.command_line import run
from penstock.server.commands import doctor
from penstock.server.commands.checks.bucket import judge_cors
from penstock.server.commands.checks.embedded_store import judge_free_space
from penstock.server.core.command_output import CommandFailed
from penstock.server.core.progress_bars import show_progress
from penstock.server.runtime.run_server import prepare_store
from penstock.server.settings.settings import Settings
from tests.datastore.executions.sample_executions import (
    begin_execution,
    plant_pipeline,
    ready_execution,
)
from tests.server.auth.fake_issuer import open_issuer
from tests.server.auth.signed_tokens import ec_key
from tests.server.commands.doctor_report import TOMBSTONE, examine, isolate
from tests.support.sample_resources import USA, create_groups, make
from tests.support.stores import REGION, moto_endpoint

LATER = THIS_RELEASE.schema + 1
Usage = namedtuple("Usage", "total used free")


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with isolate(tmp_path, monkeypatch):
        yield


async def test_nothing_is_wrong_before_the_first_start_and_nothing_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = await examine(capsys)
    assert (report.code, report.data["ok"]) == (0, True)
    assert report.levels == dict.fromkeys(
        ("variables", "data directory", "space", "table", "bucket", "issuer"), "ok"
    )
    assert os.listdir(tmp_path) == []


async def test_the_embedded_store_is_examined_with_its_unfinished_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = SqliteTable.open(tmp_path / "penstock.db")
    await table.create()
    report = await examine(capsys, "--data-dir", str(tmp_path))
    assert (report.code, report.levels["table"], report.levels["deletes"]) == (0, "ok", "ok")
    await table.write([Put(TOMBSTONE)])
    report = await examine(capsys, "--data-dir", str(tmp_path))
    assert (report.code, report.levels["deletes"]) == (0, "warn")
    assert report["deletes"].startswith("1 delete or large write is not finished.")
    await table.close()


async def test_jobs_that_nobody_works_on_are_noticed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = SqliteTable.open(tmp_path / "penstock.db")
    await table.create()
    clock = Clock()

    async def jobs_of(begun: timedelta, held: timedelta | None) -> str:
        now = datetime.now(UTC)
        times = {"createdAt": iso_timestamp(now - begun)}
        if held is not None:
            times["heldUntil"] = iso_timestamp(now + held)
        await table.write([Put({**JOB.item(id=clock.new_id()), **times})])
        return (await examine(capsys, "--data-dir", str(tmp_path)))["jobs"]

    hours = timedelta(hours=2)
    assert await jobs_of(timedelta(), None) == "No job waits for a server."
    assert await jobs_of(hours, hours) == "No job waits for a server."
    assert (await jobs_of(hours, -hours)).startswith("1 job waits for a server.")
    assert (await jobs_of(hours, None)).startswith("2 jobs wait for a server.")
    await table.close()


async def test_executions_that_no_worker_takes_are_noticed_with_the_way_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ago = datetime.now(UTC) - timedelta(minutes=10)
    files = await LocalFiles.open(tmp_path / "files", base_url="http://x", key=b"k" * 32)
    table = SqliteTable.open(tmp_path / "penstock.db")
    await table.create()
    store = Store(table, Clock(now=lambda: ago), files=files)

    async def executions() -> str:
        return (await examine(capsys, "--data-dir", str(tmp_path)))["executions"]

    pipeline = await plant_pipeline(store)
    await begin_execution(store, pipeline)
    assert await executions() == "No execution waits for a worker."
    made = await ready_execution(store, pipeline)
    report = await examine(capsys, "--data-dir", str(tmp_path))
    assert (report.code, report.levels["executions"]) == (0, "warn")
    assert report["executions"] == (
        f"1 execution waits for a worker: {GlobalId('Execution', made.id).encode()}. Start a "
        "server "
        "or `penstock worker`: either takes them up, and nothing is lost. `cancelExecution` ends "
        "one that is not wanted any more."
    )
    await store.execution_worker("w").run_all()
    assert await executions() == "No execution waits for a worker."
    await table.close()
    await files.close()


async def test_runs_that_got_stuck_are_noticed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = SqliteTable.open(tmp_path / "penstock.db")
    await table.create()
    ago = datetime.now(UTC) - timedelta(hours=2)
    session = Store(table, Clock(now=lambda: ago)).open_session(Caller("ann", {ROOT: Role.ADMIN}))

    async def runs() -> str:
        return (await examine(capsys, "--data-dir", str(tmp_path)))["runs"]

    assert await runs() == "No run got stuck."
    for name in ("web", "mobile"):
        found = Discovery(run_id="run=1/", added_by="t")
        await session.runs.discover(ManifestName(ROOT, name), found)
    assert await runs() == (
        "1 run got stuck in mobile of /, and others in 1 more. `penstock manifest list --manifest "
        "mobile --group / --stale` shows them; then claim or recover them."
    )
    await table.close()


async def test_runs_that_were_given_up_are_noticed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = SqliteTable.open(tmp_path / "penstock.db")
    await table.create()
    session = Store(table).open_session(Caller("ann", {ROOT: Role.ADMIN}))

    async def runs() -> str:
        return (await examine(capsys, "--data-dir", str(tmp_path)))["given-up runs"]

    name = RunName(ManifestName(ROOT, "web"), "run=1/")
    await session.runs.discover(name.manifest, Discovery(run_id="run=1/", added_by="t"))
    await session.manifests.set_retries(name.manifest, RetryRules(max_attempts=1))
    await session.runs.change(name, Claim(stage=Stage.TRANSFORM, owner="w"))
    assert await runs() == "No run was given up."
    await session.runs.change(name, Fail(fence=1, error="disk full"))
    assert await runs() == (
        "1 run was given up in web of /. `penstock manifest list --manifest web --group / "
        "--state given_up` shows why; `penstock manifest retry` lets workers try one again."
    )
    await session.runs.change(name, Skip(reason="the disk is lost"))
    assert await runs() == "No run was given up."
    await table.close()


async def test_a_file_that_is_no_store_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    connection = sqlite3.connect(tmp_path / "penstock.db")
    connection.execute("CREATE TABLE other (x)")
    connection.close()
    report = await examine(capsys, "--data-dir", str(tmp_path))
    assert (report.code, report.levels["table"]) == (3, "fail")
    assert "deletes" not in report.levels


async def test_a_file_that_is_no_database_fails_and_the_other_checks_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "penstock.db").write_bytes(b"no database" * 1_000)
    report = await examine(capsys, "--data-dir", str(tmp_path))
    assert (report.code, report.levels["table"]) == (3, "fail")
    assert "The table's file is no database. Restore the file" in report["table"]
    assert report.levels["issuer"] == "ok"


async def test_damaged_pages_fail(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "penstock.db"
    table = SqliteTable.open(path)
    await table.create()
    await table.write([Put({"pk": "a", "sk": f"{n}", "text": "x" * 7_000}) for n in range(25)])
    await table.close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with path.open("r+b") as file:
        file.seek(6 * 8192)
        file.write(b"\xff" * 8192)
    report = await examine(capsys, "--data-dir", str(tmp_path))
    assert (report.code, report.levels["table"]) == (3, "fail")
    assert "page" in report["table"]


async def test_what_nobody_foresaw_fails_and_the_other_checks_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Path) -> None:
        raise RuntimeError("nobody foresaw it")

    monkeypatch.setattr("penstock.server.commands.checks.embedded_store.shutil.disk_usage", fail)
    report = await examine(capsys, "--data-dir", str(tmp_path))
    assert (report.code, report.levels["embedded"]) == (3, "fail")
    assert "RuntimeError: nobody foresaw it" in report["embedded"]
    assert report.levels["issuer"] == "ok"


async def test_a_directory_that_cannot_be_written_fails(capsys: pytest.CaptureFixture[str]) -> None:
    report = await examine(capsys, "--data-dir", "/proc")
    assert (report.code, report.levels["data directory"]) == (3, "fail")
    assert "choose another PENSTOCK_DATA_DIR" in report["data directory"]


@pytest.mark.parametrize(
    ("free", "level"),
    [
        (2**30, Severity.OK),
        (2**30 - 1, Severity.WARN),
        (100 * 2**20, Severity.WARN),
        (100 * 2**20 - 1, Severity.FAIL),
    ],
)
def test_scarce_room_is_told_before_it_is_gone(free: int, level: Severity) -> None:
    assert judge_free_space(free).level is level


async def test_a_full_disk_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10, 10, 0))
    report = await examine(capsys)
    assert (report.code, report["space"].startswith("0 MiB are free.")) == (3, True)


async def test_a_bucket_is_examined_with_its_cors(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name = f"penstock-{uuid4()}"
    monkeypatch.setenv("PENSTOCK_BUCKET", name)
    monkeypatch.setenv("PENSTOCK_REGION", REGION)
    monkeypatch.setenv("PENSTOCK_S3_ENDPOINT_URL", moto_endpoint())
    monkeypatch.setenv("PENSTOCK_ALLOWED_ORIGINS", "https://app.example.org")
    report = await examine(capsys)
    assert (report.code, report.levels["bucket"]) == (3, "fail")
    assert report["bucket"].startswith(f"There is no bucket {name}.")
    files = await S3Files.open(name, region=REGION, endpoint_url=moto_endpoint())
    await files._client.create_bucket(Bucket=name)
    report = await examine(capsys)
    assert (report.code, report.levels["cors"]) == (0, "warn")
    rule = {"AllowedOrigins": ["https://*.example.org"], "AllowedMethods": ["GET", "POST"]}
    await files._client.put_bucket_cors(Bucket=name, CORSConfiguration={"CORSRules": [rule]})
    report = await examine(capsys)
    assert (report.code, report.levels["bucket"], report.levels["cors"]) == (0, "ok", "ok")
    await files.close()


ANY = CorsRule(("*",), ("GET", "POST", "PUT"))


@pytest.mark.parametrize(
    ("rules", "origins", "level"),
    [
        ([], [], Severity.WARN),
        ([ANY], [], Severity.OK),
        ([ANY], ["https://a.example"], Severity.OK),
        ([CorsRule(("https://a.example",), ("GET",))], ["https://a.example"], Severity.WARN),
        ([CorsRule(("https://b.example",), ("GET", "POST"))], ["https://a.example"], Severity.WARN),
        (
            [CorsRule(("https://a.example",), ("GET",)), CorsRule(("*",), ("POST",))],
            ["https://a.example"],
            Severity.OK,
        ),
    ],
)
def test_every_allowed_origin_must_be_able_to_down_and_upload(
    rules: list[CorsRule], origins: list[str], level: Severity
) -> None:
    assert judge_cors(rules, origins).level is level


async def test_an_issuer_is_asked_for_its_keys(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async with open_issuer() as issuer:
        monkeypatch.setenv("PENSTOCK_ISSUER", issuer.url)
        monkeypatch.setenv("PENSTOCK_AUDIENCE", "penstock")
        issuer.keys = [ec_key("one")]
        report = await examine(capsys)
        assert (report.code, report["keys"]) == (0, "1 of the issuer's 1 key can be used.")
        monkeypatch.setenv("PENSTOCK_ALGORITHMS", "RS256")
        report = await examine(capsys)
        assert (report.code, report.levels["keys"]) == (3, "fail")
        monkeypatch.setenv("PENSTOCK_JWKS_URL", f"{issuer.url}/jwks?sig=s3cret")
        report = await examine(capsys)
        assert report["issuer"] == f"Its keys are at {issuer.url}/jwks?(hidden)."
        issuer.jwks_status = 403
        report = await examine(capsys)
        assert report["issuer"].startswith(f"{issuer.url}/jwks?(hidden) answered 403. Check ")
        monkeypatch.delenv("PENSTOCK_JWKS_URL")
        issuer.jwks_status = 200
        issuer.configuration["issuer"] = "https://other.example.org"
        report = await examine(capsys)
        assert (report.code, report.levels["issuer"]) == (3, "fail")
        issuer.down = True
        report = await examine(capsys)
        assert (report.code, report.levels["issuer"]) == (3, "fail")


def test_for_people_each_check_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["doctor", "--data-dir", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["ok"] * 6
    assert lines[5] == (
        "ok    issuer              None is set: development tokens are accepted, and no others."
    )


def test_progress_is_shown_while_checks_go_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    steps: list[tuple[str, int | None]] = []

    def note_progress(label: str, total: int | None) -> Any:
        steps.append((label, total))
        return show_progress(label, total)

    monkeypatch.setattr(doctor, "show_progress", note_progress)
    assert run(["doctor", "--data-dir", str(tmp_path)]) == 0
    assert steps == [("Checking", 5)]


async def test_rows_of_an_earlier_release_and_unreadable_ones_are_noticed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = SqliteTable.open(tmp_path / "penstock.db")
    await table.create()
    session = await create_groups(Store(table))
    made = await make(session, USA, "Trips")
    report = await examine(capsys, "--data-dir", str(tmp_path))
    assert (report.code, report.levels["rows"], report.levels["unreadable rows"]) == (
        0,
        "warn",
        "ok",
    )
    assert "`penstock table upgrade` does it while servers go on." in report["rows"]
    await Store(table).upgrade_rows(lambda _step, _page: None)
    key = PIPELINE.latest.key(id=made.id)
    await table.transact([Update(key=key, set={"state": "archived"})])
    report = await examine(capsys, "--data-dir", str(tmp_path))
    assert (report.levels["rows"], report.levels["unreadable rows"]) == ("ok", "warn")
    assert f"1 row cannot be read: {key.pk} {key.sk} (" in report["unreadable rows"]
    await table.close()


async def test_a_table_that_needs_a_newer_release_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = SqliteTable.open(tmp_path / "penstock.db")
    await table.create()
    newer = {"schema": LATER, "minimumReader": LATER, "minimumWriter": LATER}
    await table.transact([Update(key=SCHEMA_MARKER.key(), set=newer)])
    report = await examine(capsys, "--data-dir", str(tmp_path))
    assert (report.code, report.levels["table"]) == (3, "fail")
    assert "too old to read the table" in report.data["checks"][4]["message"]
    await table.close()


async def test_a_server_that_is_too_old_to_write_does_not_start(tmp_path: Path) -> None:
    settings = Settings.load(data_dir=tmp_path, seed=False)
    table = SqliteTable.open(tmp_path / "penstock.db")
    await table.create()
    newer = {"schema": LATER, "minimumReader": 1, "minimumWriter": LATER}
    await table.transact([Update(key=SCHEMA_MARKER.key(), set=newer)])
    await table.close()
    with pytest.raises(CommandFailed, match="too old to write the table"):
        await prepare_store(settings, "http://127.0.0.1:1")


@pytest.mark.parametrize(
    ("settings", "level", "address"),
    [
        ({}, "warn", "http://127.0.0.1:8000"),
        ({"PENSTOCK_PORT": "8001"}, "warn", "http://127.0.0.1:8001"),
        ({"PENSTOCK_PUBLIC_URL": "http://files.example.org"}, "ok", "http://files.example.org"),
    ],
)
async def test_the_address_at_which_a_cluster_reads_files_is_named(
    settings: dict[str, str],
    level: str,
    address: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PENSTOCK_DASK", "tcp://127.0.0.1:8786")
    for name, text in settings.items():
        monkeypatch.setenv(name, text)
    report = await examine(capsys)
    assert (report.code, report.levels["cluster"]) == (0, level)
    assert report["cluster"].startswith(
        f"The machines of tcp://127.0.0.1:8786 read files at {address}."
    )
    assert ("Set PENSTOCK_PUBLIC_URL" in report["cluster"]) == (level == "warn")
