"""Maps the fields of a record to the declared columns, by the header of the file."""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from csv import Error, field_size_limit, reader
from typing import Final, NamedTuple

from penstock.transform.encodings import NAMES, UTF8, encoding_of, first_letter
from penstock.transform.plan import Column
from penstock.transform.problems import ERROR_HEADINGS, InputRefused, TransformCode

BLANK: Final = (b"", b"\r")
BOM: Final = "\ufeff"
SEPARATORS: Final = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical lines"}

HOW_TO_IGNORE: Final = "A pipeline with `extraColumns: IGNORE` leaves out what it does not know"
JSON_STARTS: Final = ("[", "{")


class FileForm(NamedTuple):
    """The form of a file: its separator, its headings, and its encoding.

    `places` has the place of each column among the headings, None for one that is absent. The
    encoding is empty until a letter beyond ASCII tells. `left_out` is the number of columns in
    front that are no part of the rows: those of a file of rejected rows.
    """

    separator: str = ","
    places: tuple[int | None, ...] = ()
    headings: tuple[str, ...] = ()
    encoding: str = ""
    left_out: int = 0

    def after(self, record: bytes) -> "FileForm":
        """Return the form as it is known after another record."""
        if self.encoding or record.isascii():
            return self
        return self._replace(encoding=encoding_of(first_letter(record)))

    def split(self, record: bytes) -> list[str]:
        """Return the fields of a record; raises UnicodeDecodeError and csv.Error.

        There are none in a rejected row's line that only tells of one more problem.
        """
        fields = split_fields(record.decode(self.encoding or UTF8), self.separator)
        if not self.left_out:
            return fields
        fields = fields[self.left_out :]
        return fields if any(fields) else []

    def entries(self, fields: Sequence[str]) -> list[str | None]:
        """Return the fields in the order of the columns; absent columns are null."""
        return [None if place is None else fields[place] for place in self.places]

    @property
    def encoding_name(self) -> str:
        return NAMES[self.encoding or UTF8]

    def describe(self) -> str:
        """Say for people how the file is read."""
        left_out = ", without the columns of rejected rows" if self.left_out else ""
        return f"{self.encoding_name}, separated by {SEPARATORS[self.separator]}{left_out}"


NO_FORM: Final = FileForm()


def columns_by_heading(columns: Sequence[Column]) -> Mapping[str, int]:
    """Return the index of each column by its label and by its key.

    A label takes precedence over a key. A label that several columns share names none of them.
    """
    shared = Counter(column.label for column in columns)
    keys = {column.key.strip(): n for n, column in enumerate(columns)}
    labels = {
        column.label.strip(): n
        for n, column in enumerate(columns)
        if column.label and shared[column.label] == 1
    }
    return {**keys, **labels}


def split_fields(text: str, separator: str = ",") -> list[str]:
    """Return the fields of one record; raises csv.Error where its quotes are wrong."""
    text = text.removesuffix("\r")
    if '"' not in text:
        return text.split(separator)
    return next(reader((text,), strict=True, delimiter=separator))


def describe_malformed(error: Error) -> str:
    """Say in words of our own what the reader of CSV, which has no codes, does not accept."""
    text = str(error)
    return next((words for part, words in _WORDS if part in text), "its quotes are out of place")


_WORDS: Final = (
    ("expected after", "a closing quote is followed by no separator"),
    ("end of data", "a quote is never closed"),
    ("field larger", f"a field has more than {field_size_limit()} characters"),
    ("new-line", "a line break stands in a field without quotes"),
)


def read_header(
    record: bytes, columns: Sequence[Column], *, ignores_extra: bool = False
) -> FileForm:
    """Return the form of the file; InputRefused for missing or unknown columns.

    The separator is the one by which most headings name a column: a comma if that does not tell. A
    heading names a column also in other letter case, if it names only this one so. A plan without
    columns reads nothing of a row, so its files may have any. The columns in front of rejected rows
    are left out.
    """
    form = NO_FORM.after(record)
    text = _header_text(record, form)
    names = _ColumnNames(columns)
    forms = [(one, _headings(text, one)) for one in SEPARATORS]
    separator, headings = max(forms, key=lambda form: names.count(form[1]))
    left_out = _count_left_out(headings, names)
    headings = headings[left_out:]
    form = form._replace(separator=separator, headings=tuple(headings), left_out=left_out)
    if not columns:
        return form
    return form._replace(places=_places(headings, columns, names, ignores_extra=ignores_extra))


class _ColumnNames:
    """The columns by their headings, in the given letter case or in any that is not ambiguous."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._exact = columns_by_heading(columns)
        folded: dict[str, set[int]] = {}
        for heading, column in self._exact.items():
            folded.setdefault(heading.casefold(), set()).add(column)
        self._folded = {heading: found for heading, found in folded.items() if len(found) == 1}

    def find(self, heading: str) -> int | None:
        """Return the column that a heading names."""
        if heading in self._exact:
            return self._exact[heading]
        return next(iter(self._folded.get(heading.casefold(), ())), None)

    def count(self, headings: Sequence[str]) -> int:
        """Count the headings that name a column."""
        return sum(self.find(heading) is not None for heading in headings)


def _count_left_out(headings: Sequence[str], names: _ColumnNames) -> int:
    """Count the columns in front that tell why rows were rejected.

    They are columns of the rows themselves if there are no others, or only they name a parameter.
    """
    count = len(ERROR_HEADINGS)
    if tuple(headings[:count]) != ERROR_HEADINGS or len(headings) == count:
        return 0
    named = {names.find(heading) for heading in ERROR_HEADINGS} - {None}
    return count if named <= {*map(names.find, headings[count:])} else 0


def _places(
    headings: Sequence[str], columns: Sequence[Column], names: _ColumnNames, *, ignores_extra: bool
) -> tuple[int | None, ...]:
    places: dict[int, int] = {}
    for place, heading in enumerate(headings):
        column = names.find(heading)
        if column is None:
            if not ignores_extra:
                raise _unknown_column(heading, columns)
        elif column in places:
            message = f"the column {columns[column].key!r} is there twice"
            raise InputRefused(TransformCode.DUPLICATE_COLUMN, message, columns[column].key)
        else:
            places[column] = place
    _require_columns(places, headings, columns)
    return tuple(map(places.get, range(len(columns))))


def _unknown_column(heading: str, columns: Sequence[Column]) -> InputRefused:
    known = ", ".join(_headings_for(range(len(columns)), columns)) or "none"
    is_json = heading.lstrip()[:1] in JSON_STARTS
    hint = "The file begins as JSON does; it is read as CSV" if is_json else HOW_TO_IGNORE
    message = f"no parameter is called {heading[:100]!r}; there are {known}. {hint}"
    return InputRefused(TransformCode.UNKNOWN_COLUMN, message, heading[:100])


def _require_columns(
    found: Container[int], headings: Sequence[str], columns: Sequence[Column]
) -> None:
    """Refuse a header without a required column, or without any column."""
    absent = [n for n in range(len(columns)) if n not in found]
    if missing := [n for n in absent if columns[n].required or len(absent) == len(columns)]:
        listed = ", ".join(_headings_for(missing, columns))
        message = f"the header lacks {listed}; it has {', '.join(map(repr, headings))}"
        raise InputRefused(TransformCode.MISSING_COLUMN, message, columns[missing[0]].key)


def _headings_for(places: Iterable[int], columns: Sequence[Column]) -> Iterator[str]:
    """Yield the best heading of each column: its label if that names it, else its key."""
    names = columns_by_heading(columns)
    for n in places:
        label = columns[n].label or ""
        yield repr(label if names.get(label.strip()) == n else columns[n].key)


def _header_text(record: bytes, form: FileForm) -> str:
    try:
        return record.decode(form.encoding or UTF8).removeprefix(BOM)
    except UnicodeDecodeError as error:
        message = f"the header is not {form.encoding_name}, from byte {error.start} on"
        raise InputRefused(TransformCode.INVALID_ENCODING, message) from None


def _headings(text: str, separator: str) -> list[str]:
    try:
        return [field.strip() for field in split_fields(text, separator)]
    except Error as error:
        if separator != NO_FORM.separator:
            return []
        raise InputRefused(
            TransformCode.INVALID_HEADER, f"the header cannot be read: {describe_malformed(error)}"
        ) from None
