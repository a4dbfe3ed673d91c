"""Maps the fields of a record to the declared columns, by the header of the file."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from csv import Error, reader
from typing import Final

from penstock.transform.plan import Column
from penstock.transform.problems import InputRefused, TransformCode

BOM: Final = b"\xef\xbb\xbf"
WIDE_BOMS: Final = (b"\xff\xfe", b"\xfe\xff")


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


def split_fields(text: str) -> list[str]:
    """Return the fields of one record; raises csv.Error where its quotes are wrong."""
    text = text.removesuffix("\r")
    return text.split(",") if '"' not in text else next(reader((text,), strict=True))


def read_header(record: bytes, columns: Sequence[Column]) -> tuple[int, ...]:
    """Return the place of each column in the file; InputRefused for missing or unknown columns.

    A plan without columns reads nothing of a row, so its files may have any.
    """
    headings = _headings(record)
    if not columns:
        return ()
    names = columns_by_heading(columns)
    places: dict[int, int] = {}
    for place, heading in enumerate(headings):
        column = names.get(heading)
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


def _headings(record: bytes) -> list[str]:
    if record.startswith(WIDE_BOMS):
        raise InputRefused(
            TransformCode.INVALID_ENCODING, "the file is in UTF-16; save it as UTF-8"
        )
    try:
        return [field.strip() for field in split_fields(record.removeprefix(BOM).decode())]
    except UnicodeDecodeError as error:
        message = f"the header is not UTF-8, from byte {error.start} on"
        raise InputRefused(TransformCode.INVALID_ENCODING, message) from None
    except Error as error:
        raise InputRefused(
            TransformCode.INVALID_HEADER, f"the header cannot be read: {error}"
        ) from None
