r"""Regular expressions that users write, matched by RE2 in time linear in the text.

Only this module uses RE2. It refuses patterns that need backtracking (back-references, look-around,
possessive and atomic groups), `\C`, which would cut a character into bytes, and `\Q`.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NoReturn, Protocol

import re2

from penstock.formula.core.errors import Fault, FormulaCode
from penstock.formula.core.limits import KEPT_PATTERNS, MAX_PATTERN, MAX_REGEX_MEMORY, WorkMeter
from penstock.formula.core.remembered import remember

Span = tuple[int, int]

_MATCH_COST: Final = 260  # units for a match
_COMPILE_COST: Final = 8  # units for a compiled instruction
_READ_COST: Final = 250  # units for a character of a pattern that is read
_UNICODE_COST: Final = 10_000  # units for a class of hundreds of ranges, such as `\pL`
_REPEAT_COST: Final = 100_000  # units for what grows by counted repetitions until it is too large
_SCAN_RATE: Final = 64  # bytes that RE2 scans for one unit
_STEP_COST: Final = 6  # the same, for an instruction of a pattern that is followed by each
_WIDE_REPEAT_COST: Final = 300_000  # the same where a class or letter case has hundreds of ranges
# In instructions; the automaton of a pattern up to this size fits into MAX_REGEX_MEMORY.
_MAX_SMALL_SIZE: Final = 18
_CONTINUATION_BYTES: Final = frozenset(bytes([byte]) for byte in range(0x80, 0xC0))
"""The bytes of a character in UTF-8 after its first."""
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_PLAIN: Final = re.compile(r"[^\\.^$*+?()\[\]{}|]+")
_UNICODE_CLASS: Final = re.compile(r"\\[pP]")
_WIDE: Final = re.compile(r"\\[pP]|\(\?[a-zA-Z]*i")
_COUNTED: Final = re.compile(r"\{\d")
_UNBOUNDED: Final = re.compile(r"[*+]|,\}")
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_INVALID: Final = "the regular expression is invalid"
_MESSAGES: Final = {
    "bad repetition operator": "the repetition `{}` follows another one",
    "invalid character class": "`{}` is not a valid class",
    "invalid character class range": "`{}` is not a valid range",
    "invalid escape sequence": "`{}` is not understood",
    "invalid named capture group": "`{}` does not begin a group with a name",
    "invalid perl operator": "`{}` is not supported; nothing that needs backtracking is",
    "invalid repetition size": (
        "the repetition `{}` is too large, or its minimum exceeds its maximum"
    ),
    "missing )": "a group is not closed",
    "missing ]": "a class is not closed",
    "no argument for repetition operator": "`{}` has nothing to repeat",
    "pattern too large - compile failed": f"it compiles to more than {MAX_REGEX_MEMORY} bytes",
    "trailing \\": "it ends too early",
    "unexpected )": "a `)` closes nothing",
}


class _Match(Protocol):
    def span(self, group: int = 0) -> Span: ...


class _CompiledPattern(Protocol):
    @property
    def groups(self) -> int: ...
    @property
    def groupindex(self) -> dict[str, int]: ...
    @property
    def programsize(self) -> int: ...
    def finditer(self, text: str | bytes) -> Iterator[_Match]: ...
    def fullmatch(self, text: str | bytes) -> _Match | None: ...


class Regex:
    """A compiled pattern; positions in a text count characters.

    `plain` is the pattern if it has no sign with a meaning, else empty.
    """

    __slots__ = ("_compiled", "_unbounded", "groups", "names", "plain", "size")

    def __init__(self, pattern: str) -> None:
        self._compiled = _compile(pattern)
        self.plain = pattern if _PLAIN.fullmatch(pattern) else ""
        self._unbounded = bool(_UNBOUNDED.search(pattern))
        self.groups = self._compiled.groups
        self.names = self._compiled.groupindex
        self.size = self._compiled.programsize

    def matches(self, text: str, work: WorkMeter) -> Iterator[Span]:
        """Yield the begin and end of each match, left to right, without overlaps."""
        work.spend(self.size * _COMPILE_COST)
        encoded = _without_surrogates(text).encode()
        yield from _in_characters(self._paid_spans(encoded, work), text, encoded)

    def _paid_spans(self, encoded: bytes, work: WorkMeter) -> Iterator[Span]:
        """Yield each match, paid by what RE2 scanned; a row that cannot pay begins no search."""
        size, at = len(encoded), 0
        work.require(self._scan_cost(size, size))
        for begin, end in self._byte_spans(encoded):
            work.spend(_MATCH_COST + self._scan_cost(size - at, end - at))
            yield begin, end
            at = end
        work.spend(self._scan_cost(size - at, size - at))

    def captures(self, text: str) -> tuple[str | None, ...] | None:
        """Return the whole text and its groups if the pattern matches the whole text."""
        # RE2's wrapper counts bytes faster than characters; in ASCII they are the same.
        searchable = text.encode() if text.isascii() else _without_surrogates(text)
        match = self._compiled.fullmatch(searchable)
        if match is None:
            return None
        spans = map(match.span, range(self.groups + 1))
        return tuple([text[begin:end] if begin >= 0 else None for begin, end in spans])

    def named_captures(self, text: str) -> dict[str, str | None] | None:
        """Return the named groups if the pattern matches the whole text."""
        found = self.captures(text)
        if found is None:
            return None
        return {name: found[group] for name, group in self.names.items()}

    def _byte_spans(self, encoded: bytes) -> Iterator[Span]:
        """Yield each match once: RE2's own iterator repeats empty ones and splits characters."""
        found: Span | None = None
        for match in self._compiled.finditer(encoded):
            before, found = found, match.span()
            begin, end = found
            if before != found and (
                begin < end or encoded[begin : begin + 1] not in _CONTINUATION_BYTES
            ):
                yield found

    def _scan_cost(self, rest: int, passed: int) -> int:
        """Return the units of one search, for the farthest byte that RE2 can have scanned.

        RE2 does not report how far it scanned. A pattern without unlimited repetition looks ahead
        by at most its own size. A large one may have more states than its memory holds; RE2 then
        follows it instruction by instruction.
        """
        looked = rest if self._unbounded else min(rest, passed + self.size)
        return looked * (_STEP_COST * self.size if self.size > _MAX_SMALL_SIZE else 1) // _SCAN_RATE


def regex(pattern: str, work: WorkMeter) -> Regex:
    """Return the compiled pattern of a formula, which may come from a row."""
    if len(pattern) > MAX_PATTERN:
        _refuse(f"longer than {MAX_PATTERN} characters")
    work.prepare(pattern, _reading_cost(pattern))
    return _compile_once(pattern)


@lru_cache(maxsize=KEPT_PATTERNS)
def _reading_cost(pattern: str) -> int:
    return _READ_COST * len(pattern) + _compiling_cost(pattern, 1)


@remember(KEPT_PATTERNS)
def _compile_once(pattern: str) -> Regex:
    return Regex(pattern)


def literal_pattern_cost(formula: str) -> int:
    """Return the units, at most, of compiling the patterns that stand in a formula.

    It is known before the formula is parsed. Reading the characters of patterns is not in it.
    """
    return _compiling_cost(formula, formula.upper().count("SPLIT"))


def _compiling_cost(text: str, patterns: int) -> int:
    """Return the units of compiling a text of so many patterns, without reading it."""
    if not patterns:
        return 0
    repeated = min(patterns, len(_COUNTED.findall(text)))
    repeat_cost = _WIDE_REPEAT_COST if _WIDE.search(text) else _REPEAT_COST
    return _UNICODE_COST * len(_UNICODE_CLASS.findall(text)) + repeat_cost * repeated


def _compile(pattern: str) -> _CompiledPattern:
    readable = _ESCAPE.sub(_escape, _without_surrogates(pattern))
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MAX_REGEX_MEMORY
    try:
        compiled: _CompiledPattern = re2.compile(readable, options)
    except re2.error as error:
        message = _explain(error.args[0].decode(errors="replace"))
        raise Fault(FormulaCode.INVALID_REGEX, f"{_INVALID}: {message}") from None
    else:
        return compiled


def _escape(found: re.Match[str]) -> str:
    """Return an escape for RE2, which allows no backslash before a non-ASCII sign."""
    sign = found[1]
    if sign in "CQ":
        _refuse(f"`\\{sign}` is not understood")
    return found[0] if sign.isascii() or sign.isalnum() else sign


def _explain(error: str) -> str:
    kind, _, excerpt = error.partition(": ")
    return _MESSAGES.get(kind, "`{}` is not understood").format(excerpt)


def _refuse(message: str) -> NoReturn:
    raise Fault(FormulaCode.INVALID_REGEX, f"{_INVALID}: {message}")


def _without_surrogates(text: str) -> str:
    return text if text.isascii() else _LONE_SURROGATE.sub("\ufffd", text)


def _in_characters(spans: Iterator[Span], text: str, encoded: bytes) -> Iterator[Span]:
    """Convert positions in bytes to positions in characters."""
    if len(text) == len(encoded):
        yield from spans
        return
    byte = character = 0
    for begin, end in spans:
        first = character + len(encoded[byte:begin].decode())
        character = first + len(encoded[begin:end].decode())
        byte = end
        yield first, character
