"""Maps the fields of a record to the declared columns, by the header of the file."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from csv import Error, reader
from typing import Final, NamedTuple

from penstock.transform.plan import Column
from penstock.transform.problems import InputRefused, TransformCode

BOM: Final = b"\xef\xbb\xbf"
WIDE_BOMS: Final = (b"\xff\xfe", b"\xfe\xff")
SEPARATORS: Final = (",", ";", "\t", "|")


class FileForm(NamedTuple):
    """The form of a file: what separates the fields, and the place of each column among them."""

    separator: str = ","
    places: tuple[int, ...] = ()


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


def read_header(record: bytes, columns: Sequence[Column]) -> FileForm:
    """Return the form of the file; InputRefused for missing or unknown columns.

    The separator is the one by which most headings name a column: a comma if that does not tell. A
    heading names a column also in other letter case, if it names only this one so. A plan without
    columns reads nothing of a row, so its files may have any.
    """
    text = _header_text(record)
    if not columns:
        return NO_FORM
    names = _ColumnNames(columns)
    forms = [(one, _headings(text, one)) for one in SEPARATORS]
    separator, headings = max(forms, key=lambda form: names.count(form[1]))
    return FileForm(separator, _places(headings, columns, names))


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


def _places(
    headings: Sequence[str], columns: Sequence[Column], names: _ColumnNames
) -> tuple[int, ...]:
    places: dict[int, int] = {}
    for place, heading in enumerate(headings):
        column = names.find(heading)
        if column is None:
            known = ", ".join(_headings_for(range(len(columns)), columns)) or "none"
            message = f"no parameter is called {heading[:100]!r}; there are {known}"
            raise InputRefused(TransformCode.UNKNOWN_COLUMN, message, heading[:100])
        if column in places:
            message = f"the column {columns[column].key!r} is there twice"
            raise InputRefused(TransformCode.DUPLICATE_COLUMN, message, columns[column].key)
        places[column] = place
    if missing := [n for n in range(len(columns)) if n not in places]:
        listed = ", ".join(_headings_for(missing, columns))
        message = f"the header lacks {listed}; it has {', '.join(map(repr, headings))}"
        raise InputRefused(TransformCode.MISSING_COLUMN, message, columns[missing[0]].key)
    return tuple(places[n] for n in range(len(columns)))


def _headings_for(places: Iterable[int], columns: Sequence[Column]) -> Iterator[str]:
    """Yield the best heading of each column: its label if that names it, else its key."""
    names = columns_by_heading(columns)
    for n in places:
        label = columns[n].label or ""
        yield repr(label if names.get(label.strip()) == n else columns[n].key)


def _header_text(record: bytes) -> str:
    if record.startswith(WIDE_BOMS):
        raise InputRefused(
            TransformCode.INVALID_ENCODING, "the file is in UTF-16; save it as UTF-8"
        )
    try:
        return record.removeprefix(BOM).decode()
    except UnicodeDecodeError as error:
        message = f"the header is not UTF-8, from byte {error.start} on"
        raise InputRefused(TransformCode.INVALID_ENCODING, message) from None


def _headings(text: str, separator: str) -> list[str]:
    try:
        return [field.strip() for field in split_fields(text, separator)]
    except Error as error:
        if separator != SEPARATORS[0]:
            return []
        raise InputRefused(
            TransformCode.INVALID_HEADER, f"the header cannot be read: {error}"
        ) from None
