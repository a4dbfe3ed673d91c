import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from weakref import ref
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.formula.core.errors import Fault, FormulaCode
from penstock.formula.core.limits import WorkMeter
from penstock.formula.functions import dates
from penstock.formula.functions.date_parts import date_part, whole_units
from penstock.formula.functions.date_patterns import date_pattern
from penstock.formula.functions.dates import PERIODS, as_timestamp, zone_named
from penstock.formula.functions.locales import DEFAULT
from penstock.formula.functions.plain_dates import MAX_PLAIN, tell_nothing


def moment(text: str, pattern: str, *options: str | None) -> str:
    """Return the instant in UTC; the options are time zone, locale and period."""
    padded = (*options, None, None, None)[:3]
    milliseconds = as_timestamp(WorkMeter(), text, pattern, *padded)
    instant = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=int(milliseconds))
    return instant.isoformat(timespec="milliseconds").replace("+00:00", "Z")


@pytest.mark.parametrize(
    ("text", "pattern", "expected"),
    [
        ("2024", "yyyy", "2024-01-01T00:00:00.000Z"),
        ("5.3.07", "d.M.yy", "2007-03-05T00:00:00.000Z"),
        ("17 May 2024 9:05 pm", "d MMM yyyy h:mm a", "2024-05-17T21:05:00.000Z"),
        ("12 am 2024", "hh a yyyy", "2024-01-01T00:00:00.000Z"),
        ("12 PM 2024", "hh a yyyy", "2024-01-01T12:00:00.000Z"),
        ("Friday, 17 may 2024", "EEEE, d MMMM uuuu", "2024-05-17T00:00:00.000Z"),
        ("20240517T123015.1239Z", "yyyyMMdd'T'HHmmss.SSSSX", "2024-05-17T12:30:15.123Z"),
        ("2024-05-17T12:00-0330", "yyyy-MM-dd'T'HH:mmZ", "2024-05-17T15:30:00.000Z"),
        ("2024-05-17 12:00 Europe/Berlin", "yyyy-MM-dd HH:mm VV", "2024-05-17T10:00:00.000Z"),
        ("2024-05", "yyyy-MM[-dd]", "2024-05-01T00:00:00.000Z"),
        ("2024-05-09", "yyyy-MM[-dd]", "2024-05-09T00:00:00.000Z"),
        ("o'clock 7 2024", "'o''clock' H yyyy", "2024-01-01T07:00:00.000Z"),
        ("1969-12-31T23:59:59.9999Z", "yyyy-MM-dd'T'HH:mm:ss.SSSSX", "1969-12-31T23:59:59.999Z"),
    ],
)
def test_a_pattern_reads_a_time(text: str, pattern: str, expected: str) -> None:
    assert moment(text, pattern) == expected


@pytest.mark.parametrize(
    ("text", "locale"),
    [
        ("17 März 2024", "de"),
        ("17 mars 2024", "fr-CA"),
        ("17 Mar. 2024", "es_MX"),
        ("17 MAR 2024", "en-US"),
    ],
)
def test_names_of_months_are_those_of_the_locale(text: str, locale: str) -> None:
    assert moment(text, "d MMM yyyy", None, locale) == "2024-03-17T00:00:00.000Z"


@pytest.mark.parametrize(
    ("period", "expected"),
    [
        ("day", "2024-05-16T22:00:00.000Z"),
        ("week", "2024-05-12T22:00:00.000Z"),
        ("month", "2024-04-30T22:00:00.000Z"),
        ("quarter", "2024-03-31T22:00:00.000Z"),
        ("YEAR", "2023-12-31T23:00:00.000Z"),
    ],
)
def test_rounding_is_in_the_zone(period: str, expected: str) -> None:
    zoned = moment("2024-05-17 15:00", "yyyy-MM-dd HH:mm", "Europe/Berlin", None, period)

    assert zoned == expected


def test_the_week_starts_as_the_locale_has_it() -> None:
    def week(locale: str | None) -> str:
        return moment("2024-05-19", "yyyy-MM-dd", None, locale, "week")[:10]

    assert [week(locale) for locale in (None, "en-GB", "en-US", "de", "fr-CA")] == [
        "2024-05-13",
        "2024-05-13",
        "2024-05-19",
        "2024-05-13",
        "2024-05-19",
    ]


def test_an_offset_in_the_text_fixes_the_instant_and_the_option_only_the_rounding() -> None:
    text, pattern = "2024-01-01T00:30+02:00", "yyyy-MM-dd'T'HH:mmXXX"

    assert moment(text, pattern) == "2023-12-31T22:30:00.000Z"
    assert moment(text, pattern, "America/New_York") == "2023-12-31T22:30:00.000Z"
    assert moment(text, pattern, None, None, "day") == "2023-12-31T22:00:00.000Z"
    assert moment(text, pattern, "UTC", None, "year") == "2023-01-01T00:00:00.000Z"
    assert moment(text, pattern, "+05:00", None, "day") == "2023-12-31T19:00:00.000Z"


def test_a_zone_in_the_text_rounds_by_its_rules() -> None:
    text, pattern = "2024-05-17T12:00+02:00[Europe/Berlin]", "yyyy-MM-dd'T'HH:mmXXX'['VV']'"

    assert moment(text, pattern, None, None, "year") == "2023-12-31T23:00:00.000Z"


def test_a_day_that_starts_after_midnight_starts_at_its_first_moment() -> None:
    text = ("2018-11-04 12:00", "yyyy-MM-dd HH:mm", "America/Sao_Paulo", None, "day")

    assert moment(*text) == "2018-11-04T03:00:00.000Z"


def test_a_skipped_time_is_read_with_the_offset_before_and_a_repeated_one_as_the_earlier() -> None:
    pattern = "yyyy-MM-dd HH:mm"

    assert moment("2024-03-31 02:30", pattern, "Europe/Berlin") == "2024-03-31T01:30:00.000Z"
    assert moment("2024-10-27 02:30", pattern, "Europe/Berlin") == "2024-10-27T00:30:00.000Z"


@pytest.mark.parametrize(
    ("text", "pattern", "code"),
    [
        ("2024-02-30", "yyyy-MM-dd", FormulaCode.INVALID_DATE),
        ("0000", "yyyy", FormulaCode.INVALID_DATE),
        ("2024 13 am", "yyyy hh a", FormulaCode.INVALID_DATE),
        ("Mon 2024-05-17", "EEE yyyy-MM-dd", FormulaCode.INVALID_DATE),
        ("2024-1-1", "yyyy-MM-dd", FormulaCode.INVALID_DATE),
        ("2024-01-01 ", "yyyy-MM-dd", FormulaCode.INVALID_DATE),
        ("2024 Mars/Base", "yyyy VV", FormulaCode.UNKNOWN_TIMEZONE),
        ("2024", "MM", FormulaCode.INVALID_DATE_PATTERN),
        ("2024", "yyyy yyyy", FormulaCode.INVALID_DATE_PATTERN),
        ("2024", "yyyy h", FormulaCode.INVALID_DATE_PATTERN),
        ("2024", "[yyyy", FormulaCode.INVALID_DATE_PATTERN),
        ("2024", "yyyy'", FormulaCode.INVALID_DATE_PATTERN),
        ("2024", "yyyyG", FormulaCode.INVALID_DATE_PATTERN),
        ("2024", "y" * 201, FormulaCode.INVALID_DATE_PATTERN),
    ],
)
def test_a_time_or_pattern_that_cannot_be_is_refused(
    text: str, pattern: str, code: FormulaCode
) -> None:
    with pytest.raises(Fault) as caught:
        moment(text, pattern)

    assert caught.value.code == code


@pytest.mark.parametrize(
    "zone",
    [
        "Europe",
        "../etc/passwd",
        "/etc/localtime",
        "",
        "a" * 200,
        "é",
        "a/" * 16_000 + "a",
        "+25:00",
    ],
)
def test_a_zone_that_is_none_is_refused(zone: str) -> None:
    with pytest.raises(Fault) as caught:
        moment("2024", "yyyy", zone)

    assert caught.value.code == FormulaCode.UNKNOWN_TIMEZONE


def test_no_file_is_looked_for_under_a_name_that_is_no_zone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    moment("2024", "yyyy", "Europe/Berlin")
    monkeypatch.setattr(dates, "ZoneInfo", lambda name: pytest.fail(f"{name} is looked for"))
    with pytest.raises(Fault) as caught:
        moment("2024", "yyyy", "Europe/Nowhere")

    assert caught.value.code == FormulaCode.UNKNOWN_TIMEZONE


def test_each_zone_is_read_once_however_many_are_named_in_turn() -> None:
    first = ref(zone_named("Europe/Berlin"))
    for name in available_timezones():
        zone_named(name)

    assert first() is not None


@given(
    st.datetimes(datetime(1900, 1, 1), datetime(2090, 1, 1)),
    st.sampled_from(["Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe"]),
    st.sampled_from(PERIODS),
)
def test_rounding_down_twice_is_rounding_down_once_and_never_goes_up(
    local: datetime, zone: str, period: str
) -> None:
    text = local.isoformat(timespec="seconds")
    pattern = "yyyy-MM-dd'T'HH:mm:ss"
    exact, rounded = (
        as_timestamp(WorkMeter(), text, pattern, zone, None, p) for p in (None, period)
    )
    again = datetime.fromtimestamp(int(rounded) / 1000, UTC).astimezone(ZoneInfo(zone))
    written = again.isoformat(timespec="seconds")[:19]

    assert rounded <= exact
    assert as_timestamp(WorkMeter(), written, pattern, zone, None, period) == rounded


class Unconvertible(Decimal):
    """A number that takes long to become a whole one, which is to be left alone."""

    def __int__(self) -> int:
        pytest.fail("the number was converted")


@pytest.mark.parametrize("text", ["1e9999", "-1e9999", "1e15", "-1e15"])
def test_a_number_that_is_no_time_is_refused_before_it_is_converted(text: str) -> None:
    far = Unconvertible(text)
    with pytest.raises(Fault) as part:
        date_part(WorkMeter(), far, "year", None)
    with pytest.raises(Fault) as difference:
        whole_units(WorkMeter(), Decimal(0), far, "day", None)

    assert {part.value.code, difference.value.code} == {FormulaCode.INVALID_DATE}


PLAIN_PATTERNS = (
    "M/d/yy",
    "yyyy-MM-dd",
    "dMy",
    "yMd",
    "d.M.uuuu HH:mm",
    "yyyyMMdd'T'HHmmss",
    "s-m-H d/M/yy",
    "yyyy-MM-dd [H]",
    "yyyy (d) M?",
    "d/yyyy",
    "H:s d/M/yyyy",
)
DIGITS = st.text("0123456789", max_size=4)


@given(
    st.sampled_from(PLAIN_PATTERNS),
    st.lists(DIGITS | st.sampled_from(["1", "12", "29", "2024", "\u0663", "T"]), max_size=7),
    st.sampled_from(["/", "-", ":", "", "T", "t", " "]),
    st.booleans(),
)
def test_plain_texts_give_what_the_expression_gives(
    pattern: str, parts: list[str], sign: str, shaped: bool
) -> None:
    text = sign.join(parts)
    if shaped:
        left = iter(parts)
        text = re.sub(r"'|[A-Za-z]+", lambda _: next(left, "7"), pattern.replace("'T'", "T"))
    assert result_of(text, pattern) == result_of(text, pattern, is_plain=False)


def result_of(text: str, pattern: str, *, is_plain: bool = True) -> object:
    """The milliseconds, or the message of the fault; by the expression alone unless `is_plain`."""
    known = date_pattern(pattern, DEFAULT.names, WorkMeter())
    with pytest.MonkeyPatch.context() as patched:
        if not is_plain:
            patched.setattr(
                dates, "date_pattern", lambda *_: known._replace(read_plain=tell_nothing)
            )
        try:
            return as_timestamp(WorkMeter(), text, pattern, None, None, None)
        except Fault as fault:
            return fault.message


def test_long_texts_are_read_by_the_expression() -> None:
    words = "w" * MAX_PLAIN
    assert result_of(f"2024-02-29{words}", f"yyyy-MM-dd'{words}'") == 1_709_164_800_000
    assert "is not of the form" in str(result_of("2024-02-29" + "9" * 30_000, "yyyy-MM-dd"))


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("M/d/yy", "2/29/24"),
        ("yyyy-MM-dd", "2024-02-29"),
        ("d.M.uuuu HH:mm", "29.2.2024 00:00"),
        ("yyyyMMdd'T'HHmmss", "20240229T000000"),
    ],
)
def test_most_texts_need_no_expression(pattern: str, text: str) -> None:
    known = date_pattern(pattern, DEFAULT.names, WorkMeter())
    assert known.read_plain(text) == 1_709_164_800_000
