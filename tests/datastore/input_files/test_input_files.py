"""Inputs that are no CSV: compressed, in UTF-16, of Excel, or Parquet."""

import datetime as dt
import gzip
import io
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import randbytes
from tempfile import gettempdir
from typing import Any, Final

import duckdb
import pytest
from openpyxl import Workbook

from penstock.datastore.access.bucket_payments import FILE_PRICES
from penstock.datastore.access.work import PACKED_BYTES, TRANSITION_UNITS, StoreKind, write_units
from penstock.datastore.executions.files import input_key, output_key, table_key
from penstock.datastore.input_files import conversion_limits, excel, excel_xml
from penstock.datastore.input_files.excel import read_sheet
from penstock.datastore.kept_rows.engine import RowsEngine
from penstock.datastore.records import Pipeline
from penstock.datastore.store import Store
from penstock.transform.problems import InputRefused
from tests.datastore.executions.sample_executions import (
    ANN,
    finished_execution,
    read_content,
    uploaded_execution,
)
from tests.datastore.kept_rows.plants import read_kwh, read_rows
from tests.support.consistency_check import faults
from tests.support.sample_resources import on_sqlite
from tests.support.work_account import Account

LONG = "plant,kwh\n" + "".join(f"plant {n},{n}\n" for n in range(2_000))
TEXT = "plant,kwh\nMühle,1.5\nB,x\nC,3\n"


def excel_file(*rows: tuple[object, ...], title: str = "Data") -> bytes:
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = title
    for row in rows:
        sheet.append(row)
    hidden = book.create_sheet("Hidden", 0)
    hidden.sheet_state = "hidden"
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def parquet_file(sql: str) -> bytes:
    engine = RowsEngine()
    path = engine.folder / "made.parquet"
    duckdb.connect().execute(f"COPY ({sql}) TO '{path}' (FORMAT parquet)")
    return path.read_bytes()


def unreadable_json() -> bytes:
    """A Parquet file whose column of JSON has a byte that begins no character of UTF-8."""
    whole = parquet_file("SELECT '{\"a\":1}'::JSON AS plant, 1 AS kwh")
    return whole.replace(b'{"a":1}', b'{\x80a":1}', 1)


@cache
def excel_data() -> bytes:
    """The same file at each call; an archive tells when it was made."""
    return excel_file(("plant", "kwh"), ("Mühle", 1.5), ("B", "x"), ("C", 3))


def long_title() -> bytes:
    """The same file with a far longer name of its sheet than Excel allows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return excel_file(
            ("plant", "kwh"), ("Mühle", 1.5), ("B", "x"), ("C", 3), title="n" * 70_000
        )


PARQUET = "SELECT * FROM (VALUES ('Mühle', '1.5'), ('B', 'x'), ('C', '3')) t(plant, kwh)"


@pytest.mark.parametrize(
    ("make", "read_as"),
    [
        (lambda: gzip.compress(TEXT.encode()), "gzip, UTF-8, separated by commas"),
        (lambda: gzip.compress(TEXT.encode("cp1252")), "gzip, Windows-1252, separated by commas"),
        (lambda: gzip.compress(TEXT.encode("utf-16")), "gzip, UTF-16, separated by commas"),
        (lambda: TEXT.replace(",", ";").encode("utf-16"), "UTF-16, separated by semicolons"),
        (lambda: TEXT.replace(",", "\t").encode("utf-16-le"), "UTF-16, separated by tabs"),
        (lambda: b"\xfe\xff" + TEXT.encode("utf-16-be"), "UTF-16, separated by commas"),
        (excel_data, "Excel, the sheet 'Data'"),
        (long_title, f"Excel, the sheet {'n' * 31!r}"),
        (lambda: parquet_file(PARQUET), "Parquet"),
    ],
    ids=[
        "gzip",
        "gzip 1252",
        "gzip 16",
        "UTF-16",
        "UTF-16 LE",
        "UTF-16 BE",
        "Excel",
        "title",
        "Parquet",
    ],
)
@on_sqlite
async def test_a_file_of_another_kind_gives_the_rows_that_its_csv_gives(
    store: Store, pipeline: Pipeline, make: Callable[[], bytes], read_as: str
) -> None:
    data = make()
    over = await finished_execution(store, pipeline, data)
    assert (over.state, over.message) == ("success", None)
    assert (over.succeeded, over.failed, over.read_as) == (2, 1, read_as)
    assert await read_kwh(store, pipeline) == {"Mühle": "1.5", "C": "3"}
    assert await read_content(store.files, input_key(over)) == data
    assert over.bytes_read == over.table_bytes
    row = next(row for row in await read_rows(store, pipeline) if row.key == ("C",))
    explained = await store.open_session(ANN).executions.explaining.one(row)
    assert (explained.input.number, explained.input.entries) == (3, {"plant": "C", "kwh": "3"})
    assert await faults(store.table) == []


async def test_both_stores_keep_and_count_what_was_made_of_an_input(
    store: Store, pipeline: Pipeline
) -> None:
    over = await finished_execution(store, pipeline, excel_data())
    table = await read_content(store.files, table_key(over))
    assert table == "plant,kwh\r\nMühle,1.5\r\nB,x\r\nC,3\r\n".encode()
    assert over.counted_bytes == len(excel_data()) + len(table) + (over.result_bytes or 0)
    assert await faults(store.table) == []


def archive(**parts: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as written:
        for name, content in parts.items():
            written.writestr(name, content)
    return file.getvalue()


LONG_NUMBER = (
    b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
    b"<row><c><v>" + b"9" * 5_000 + b"</v></c></row></sheetData></worksheet>"
)
"""A sheet with a number of which Python says how to let it have more digits."""


def with_sheet(xml: bytes) -> bytes:
    """An Excel file with another sheet's XML."""
    file = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(excel_data())) as read,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as written,
    ):
        for one in read.infolist():
            is_sheet = one.filename.startswith("xl/worksheets/sheet")
            written.writestr(one.filename, xml if is_sheet else read.read(one))
    return file.getvalue()


def with_rows(rows: bytes) -> bytes:
    """An Excel file with these rows in its sheet."""
    return with_sheet(b"<worksheet><sheetData>" + rows + b"</sheetData></worksheet>")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: gzip.compress(TEXT.encode())[:-9], "it is no whole gzip file"),
        (lambda: gzip.compress(excel_data()), "it is Excel in gzip; send it without gzip"),
        (lambda: gzip.compress(gzip.compress(b"a")), "it is gzip in gzip"),
        (lambda: excel_data()[:-60], "it is no whole Excel file"),
        (lambda: archive(a=b"1"), "it is no whole Excel file"),
        (lambda: b"PAR1 and nothing", "it is no whole Parquet file"),
        (unreadable_json, "it is no whole Parquet file"),
        (lambda: b"\xd0\xcf\x11\xe0 old", "it is of an old Excel"),
        (lambda: with_sheet(b"<worksheet><sheetData><row>"), "breaks at line 1, column 27 of a"),
        (lambda: with_sheet(LONG_NUMBER), "it is no whole Excel file"),
        (lambda: b"PK\3\4", "it is no whole Excel file"),
        (lambda: with_rows(b'<row r="5"/><row r="2"/>'), "row 2 stands behind row 5"),
        (lambda: with_rows(b'<row r="5"/><row r="5"/>'), "row 5 stands behind row 5"),
        (lambda: with_rows(b'<row r="1"/><row r="0"/>'), "row 0 stands behind row 1"),
        (lambda: with_rows(b'<row r="x"/>'), "row x stands behind row 0"),
        (lambda: with_rows(b'<row><c r="B1"/><c r="A1"/></row>'), "cell A1 is not in the order"),
        (lambda: with_rows(b'<row><c r="A1"/><c r="A1"/></row>'), "cell A1 is not in the order"),
        (lambda: with_rows(b'<row><c r="1"/></row>'), "cell 1 is not in the order"),
    ],
    ids=[
        *("cut", "excel", "twice", "cut excel", "zip", "parquet", "json", "xls", "sheet", "number"),
        *("head", "row back", "row again", "row 0", "no row", "cell back", "cell again", "no cell"),
    ],
)
@on_sqlite
async def test_a_file_that_cannot_be_read_fails_and_says_why(
    store: Store, pipeline: Pipeline, make: Callable[[], bytes], words: str
) -> None:
    over = await finished_execution(store, pipeline, make())
    assert (over.state, over.code, over.rows) == ("failed", "UNREADABLE_FILE", 0)
    assert words in str(over.message)
    words_of_libraries = ("SELECT", "sys.", "File is not", "Bad ", "element", gettempdir())
    assert not [told for told in words_of_libraries if told in str(over.message)]
    assert await read_content(store.files, table_key(over)) is None
    assert await read_content(store.files, output_key(over)) is None
    assert await read_kwh(store, pipeline) == {}


@on_sqlite
async def test_parquet_may_have_very_many_columns(store: Store, pipeline: Pipeline) -> None:
    columns = ", ".join(f"{n} AS c{n}" for n in range(1_200))
    over = await finished_execution(store, pipeline, parquet_file(f"SELECT {columns}"))
    assert (over.state, over.code) == ("failed", "UNKNOWN_COLUMN")
    assert (await read_content(store.files, table_key(over)) or b"").endswith(b",1198,1199\r\n")


@pytest.mark.parametrize("data", [b"\xff\xfea\0\n", b"\xff\xfe\0\0a\0\0\0"], ids=["half", "UTF-32"])
@on_sqlite
async def test_wide_text_that_is_no_utf16_fails(
    store: Store, pipeline: Pipeline, data: bytes
) -> None:
    over = await finished_execution(store, pipeline, data)
    assert (over.state, over.code) == ("failed", "INVALID_ENCODING")


@pytest.mark.parametrize(
    "make",
    [
        lambda: gzip.compress(b"plant,kwh\n" + b"a,1\n" * 5_000_000),
        lambda: parquet_file("SELECT 'a' AS plant, 1 AS kwh FROM range(5000000)"),
    ],
    ids=["gzip", "Parquet"],
)
@on_sqlite
async def test_a_small_file_that_unpacks_to_more_than_an_upload_fails(
    store: Store, pipeline: Pipeline, make: Callable[[], bytes]
) -> None:
    data = make()
    most = 1024 * 1024
    assert len(data) < most
    narrow = replace(store, execution_rules=replace(store.execution_rules, max_bytes=most))
    over = await finished_execution(narrow, pipeline, data)
    assert (over.state, over.code) == ("failed", "INPUT_TOO_LARGE")
    assert await read_content(store.files, table_key(over)) is None


@pytest.mark.parametrize(
    "make",
    [
        lambda: gzip.compress(b"plant,kwh\n" + b"a,1\n" * 500_000),
        lambda: parquet_file("SELECT 'a' AS plant, 1 AS kwh FROM range(500000)"),
    ],
    ids=["gzip", "Parquet"],
)
@on_sqlite
async def test_a_file_that_unpacks_far_beyond_what_people_send_fails(
    store: Store, pipeline: Pipeline, make: Callable[[], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversion_limits, "FREE_BYTES", 0)
    over = await finished_execution(store, pipeline, make())
    assert (over.state, over.code) == ("failed", "INPUT_TOO_LARGE")
    assert await read_content(store.files, table_key(over)) is None
    assert await read_kwh(store, pipeline) == {}


@pytest.mark.parametrize(
    ("make", "is_paid"),
    [
        (lambda: gzip.compress(LONG.encode(), 0), True),
        (lambda: LONG.encode("utf-16"), True),
        (lambda: excel_file(*([("plant", "kwh")] + [(f"p{n}", n) for n in range(3_000)])), True),
        (lambda: parquet_file("SELECT uuid() AS plant, random() AS kwh FROM range(3000)"), True),
        (LONG.encode, False),
    ],
    ids=["gzip", "UTF-16", "Excel", "Parquet", "CSV"],
)
@on_sqlite
async def test_who_sends_a_file_of_another_kind_pays_for_making_it_csv(
    store: Store, pipeline: Pipeline, make: Callable[[], bytes], is_paid: bool
) -> None:
    data, account = make(), Account()
    made = await uploaded_execution(store, pipeline, data)
    session = store.open_session(ANN, account)
    await session.executions.uploads.confirm(made.id)
    assert len(data) > 5 * PACKED_BYTES
    prices = FILE_PRICES[StoreKind.EMBEDDED]
    calls = 2 * prices.change + 2 * prices.look
    owed = write_units(session.units.written) + TRANSITION_UNITS + calls
    owed += len(data) // PACKED_BYTES if is_paid else 0
    assert account.owed == owed
    await session.executions.uploads.confirm(made.id)
    assert account.owed == owed + 2 * prices.change


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def sheet_text(path: Path) -> str:
    return b"".join(read_sheet(path)[1]).decode()


def test_cells_are_plain_numbers_iso_times_and_lower_case_booleans(tmp_path: Path) -> None:
    cells = (
        0.1 + 0.2,
        1e-7,
        12345678901234567890,
        True,
        dt.datetime(2026, 1, 31),
        dt.datetime(2026, 1, 31, 10, 30),
        None,
        'a "b"',
    )
    data = excel_file(("a", "b", "c", "d", "e", "f", "g", "h"), cells, ("x",), (), ("y",))
    assert sheet_text(write(tmp_path / "a.xlsx", data)) == (
        "a,b,c,d,e,f,g,h\r\n"
        "0.3,0.0000001,12345678901234570000,true,2026-01-31,"
        '2026-01-31T10:30:00,,"a ""b"""\r\n'
        "x,,,,,,,\r\n\r\ny,,,,,,,\r\n"
    )


def test_elapsed_times_are_those_of_iso_8601(tmp_path: Path) -> None:
    seconds = (0, 90.5, 30 * 60 + 20, 36 * 3600, 10_000_000)
    data = excel_file(*[(dt.timedelta(seconds=one),) for one in seconds])
    lines = ["PT0S", "PT1M30.5S", "PT30M20S", "PT36H", "PT2777H46M40S"]
    assert sheet_text(write(tmp_path / "a.xlsx", data)).split() == lines


def test_a_date_that_cannot_be_is_an_error_of_its_cell_and_no_line_of_the_log(
    tmp_path: Path,
) -> None:
    data = excel_file(("a", "b"), (dt.datetime(2026, 1, 31), "x"))
    with zipfile.ZipFile(io.BytesIO(data)) as read:
        parts = {name: read.read(name) for name in read.namelist()}
    for name, content in parts.items():
        parts[name] = content.replace(b"<v>46053</v>", b"<v>99999999999</v>")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        text = sheet_text(write(tmp_path / "a.xlsx", archive(**parts)))
    assert (text, seen) == ("a,b\r\n#VALUE!,x\r\n", [])


@pytest.mark.parametrize(
    "xml",
    [
        b"<worksheet><sheetData><row>" + b"<c/>" * 2_000 + b"</row></sheetData></worksheet>",
        b"<worksheet><sheetData>" + b"<row/>" * 200 + b"</sheetData></worksheet>",
        b"<a>" * 100 + b"</a>" * 100,
        b"<!DOCTYPE worksheet><worksheet/>",
    ],
    ids=["long row", "many rows", "deep", "declaration"],
)
def test_a_sheet_that_would_take_memory_is_refused(
    tmp_path: Path, xml: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(excel_xml, "ROW_BYTES", 1_000)
    monkeypatch.setattr(excel_xml, "MOST_ROWS", 100)
    with pytest.raises(InputRefused, match="it is no whole Excel file"):
        read_sheet(write(tmp_path / "a.xlsx", with_sheet(xml)))


def test_a_gap_of_rows_is_no_endless_sheet(tmp_path: Path) -> None:
    xml = (
        b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
        b'<row r="1"><c t="inlineStr"><is><t>a</t></is></c></row><row r="99999999999"/>'
        b"</sheetData></worksheet>"
    )
    with pytest.raises(InputRefused, match="more than 1048576 rows"):
        sheet_text(write(tmp_path / "a.xlsx", with_sheet(xml)))


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("HEAD_BYTES", 100, "its other parts have more than 100 bytes"),
        ("TEXTS_BYTES", 100, "its shared texts have more than 100 bytes"),
        ("SHEETS_BYTES", 100, "its sheets have more than 100 bytes"),
    ],
)
def test_parts_that_are_held_in_memory_are_bounded_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: int, words: str
) -> None:
    monkeypatch.setattr(excel, name, value)
    path = write(tmp_path / "a.xlsx", excel_data())
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("xl/sharedStrings.xml", b"<sst>" + b"<si/>" * 100 + b"</sst>")
    with pytest.raises(InputRefused, match=words):
        read_sheet(path)


@pytest.mark.parametrize("element", ["xf", "font", "fill", "border", "numFmt", "dxf"])
@pytest.mark.parametrize("part", ["xl/styles.xml", "xl/theme/theme1.xml"])
def test_short_elements_from_which_objects_are_made_are_counted(
    tmp_path: Path, part: str, element: str
) -> None:
    path = tmp_path / "a.xlsx"
    many = f"<x>{f'<{element}/>' * (excel_xml.HEAD_ELEMENTS + 1)}</x>"
    with (
        zipfile.ZipFile(io.BytesIO(excel_data())) as whole,
        zipfile.ZipFile(tmp_path / "a.xlsx", "w") as archive,
    ):
        for one in whole.namelist():
            archive.writestr(one, many if one == part else whole.read(one))
    with pytest.raises(InputRefused, match="have over 50000 elements"):
        read_sheet(path)


def test_a_sheet_that_unpacks_far_beyond_what_people_write_is_refused(tmp_path: Path) -> None:
    rows = b"<row>" + b"<c/>" * 10_000 + b"</row>"
    path = tmp_path / "a.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        with zipfile.ZipFile(io.BytesIO(excel_data())) as whole:
            for one in whole.namelist():
                archive.writestr(one, whole.read(one))
        archive.writestr("xl/worksheets/sheet9.xml", b"<sheetData>" + rows * 200 + b"</sheetData>")
    with pytest.raises(InputRefused, match="over 400 bytes to one packed byte"):
        read_sheet(path)


@on_sqlite
async def test_a_row_of_parquet_that_is_too_long_is_refused_before_it_is_fetched(
    store: Store, pipeline: Pipeline
) -> None:
    long = parquet_file("SELECT repeat('x', 70000) AS plant, '1' AS kwh FROM range(100)")
    over = await finished_execution(store, pipeline, long)
    assert (over.state, over.code) == ("failed", "UNREADABLE_FILE")
    assert "a row has more than 65536 bytes" in (over.message or "")
    short = parquet_file("SELECT repeat('x', 200) AS plant, '1' AS kwh")
    assert (await finished_execution(store, pipeline, short)).state == "success"


def test_long_rows_of_a_sheet_are_written_before_many_of_them_are_held(tmp_path: Path) -> None:
    long = excel_file(*[(randbytes(15_000).hex(), n) for n in range(120)])
    pieces = list(read_sheet(write(tmp_path / "a.xlsx", long))[1])
    assert len(b"".join(pieces).splitlines()) == 120
    assert max(map(len, pieces)) <= excel.BATCH_CHARACTERS + 30_100


def test_a_sheet_under_another_name_is_looked_at_as_well(tmp_path: Path) -> None:
    path = write(tmp_path / "a.xlsx", excel_data())
    with zipfile.ZipFile(path, "a") as archive:
        xml = "<sheetData>" + "<c/>" * (excel_xml.HEAD_ELEMENTS + 1) + "</sheetData>"
        archive.writestr("xl/elsewhere/sheet.bin", "\ufeff" + xml)
    with pytest.raises(InputRefused, match="have over 50000 elements"):
        read_sheet(path)


def with_more(data: bytes, name: str, more: bytes) -> bytes:
    """Let a part of an archive go on, and say that it has the size and the sum that it had."""
    archive = zipfile.ZipFile(io.BytesIO(data))
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as other:
        for one in archive.namelist():
            other.writestr(one, archive.read(one) + (more if one == name else b""))
    raw, part = bytearray(made.getvalue()), other.getinfo(name)
    # The list of the parts is last, so that the other entry of the name is that of the part.
    listed = raw.rindex(name.encode()) - 46
    for at in (part.header_offset + 14, listed + 16):
        struct.pack_into("<I", raw, at, zlib.crc32(archive.read(name)))
        struct.pack_into("<I", raw, at + 8, len(archive.read(name)))
    return bytes(raw)


@pytest.mark.parametrize(
    "name", ["xl/workbook.xml", "xl/styles.xml", "xl/worksheets/sheet1.xml", "docProps/core.xml"]
)
def test_a_part_that_unpacks_to_more_than_it_says_is_refused(name: str, tmp_path: Path) -> None:
    whole = write(tmp_path / "a.xlsx", with_more(excel_data(), name, b""))
    assert sheet_text(whole) == sheet_text(write(tmp_path / "b.xlsx", excel_data()))
    path = write(tmp_path / "c.xlsx", with_more(excel_data(), name, b" "))
    with pytest.raises(InputRefused, match="a part of it has more bytes than it says"):
        read_sheet(path)


@pytest.mark.parametrize("packing", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_part_that_unpacks_in_pieces_without_bounds_is_refused(
    packing: int, tmp_path: Path
) -> None:
    path = write(tmp_path / "a.xlsx", excel_data())
    with zipfile.ZipFile(path, "a", packing) as archive:
        archive.writestr("xl/media/picture.png", b"")
    with pytest.raises(InputRefused, match="packed as no program packs it"):
        read_sheet(path)


def test_a_part_that_is_no_sheet_has_a_size_that_memory_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "a.xlsx", excel_data())
    monkeypatch.setattr(excel, "FILE_BYTES", 20_000)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/media/picture.png", b"-" * 20_001)
    with pytest.raises(InputRefused, match="a part of it has more than 20000 bytes"):
        read_sheet(path)


def test_blanks_before_the_xml_of_a_part_hide_none_of_it(tmp_path: Path) -> None:
    path = write(tmp_path / "a.xlsx", excel_data())
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        xml = "<styleSheet>" + "<c/>" * (excel_xml.HEAD_ELEMENTS + 1) + "</styleSheet>"
        archive.writestr("xl/elsewhere/style.bin", " " * 70_000 + xml)
    with pytest.raises(InputRefused, match="have over 50000 elements"):
        read_sheet(path)


SHEET_TYPE: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"


@pytest.mark.parametrize(
    ("bound", "said"),
    [
        ("TEXTS_BYTES", SHEET_TYPE.replace("worksheet", "sharedStrings")),
        ("HEAD_BYTES", SHEET_TYPE.replace("worksheet", "sheet.main")),
    ],
)
def test_a_sheet_that_is_said_to_be_something_else_is_not_read_whole(
    bound: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = zipfile.ZipFile(io.BytesIO(excel_data()))
    path, large = tmp_path / "a.xlsx", "xl/worksheets/large.xml"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as other:
        for name in archive.namelist():
            text = archive.read(name).decode()
            if name == "[Content_Types].xml":
                kept = [one for one in text.split("<Override ") if said not in one]
                more = f'PartName="/{large}" ContentType="{said}" /></Types>'
                text = "<Override ".join([*kept, more]).replace("</Types><Override", "<Override")
            other.writestr(name, text)
        rows = "".join(f'<row r="{n}"/>' for n in range(1, 3_000))
        other.writestr(large, f"<worksheet>{rows}</worksheet>")
    opened: list[str] = []
    open_part = zipfile.ZipFile.open

    def note(self: zipfile.ZipFile, name: Any, *more: Any, **options: Any) -> Any:
        opened.append(name if isinstance(name, str) else name.filename)
        return open_part(self, name, *more, **options)

    assert getattr(excel, bound) > len(rows)
    monkeypatch.setattr(excel, bound, len(rows))
    monkeypatch.setattr(excel, "_require_bounded", lambda *_: None)
    monkeypatch.setattr(zipfile.ZipFile, "open", note)
    with pytest.raises(InputRefused, match="it is no whole Excel file"):
        read_sheet(path)
    assert large not in opened


@pytest.mark.parametrize(
    ("bound", "most", "texts", "refusal"),
    [
        ("TEXT_ELEMENTS", 10_000, "<si>" + "<r/>" * 10_001 + "</si>", "one of its shared texts"),
        ("TEXTS_ELEMENTS", 2_000_000, "<si/>" * 2_000_001, "its shared texts have over"),
        ("TEXTS_ELEMENTS", 2_000_000, "<a/>" * 2_000_001, "its shared texts have over"),
    ],
)
def test_elements_of_shared_texts_are_counted(
    bound: str, most: int, texts: str, refusal: str, tmp_path: Path
) -> None:
    assert getattr(excel_xml, bound) == most
    path = write(tmp_path / "a.xlsx", excel_data())
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/sharedStrings.xml", f"<sst>{texts}</sst>")
    with pytest.raises(InputRefused, match=f"{refusal}.* {most} elements"):
        read_sheet(path)


def test_elements_of_a_row_are_counted(tmp_path: Path) -> None:
    archive = zipfile.ZipFile(io.BytesIO(excel_data()))

    def rows_of(*elements: int) -> Path:
        cells = ['<c t="inlineStr"><is>' + "<r/>" * each + "</is></c>" for each in elements]
        path = tmp_path / f"{len(elements)}.xlsx"
        with zipfile.ZipFile(path, "w") as other:
            for name in archive.namelist():
                if name != "xl/worksheets/sheet1.xml":
                    other.writestr(name, archive.read(name))
            rows = "".join(f"<row>{cell}</row>" for cell in cells)
            other.writestr("xl/worksheets/sheet1.xml", f"<worksheet>{rows}</worksheet>")
        return path

    assert excel_xml.ROW_ELEMENTS == 200_000
    assert read_sheet(rows_of(100_000, 100_000))[0] == "Data"
    with pytest.raises(InputRefused, match="row 1 has more than 200000 elements"):
        read_sheet(rows_of(200_000))
