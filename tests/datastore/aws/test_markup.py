"""Answers of AWS are bounded in all that takes their parser long."""

from datetime import UTC, datetime

import pytest

from penstock.datastore.aws.markup import (
    MAX_ATTRIBUTE_BYTES,
    MAX_LISTED,
    MAX_MARKUP,
    MAX_PIECES,
    find_excess,
    parse_time,
)

ENTRY = (
    "<Contents>\n<Key>Music.app/Contents/a=b/{}</Key>\n<LastModified>2026-01-01T00:00:00.000Z"
    "</LastModified>\n<ETag>&quot;d41d8cd98f00b204e9800998ecf8427e&quot;</ETag>\n<Size>5</Size>\n"
    "<StorageClass>STANDARD</StorageClass><Owner><ID>a</ID><DisplayName>b</DisplayName></Owner>\n"
    "</Contents>\n"
)
ROOT = '<?xml version="1.0"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'


def test_a_full_page_of_long_names_has_too_much_of_nothing() -> None:
    entries = "".join(ENTRY.format(f"{number:0990}") for number in range(1_000))
    assert find_excess(f"{ROOT}{entries}</ListBucketResult>".encode()) is None


@pytest.mark.parametrize(
    ("most", "excess", "wanted"),
    [
        (b"", b'<!DOCTYPE a [<!ENTITY b "c">]>', "declarations"),
        (b"", "<!DOCTYPE a []>".encode("utf-16"), "bytes of a letter"),
        (b"", "<Contents/>".encode("utf-16-be"), "bytes of a letter"),
        (b"<a/>" * MAX_MARKUP, b"<", "elements"),
        (b"<!---->" * MAX_MARKUP, b"<!---->", "elements"),
        (b"&amp;" * MAX_PIECES, b"&lt;", "pieces of text"),
        (b"\r\n" * (MAX_PIECES // 2), b"\n", "pieces of text"),
        (b"<Contents/>" * MAX_LISTED, b"<Contents >", "keys"),
        (b"<x:Contents>" * MAX_LISTED, b"<y:CommonPrefixes\t>", "keys"),
        (b'<a b="">' * (MAX_ATTRIBUTE_BYTES // 8), b"<a b = ''>", "attributes"),
        (b'<a b=">' + b" c='>'" * 82 + b'"/>', b'<a xmlns:n="b">', "attributes"),
    ],
)
def test_one_more_of_what_takes_long_is_too_much(most: bytes, excess: bytes, wanted: str) -> None:
    assert find_excess(most) is None
    assert find_excess(most + excess) == wanted


@pytest.mark.parametrize(
    "written",
    [
        "2026-01-02T03:04:05.000Z",
        "2026-01-02T03:04:05",
        "20260102T030405Z",
        "Fri, 02 Jan 2026 03:04:05 GMT",
        1767323045,
        1767323045.0,
    ],
)
def test_a_time_of_aws_is_parsed(written: str | float) -> None:
    assert parse_time(written) == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    "written",
    [
        *("", "x", "²", "9" * 30, "2026-13-01", " " * 50, "1." * 100_000),
        "Fri, 02 Jan 2026 03:04:05 GMT" + " " * 30,
        *("Fri, 02 Jan 99999 03:04:05 GMT", "Fri, 02 Jan 2026 03:04:05 +9999"),
        *(float("nan"), float("inf"), 1e300, -1e300),
    ],
)
def test_what_is_no_time_is_refused(written: str | float) -> None:
    with pytest.raises(ValueError, match="no time"):
        parse_time(written)
