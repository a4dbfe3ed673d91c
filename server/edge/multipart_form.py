"""The form of an upload to local files: its fields, and the content of its file."""

from collections.abc import AsyncIterator, Mapping

from python_multipart.exceptions import MultipartParseError
from python_multipart.multipart import MultipartParser, parse_options_header

from penstock.datastore.objects.port import Chunks

END_OF_HEAD = b"\r\n\r\n"
FORM_BYTES = 32 * 1024
FIELD_BYTES = 4 * 1024
FIELDS = 16
EMPTY_LINES = 4 * FIELDS


class RefusedFileRequest(Exception):
    """The request gets this status, text and headers."""

    def __init__(self, status: int, words: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(words)
        self.status = status
        self.words = words
        self.headers = headers or {}


class MultipartForm:
    """A multipart/form-data body, read in one pass with one chunk in memory at a time.

    The fields come first and the file last. Raises RefusedFileRequest for any other body. The
    parser reads what is in front of the file's content; the end of the content is searched here,
    because the parser takes a hundred times as long where much looks like the boundary.
    """

    def __init__(self, boundary: bytes, stream: AsyncIterator[bytes]) -> None:
        self._stream = stream
        self._fields: dict[str, str] = {}
        self._header = self._value = b""
        self._name = ""
        self._content: list[bytes] = []
        self._overhead = self._empty_lines = 0
        self._in_file = self._is_over = self._is_malformed = self._is_behind_file = False
        self._delimiter = b"\r\n--" + boundary
        self._last = self._held = b""
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._begin_part,
                "on_header_field": self._add_header,
                "on_header_value": self._add_value,
                "on_header_end": self._end_header,
                "on_headers_finished": self._end_head,
                "on_part_data": self._add_data,
                "on_part_end": self._end_part,
            },
            max_header_size=FIELD_BYTES,
        )

    async def fields(self) -> dict[str, str]:
        """Read the fields, up to the content of the part named `file`."""
        while not self._in_file:
            await self._feed()
        return self._fields

    async def content(self) -> Chunks:
        """Yield the file's content, and check that the form ends after it."""
        while True:
            content, self._content = self._content, []
            for chunk in content:
                yield chunk
            if self._is_over:
                return
            await self._feed()

    async def _feed(self) -> None:
        chunk = b"" if self._is_malformed else await anext(self._stream, b"")
        if not chunk:
            raise malformed_form()
        content = chunk if self._in_file else self._parse_fields(chunk)
        if self._in_file:
            self._read_content(content)

    def _parse_fields(self, chunk: bytes) -> bytes:
        """Let the parser read up to the content of the file; return what belongs to it."""
        at = 0
        while at < len(chunk) and not (self._in_file or self._is_malformed):
            end = self._end_of_head(chunk, at)
            self._overhead += end - at
            if self._overhead > FORM_BYTES or self._empty_lines > EMPTY_LINES:
                self._is_malformed = True
                break
            try:
                self._parser.write(chunk[at:end])
            except MultipartParseError:
                # The fields before the error are checked first: unsigned fields get a 403.
                self._is_malformed = True
            self._last = (self._last + chunk[at:end])[1 - len(END_OF_HEAD) :]
            at = end
        return chunk[at:]

    def _end_of_head(self, chunk: bytes, start: int) -> int:
        """The end of the next empty line, which may end the head of a part; else of the chunk."""
        before = len(self._last)
        across = self._last + chunk[start : start + len(END_OF_HEAD) - 1]
        found = across.find(END_OF_HEAD)
        at = chunk.find(END_OF_HEAD, start) if found < 0 else start + found - before
        if found < 0 and at < 0:
            return len(chunk)
        self._empty_lines += 1
        return at + len(END_OF_HEAD)

    def _read_content(self, data: bytes) -> None:
        """Take bytes of the file, or of what follows it: the end of the form."""
        self._held += data
        if not self._is_behind_file:
            end = self._held.find(self._delimiter)
            # Of a delimiter that has begun, all but one byte may be here.
            size = max(0, len(self._held) - len(self._delimiter) + 1) if end < 0 else end
            if size:
                self._content.append(self._held[:size])
            self._is_behind_file = end >= 0
            self._held = self._held[size:]
            if self._is_behind_file:
                self._held = self._held[len(self._delimiter) :]
        if self._is_behind_file:
            self._is_over = self._held.startswith(b"--")
            self._is_malformed = not b"--".startswith(self._held[:2])

    def _begin_part(self) -> None:
        self._header = self._value = b""
        self._name = ""

    def _add_header(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _add_value(self, data: bytes, start: int, end: int) -> None:
        if len(self._value) + end - start > FIELD_BYTES:
            raise MultipartParseError("The value is too long.")
        self._value += data[start:end]

    def _end_header(self) -> None:
        if self._header.lower() == b"content-disposition":
            name = parse_options_header(self._value)[1].get(b"name", b"")
            self._name = name.decode(errors="replace")
        self._header = self._value = b""

    def _end_head(self) -> None:
        self._in_file = self._name == "file"
        if self._name in self._fields or (len(self._fields) == FIELDS and not self._in_file):
            raise MultipartParseError("The field is there twice, or one too many.")

    def _add_data(self, data: bytes, start: int, end: int) -> None:
        self._add_value(data, start, end)

    def _end_part(self) -> None:
        self._fields[self._name] = self._value.decode(errors="replace")


def malformed_form() -> RefusedFileRequest:
    return RefusedFileRequest(
        400, "The form has the fields first, the file last and nothing behind it."
    )
